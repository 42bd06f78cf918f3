package toolbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
	"notwice/policy"
)

// Effect says whether a tool changes the outside world.
type Effect string

// The effects.
const (
	Read  Effect = "read"
	Write Effect = "write"
)

// Facts is what a tool declares about itself and its provider (FORMATS §2). Go programs fill it; a YAML file lays its keys
// over it. The zero value is the cautious one: a write without key, look-up or identity.
type Facts struct {
	Effect       Effect              `yaml:"effect"`
	Account      string              `yaml:"account"`
	Place        string              `yaml:"-"` // where the provider is, for the intent: scheme, host and port; `fake` for the in-process fake
	Profile      string              `yaml:"profile"`
	Scope        string              `yaml:"scope"` // journal (default with identity), task (default without), turn
	Unique       bool                `yaml:"unique"`
	Guard        string              `yaml:"guard"`
	RepeatWindow strictyaml.Duration `yaml:"repeat_window"`

	HTTP         *HTTPRequest        `yaml:"-"`
	Key          KeyPlace            `yaml:"key"`
	DedupWindow  Window              `yaml:"dedup_window"`
	OnRepeat     string              `yaml:"on_repeat"`
	ReplayMarker *When               `yaml:"replay_marker"`
	Sticky       []int               `yaml:"sticky"`
	Success      *When               `yaml:"success"`
	Echo         map[string]string   `yaml:"echo"`
	Answers      []Rule              `yaml:"answers"`
	ExternalID   string              `yaml:"external_id"`
	Result       []string            `yaml:"result"`
	Lookup       *LookupFacts        `yaml:"lookup"`
	Resend       string              `yaml:"resend"`
	MaxAttempts  int                 `yaml:"max_attempts"`
	Backoff      BackoffFacts        `yaml:"backoff"`
	Deadline     strictyaml.Duration `yaml:"deadline"`
	UnknownAfter strictyaml.Duration `yaml:"unknown_after"`
	SendWithin   strictyaml.Duration `yaml:"send_within"`
	Retention    strictyaml.Duration `yaml:"retention"`
	Delivery     Delivery            `yaml:"delivery"`
	Approval     *Approval           `yaml:"approval"`
	Limits       *Limits             `yaml:"limits"`

	AskOnTimeout bool `yaml:"-"` // tool_policy: retry.on_timeout: ask_person
}

// Delivery is when a request goes: with its call. (An outbox belongs to mail.)
type Delivery string

// UnmarshalNode reads call; outbox is for tools that mail, of which this version has none.
func (d *Delivery) UnmarshalNode(n *strictyaml.Node) error {
	switch n.Value {
	case "call":
		*d = "call"
		return nil
	case "outbox":
		return n.Errorf("delivery: an outbox belongs to tools that mail, which this version does not have")
	}
	return n.Errorf("delivery is call or outbox")
}

// HTTPRequest is a request with references such as ${args.order_id} (FORMATS §1).
type HTTPRequest struct {
	Method  string
	URL     string
	Headers map[string]string
	Query   map[string]string
	JSON    any // a value for canonical.Plain whose texts may be references
	Form    map[string]string
}

// KeyPlace says where our key travels and in what shape.
type KeyPlace struct {
	In        string     `yaml:"in"` // header, body, query, path, none
	Name      string     `yaml:"name"`
	Encode    string     `yaml:"encode"` // raw (default), number, sf_string, uuid, base32hex
	MaxLength int        `yaml:"max_length"`
	Also      []KeyPlace `yaml:"also"`
}

// Sent reports whether the key travels at all.
func (k KeyPlace) Sent() bool { return k.In != "" && k.In != "none" }

// check refuses a place or a shape that nothing knows.
func (k KeyPlace) check() error {
	switch {
	case !slices.Contains([]string{"", "none", "header", "body", "query", "path"}, k.In):
		return fmt.Errorf("key: in is header, body, query, path or none, not %q", k.In)
	case !slices.Contains([]string{"", "raw", "number", "sf_string", "uuid", "base32hex"}, k.Encode):
		return fmt.Errorf("key: encode is raw, number, sf_string, uuid or base32hex, not %q", k.Encode)
	case k.Name == "" && slices.Contains([]string{"header", "body", "query"}, k.In):
		return fmt.Errorf("key: in %s needs a name", k.In)
	case k.MaxLength < 0:
		return fmt.Errorf("key: max_length is at least 1")
	}
	for _, also := range k.Also {
		if err := also.check(); err != nil {
			return err
		}
	}
	return nil
}

// Window is how long a provider remembers a key: a duration, forever or unknown.
type Window struct{ policy.Window }

// UnmarshalNode reads a window.
func (w *Window) UnmarshalNode(n *strictyaml.Node) error {
	switch n.Value {
	case "forever":
		w.Window = policy.Window{Known: true, Forever: true}
		return nil
	case "unknown":
		w.Window = policy.Window{}
		return nil
	}
	var d strictyaml.Duration
	if err := d.UnmarshalNode(n); err != nil {
		return n.Errorf("a duration, forever or unknown is needed")
	}
	w.Window = policy.Window{Known: true, For: time.Duration(d)}
	return nil
}

// BackoffFacts is the wait between tries.
type BackoffFacts struct {
	First strictyaml.Duration `yaml:"first"`
	Max   strictyaml.Duration `yaml:"max"`
}

// LookupFacts is how to ask what happened.
type LookupFacts struct {
	By             string              `yaml:"by"` // key, reference, resource_id, scan
	HTTP           *HTTPRequest        `yaml:"-"`
	Items          string              `yaml:"items"`
	Next           string              `yaml:"next"`
	Match          MatchFacts          `yaml:"match"`
	Signs          *SignsFacts         `yaml:"signs"` // instead of match: always heuristic
	Created        string              `yaml:"created"`
	ClockTolerance strictyaml.Duration `yaml:"clock_tolerance"`
	State          *StateFacts         `yaml:"state"`
	AllPages       bool                `yaml:"all_pages"`
	Complete       bool                `yaml:"complete"`
	Visibility     strictyaml.Duration `yaml:"visibility_window"`
	Misses         int                 `yaml:"misses"`
	TrustEmpty     bool                `yaml:"trust_empty"`
	Backoff        BackoffFacts        `yaml:"backoff"`
	Deadline       strictyaml.Duration `yaml:"deadline"`

	// Forms holds the requests of a tool that can be asked in several ways; By chooses. HTTP, where given, wins.
	Forms map[string]LookupForm `yaml:"-"`
}

// LookupForm is one way to ask.
type LookupForm struct {
	HTTP  *HTTPRequest
	Items string
	Next  string
	Match MatchFacts
}

// SignsFacts recognise a candidate by what could be another's too: fields that are equal, and a date near our first attempt. A
// person decides.
type SignsFacts struct {
	Fields map[string]string   // body path: args.X
	Within strictyaml.Duration // of our first attempt, as the candidate's `created` says; 0: whenever
}

// UnmarshalNode reads {amount: args.amount_minor, within: 1m}.
func (s *SignsFacts) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind != strictyaml.Map {
		return n.Errorf("signs is a map such as {amount: args.amount_minor, within: 1m}")
	}
	*s = SignsFacts{Fields: map[string]string{}}
	for i, path := range n.Keys {
		if path == "within" {
			if err := s.Within.UnmarshalNode(n.Values[i]); err != nil {
				return err
			}
			continue
		}
		text, ok := n.Values[i].Value.(string)
		if !ok || !strings.HasPrefix(text, "args.") {
			return n.Values[i].Errorf("%s: what it must equal is written args.NAME", path)
		}
		s.Fields[path] = text
	}
	if len(s.Fields) == 0 {
		return n.Errorf("signs needs a field that must be equal, such as amount: args.amount_minor")
	}
	return nil
}

// MatchFacts says by what a candidate is recognised: a path that must equal our key (or, by reference, our number), or a
// value of the arguments.
type MatchFacts struct {
	Path   string `yaml:"path"`
	Equals string `yaml:"equals"` // args.X; empty: the key or the number
	Unique bool   `yaml:"unique"` // the provider keeps the value unique; else a match is heuristic
}

// UnmarshalNode reads `match: path` or `match: {path: …, equals: …}`.
func (m *MatchFacts) UnmarshalNode(n *strictyaml.Node) error {
	if path, ok := n.Value.(string); ok {
		*m = MatchFacts{Path: path}
		return nil
	}
	type plain MatchFacts
	var p plain
	if err := strictyaml.Decode(n, &p); err != nil {
		return err
	}
	*m = MatchFacts(p)
	return nil
}

// StateFacts maps the provider's states to completed, failed and running.
type StateFacts struct {
	Path      string   `yaml:"path"`
	Completed []string `yaml:"completed"`
	Failed    []string `yaml:"failed"`
	Running   []string `yaml:"running"`
}

// Limits bounds a tool per UTC day. What is not known counts as spent; a call over a limit waits for a person.
type Limits struct {
	Count int
	Sum   canonical.Number // minor units of the money fields, for each currency; empty: none
}

// UnmarshalNode reads {count: N, sum: N}.
func (l *Limits) UnmarshalNode(n *strictyaml.Node) error {
	var p struct {
		Count *int              `yaml:"count"`
		Sum   *canonical.Number `yaml:"sum"`
	}
	if err := strictyaml.Decode(n, &p); err != nil {
		return err
	}
	switch {
	case p.Count == nil && p.Sum == nil:
		return n.Errorf("limits take count, sum or both")
	case p.Count != nil && *p.Count < 1:
		return n.Get("count").Errorf("count is at least 1")
	case p.Sum != nil && (!p.Sum.IsInteger() || canonical.CompareDecimal(string(*p.Sum), "0") <= 0):
		return n.Get("sum").Errorf("sum is a whole number of minor units")
	}
	*l = Limits{}
	if p.Count != nil {
		l.Count = *p.Count
	}
	if p.Sum != nil {
		l.Sum = *p.Sum
	}
	return nil
}

// aboveZero refuses knobs that say nothing at zero: an attempt without time, a retry without a pause.
func aboveZero(n *strictyaml.Node, paths ...string) error {
	for _, path := range paths {
		at := n
		for name := range strings.SplitSeq(path, ".") {
			if at != nil {
				at = at.Get(name)
			}
		}
		if at == nil {
			continue
		}
		var d strictyaml.Duration
		if number, ok := at.Value.(canonical.Number); ok && canonical.CompareDecimal(string(number), "0") <= 0 || d.UnmarshalNode(at) == nil && d <= 0 {
			return at.Errorf("%s is more than zero", path)
		}
	}
	return nil
}

// Override lays an entry of tool_policy over the facts; it wins over the tool's own knobs.
func (f Facts) Override(o policy.Override) Facts {
	if o.UnknownAfterSeconds != nil {
		if f.SendWithin == f.UnknownAfter {
			f.SendWithin = 0 // it follows
		}
		f.UnknownAfter = strictyaml.Duration(time.Duration(*o.UnknownAfterSeconds) * time.Second)
	}
	if o.Retry.OnTimeout != "" {
		f.AskOnTimeout = o.Retry.OnTimeout == "ask_person"
	}
	return f
}

// Policy is what decisions need of the facts.
func (f Facts) Policy() policy.Policy {
	p := policy.Policy{
		KeySent: f.Key.Sent() && f.Key.Encode != "number", OnRepeat: f.OnRepeat, DedupWindow: f.DedupWindow.Window, Resend: f.Resend,
		MaxAttempts: f.MaxAttempts, Backoff: f.Backoff.policy(), Deadline: time.Duration(f.Deadline), UnknownAfter: time.Duration(f.UnknownAfter),
		SendWithin: time.Duration(f.SendWithin), AskOnTimeout: f.AskOnTimeout, Unique: f.Unique, RepeatWindow: time.Duration(f.RepeatWindow),
	}
	if f.Limits != nil {
		p.Limits = policy.Limits{Count: f.Limits.Count, Sum: f.Limits.Sum}
	}
	if l := f.Lookup; l != nil {
		p.Lookup = &policy.Lookup{
			By: l.By, Complete: l.Complete, Visibility: time.Duration(l.Visibility), Misses: l.Misses, TrustEmpty: l.TrustEmpty,
			ClockTolerance: time.Duration(l.ClockTolerance), Backoff: l.Backoff.policy(), Deadline: time.Duration(l.Deadline),
		}
	}
	return p.Defaults()
}

func (b BackoffFacts) policy() policy.Backoff {
	return policy.Backoff{First: time.Duration(b.First), Max: time.Duration(b.Max)}
}

// Lay lays a YAML map of knobs over the facts. Named answers are tried before those that are there, or after them when the
// map is a profile's.
func (f Facts) Lay(n *strictyaml.Node, profile bool) (Facts, error) {
	own := f.Answers
	f.Answers = nil
	if f.Lookup != nil {
		l := *f.Lookup
		f.Lookup = &l
	}
	if err := strictyaml.Decode(n, &f); err != nil {
		return f, err
	}
	if err := aboveZero(n, "deadline", "unknown_after", "send_within", "retention", "repeat_window", "max_attempts", "backoff.first", "backoff.max",
		"lookup.deadline", "lookup.misses", "lookup.backoff.first", "lookup.backoff.max"); err != nil {
		return f, err
	}
	if profile {
		f.Answers = append(slices.Clone(own), f.Answers...)
	} else {
		f.Answers = append(f.Answers, own...)
	}
	return f, nil
}
