package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
)

// Number is a number that is expected: exactly, or with <, <=, >, >= before it.
type Number struct {
	op string
	n  int
}

// UnmarshalNode reads 1 or "<=1".
func (x *Number) UnmarshalNode(n *strictyaml.Node) error {
	text := fmt.Sprint(n.Value)
	for _, op := range []string{"<=", ">=", "<", ">"} {
		if rest, ok := strings.CutPrefix(text, op); ok {
			x.op, text = op, strings.TrimSpace(rest)
			break
		}
	}
	var err error
	if x.n, err = strconv.Atoi(text); err != nil || x.n < 0 || (x.op == "" && !isNumber(n.Value)) {
		return n.Errorf(`a number is needed, or a text such as "<=1"`)
	}
	return nil
}

func isNumber(v any) bool { _, ok := v.(canonical.Number); return ok }

func (x Number) holds(got int) bool {
	switch x.op {
	case "<=":
		return got <= x.n
	case ">=":
		return got >= x.n
	case "<":
		return got < x.n
	case ">":
		return got > x.n
	}
	return got == x.n
}

func (x Number) String() string { return x.op + strconv.Itoa(x.n) }

// Counts is one number for all, or one per kind.
type Counts struct {
	all   *Number
	kinds map[string]Number
}

// UnmarshalNode reads 1, "<=1" or {payments: 1, emails: 0}.
func (c *Counts) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind != strictyaml.Map {
		c.all = new(Number)
		return c.all.UnmarshalNode(n)
	}
	for i, kind := range n.Keys {
		if !slices.Contains([]string{"payments", "payments.cancel", "emails", "applications", "tickets"}, kind) {
			return n.Names[i].Errorf("%q is no kind of effect", kind)
		}
	}
	return strictyaml.Decode(n, &c.kinds)
}

// Expect is what must be seen after a step; what is not given is not looked at.
type Expect struct {
	Status     *string  `yaml:"status"`
	Word       *string  `yaml:"word"`
	Exit       *Number  `yaml:"exit"`
	Repeat     *bool    `yaml:"repeat"`
	Evidence   *string  `yaml:"evidence"`
	ExternalID *string  `yaml:"external_id"`
	Attempts   *Number  `yaml:"attempts"`
	Differs    []string `yaml:"differs"`
	Message    *string  `yaml:"message"`
	Heuristic  *bool    `yaml:"heuristic"`
	Waits      *bool    `yaml:"waits"`
	Rests      *bool    `yaml:"rests"`
	Crashed    *bool    `yaml:"crashed"`

	Words []string `yaml:"words"`
	Says  *string  `yaml:"says"`
	Sees  *string  `yaml:"sees"`

	Requests       *Number `yaml:"requests"`
	Lookups        *Number `yaml:"lookups"`
	Effects        *Counts `yaml:"effects"`
	Operations     *Number `yaml:"operations"`
	Review         *Number `yaml:"review"`
	Contradictions *Number `yaml:"contradictions"`
	ModelRequests  *Number `yaml:"model_requests"`
}

// seen is what a step showed.
type seen struct {
	answered bool // the answer's facts below are there
	status, word, evidence, externalID, message,
	says string
	exit, attempts                             int
	repeat, heuristic, waits, rests, crashed   bool
	differs, words                             []string
	sees                                       []string
	requests, lookups, effects                 int
	byKind                                     map[string]int
	operations, review, contradictions, models int
}

// misses lists what is not as expected, each as "key: expected …, got …".
func (e *Expect) misses(got seen) []string {
	var out []string
	miss := func(key string, want, got any) {
		out = append(out, fmt.Sprintf("%s: expected %v, got %v", key, want, got))
	}
	text := func(key string, want *string, got string) {
		if want != nil && *want != got {
			miss(key, quote(*want), quote(got))
		}
	}
	yes := func(key string, want *bool, got bool) {
		if want != nil && *want != got {
			miss(key, *want, got)
		}
	}
	number := func(key string, want *Number, got int) {
		if want != nil && !want.holds(got) {
			miss(key, want, got)
		}
	}
	contains := func(key string, want *string, got ...string) {
		if want != nil && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, *want) }) {
			miss(key, "text that contains "+quote(*want), quote(strings.Join(got, " | ")))
		}
	}
	text("status", e.Status, got.status)
	text("word", e.Word, got.word)
	number("exit", e.Exit, got.exit)
	yes("repeat", e.Repeat, got.repeat)
	text("evidence", e.Evidence, got.evidence)
	e.externalID(got, miss)
	number("attempts", e.Attempts, got.attempts)
	if e.Differs != nil && !sameSet(e.Differs, got.differs) {
		miss("differs", e.Differs, got.differs)
	}
	contains("message", e.Message, got.message)
	yes("heuristic", e.Heuristic, got.heuristic)
	yes("waits", e.Waits, got.waits)
	yes("rests", e.Rests, got.rests)
	yes("crashed", e.Crashed, got.crashed)
	if e.Words != nil && !sameSet(e.Words, got.words) {
		miss("words", e.Words, got.words)
	}
	contains("says", e.Says, got.says)
	contains("sees", e.Sees, got.sees...)
	number("requests", e.Requests, got.requests)
	number("lookups", e.Lookups, got.lookups)
	e.effects(got, miss)
	number("operations", e.Operations, got.operations)
	number("review", e.Review, got.review)
	number("contradictions", e.Contradictions, got.contradictions)
	number("model_requests", e.ModelRequests, got.models)
	return out
}

func (e *Expect) externalID(got seen, miss func(string, any, any)) {
	switch want := e.ExternalID; {
	case want == nil:
	case *want == "present" && got.externalID == "", *want == "absent" && got.externalID != "":
		miss("external_id", *want, quote(got.externalID))
	case *want != "present" && *want != "absent" && *want != got.externalID:
		miss("external_id", quote(*want), quote(got.externalID))
	}
}

func (e *Expect) effects(got seen, miss func(string, any, any)) {
	if e.Effects == nil {
		return
	}
	if e.Effects.all != nil && !e.Effects.all.holds(got.effects) {
		text := strconv.Itoa(got.effects)
		if got.effects > got.requests {
			text += fmt.Sprintf(" of %d requests: the surplus arose behind Notwice", got.requests)
		}
		miss("effects", e.Effects.all, text)
	}
	for kind, want := range e.Effects.kinds {
		n := got.byKind[kind]
		if !want.holds(n) {
			miss("effects of "+kind, want, n)
		}
	}
}

// ofAnswer reports whether a key needs an answer to look at.
func (e *Expect) ofAnswer() bool {
	return e.Status != nil || e.Word != nil || e.Exit != nil || e.Repeat != nil || e.Evidence != nil || e.ExternalID != nil ||
		e.Attempts != nil || e.Differs != nil || e.Message != nil || e.Heuristic != nil || e.Waits != nil || e.Rests != nil
}

func quote(s string) string {
	if s == "" {
		return "nothing"
	}
	return strconv.Quote(s)
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
