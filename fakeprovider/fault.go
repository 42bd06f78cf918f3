package fakeprovider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is one way in which the provider misbehaves. Its JSON form has the field names in lower case with underscores, durations as
// texts ("10s", "7d"), and `every` for both Every and EveryNth. Zero Nth and Times mean 1; a standing fault without Times lasts until it
// is cleared.
type Fault struct {
	On          string          // KIND.ACTION; may be empty, and is not looked at, for a fault of the whole provider
	Do          string          // the fault's name
	Nth         int             // the first request it strikes, counted from arming
	Times       int             // how often it strikes
	After       time.Duration   // late_commit, forget_key
	For         time.Duration   // slow, lookup_lag
	Every       time.Duration   // drip: the pause between pieces, 1s by default
	EveryNth    int             // lookup_miss: every so many looks one misses
	Status      int             // the status of an error, rejection or redirect
	HTML        bool            // the error is a proxy's page
	Commit      bool            // the effect happens nevertheless
	Warm        bool            // only a request on a connection that has served one before
	Stored      bool            // the error is remembered under the key
	EmptyObject bool            // lookup_error: 200 and {}
	RetryAfter  time.Duration   // header Retry-After
	Bytes       int             // oversize: length of the answer, 16 MiB by default; drip: length of a piece, 1 by default
	Code        string          // reject: error.code, "declined" by default
	Field       string          // wrong_echo, lookup_renamed
	To          string          // redirect: the Location; empty: the request's own address
	Value       json.RawMessage // wrong_echo; absent: any other value
	Page        int             // lookup_hidden: where the match is, 2 by default
}

// target says which requests a fault can strike.
type target int

const (
	onWrite    target = 1 << iota // create and cancel
	onGet                         // get
	onSearch                      // search
	onProvider                    // no single request

	onLook  = onGet | onSearch
	onEvery = onWrite | onLook
)

// nature is what a fault's name implies.
type nature struct {
	target   target
	commits  bool     // the effect happens
	standing bool     // lasts until it is cleared, unless Times is given
	takes    []string // JSON fields beside on, do, nth and times
	needs    string   // the one of them without which the fault means nothing
}

var natures = map[string]nature{
	"commit_then_timeout":     {target: onWrite, commits: true},
	"timeout_no_commit":       {target: onEvery},
	"commit_then_reset":       {target: onWrite, commits: true, takes: []string{"warm"}},
	"reset_no_commit":         {target: onEvery, takes: []string{"warm"}},
	"late_commit":             {target: onWrite, commits: true, takes: []string{"after"}, needs: "after"},
	"commit_then_error":       {target: onWrite, commits: true, takes: []string{"status", "html", "retry_after", "stored"}},
	"error_no_commit":         {target: onEvery, takes: []string{"status", "html", "retry_after", "stored"}},
	"error_200":               {target: onEvery},
	"html_200":                {target: onEvery, takes: []string{"commit"}},
	"truncated":               {target: onEvery, takes: []string{"commit"}},
	"oversize":                {target: onEvery, commits: true, takes: []string{"bytes"}},
	"drip":                    {target: onEvery, commits: true, takes: []string{"bytes", "every"}},
	"reject":                  {target: onWrite, takes: []string{"status", "code"}},
	"throttle":                {target: onEvery, takes: []string{"retry_after"}},
	"still_running":           {target: onWrite},
	"other_operations_answer": {target: onWrite | onGet, commits: true},
	"wrong_echo":              {target: onWrite | onGet, commits: true, takes: []string{"field", "value"}, needs: "field"},
	"redirect":                {target: onEvery, takes: []string{"status", "to", "commit"}},
	"commit_twice":            {target: onWrite, commits: true},
	"slow":                    {target: onEvery, commits: true, takes: []string{"for"}, needs: "for"},
	"lookup_lag":              {target: onLook, standing: true, takes: []string{"for"}, needs: "for"},
	"lookup_miss":             {target: onLook, standing: true, takes: []string{"every"}, needs: "every"},
	"lookup_multi":            {target: onSearch},
	"lookup_empty":            {target: onLook},
	"lookup_error":            {target: onLook, takes: []string{"status", "html", "empty_object"}},
	"lookup_renamed":          {target: onSearch, standing: true, takes: []string{"field"}, needs: "field"},
	"lookup_hidden":           {target: onSearch, takes: []string{"page"}},
	"refuse":                  {target: onProvider, standing: true},
	"ignore_key":              {target: onProvider, standing: true},
	"forget_key":              {target: onProvider, standing: true, takes: []string{"after"}, needs: "after"},
}

// ParseFaults reads one fault or a list of faults from JSON. Its errors name the unknown fault, kind, action or field.
func ParseFaults(data []byte) ([]Fault, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("read faults: %w", err)
		}
		faults := make([]Fault, len(list))
		for i, raw := range list {
			if err := faults[i].UnmarshalJSON(raw); err != nil {
				return nil, fmt.Errorf("fault %d: %w", i+1, err)
			}
		}
		return faults, nil
	}
	var f Fault
	if err := f.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return []Fault{f}, nil
}

// UnmarshalJSON reads one fault and checks it.
func (f *Fault) UnmarshalJSON(data []byte) error {
	members, err := parseObject(data)
	if err != nil {
		return fmt.Errorf("read fault: %w", err)
	}
	*f = Fault{}
	for _, m := range members {
		if m.name == "do" {
			if f.Do, _ = textOf(m.value); f.Do == "" {
				return fmt.Errorf("field \"do\": want the name of a fault, found %s", m.value)
			}
		}
	}
	for _, m := range members {
		if err := f.set(m.name, m.value); err != nil {
			return fmt.Errorf("fault %s: field %q: %w", f.Do, m.name, err)
		}
	}
	return f.check()
}

// set reads one field. Whether the fault takes it is checked afterwards, from the value; a zero value given explicitly is caught here.
func (f *Fault) set(name string, raw json.RawMessage) (err error) {
	into := f.places()[name]
	if into == nil {
		return fmt.Errorf("unknown field")
	}
	if n, ok := natures[f.Do]; ok && !n.allows(name) {
		return fmt.Errorf("%s does not take it", f.Do)
	}
	switch p := into.(type) {
	case *time.Duration:
		if name == "every" && f.Do == "lookup_miss" {
			err = json.Unmarshal(raw, &f.EveryNth)
			break
		}
		*p, err = durationOf(raw, name == "retry_after")
	case *json.RawMessage:
		*p = slices.Clone(raw)
	default:
		if string(raw) == "null" {
			return fmt.Errorf("null is no value")
		}
		err = json.Unmarshal(raw, p)
	}
	return err
}

// places maps the JSON names to the fields.
func (f *Fault) places() map[string]any {
	return map[string]any{
		"on": &f.On, "do": &f.Do, "nth": &f.Nth, "times": &f.Times, "after": &f.After, "for": &f.For, "every": &f.Every,
		"status": &f.Status, "html": &f.HTML, "commit": &f.Commit, "warm": &f.Warm, "stored": &f.Stored,
		"empty_object": &f.EmptyObject, "retry_after": &f.RetryAfter, "bytes": &f.Bytes, "code": &f.Code, "field": &f.Field,
		"to": &f.To, "value": &f.Value, "page": &f.Page,
	}
}

func (n nature) allows(name string) bool {
	switch name {
	case "on", "do":
		return true
	case "nth", "times":
		return n.target != onProvider
	}
	return slices.Contains(n.takes, name)
}

// MarshalJSON writes the fields that are set, in a fixed order.
func (f Fault) MarshalJSON() ([]byte, error) {
	order := []string{"on", "do", "nth", "times", "after", "for", "every", "status", "html", "commit", "warm", "stored", "empty_object",
		"retry_after", "bytes", "code", "field", "to", "value", "page"}
	places := f.places()
	var members []member
	for _, name := range order {
		if raw := fieldText(places[name]); raw != nil {
			members = append(members, member{name, raw})
		}
		if name == "every" && f.EveryNth != 0 {
			members = append(members, member{name, encode(f.EveryNth)})
		}
	}
	return encodeObject(members), nil
}

// fieldText is a field's JSON, nil where the field is not set.
func fieldText(place any) json.RawMessage {
	switch p := place.(type) {
	case *string:
		if *p != "" {
			return encode(*p)
		}
	case *int:
		if *p != 0 {
			return encode(*p)
		}
	case *bool:
		if *p {
			return encode(true)
		}
	case *time.Duration:
		if *p != 0 {
			return encode(p.String())
		}
	case *json.RawMessage:
		return *p
	}
	return nil
}

// faultNames lists all names for messages.
func faultNames() string {
	names := make([]string, 0, len(natures))
	for name := range natures {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
