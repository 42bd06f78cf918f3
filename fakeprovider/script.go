package fakeprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Script is what the model says, as in the product's scenario files. The n-th answer replies to a conversation that already holds n-1
// assistant messages; with Order "asked" the answers are played in order of asking instead.
type Script struct {
	Order   string         `json:"order,omitempty"` // "" or asked
	Answers []ScriptAnswer `json:"answers"`
}

// ScriptAnswer is one answer: calls, words, or both; or a breakdown.
type ScriptAnswer struct {
	Call  *ScriptCall  `json:"call,omitempty"`
	Calls []ScriptCall `json:"calls,omitempty"`
	Say   string       `json:"say,omitempty"`
	Wait  Wait         `json:"wait,omitempty"`  // the provider thinks so long first
	Break *ScriptBreak `json:"break,omitempty"` // mid_stream may break words or calls, the others stand alone
	Shape []string     `json:"shape,omitempty"` // see shapes
}

// ScriptCall is one tool call: arguments as an object, or Raw text as it stands, valid or not. Without an ID it gets call_N_i, both
// counted from 1.
type ScriptCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
	Raw  *string         `json:"raw,omitempty"`
	ID   string          `json:"id,omitempty"`
}

// ScriptBreak is "mid_stream", "empty" or "html", or an object with a status.
type ScriptBreak struct {
	How        string // empty if Status is set
	Status     int
	RetryAfter time.Duration
}

// Wait is a duration whose JSON is a text such as "2s".
type Wait time.Duration

// ParseScript reads a script from JSON, strictly.
func ParseScript(data []byte) (*Script, error) {
	s := &Script{}
	if err := strictJSON(data, s); err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return s, s.check()
}

// ParseScriptAnswer reads one answer of a script from JSON, strictly. It is for a reader that knows where every answer stands
// in a file: it reads them one by one, so that its errors have a place.
func ParseScriptAnswer(data []byte) (ScriptAnswer, error) {
	var a ScriptAnswer
	if err := strictJSON(data, &a); err != nil {
		return a, err
	}
	return a, a.check()
}

// strictJSON reads one JSON text in which every name is known.
func strictJSON(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(out); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("text follows")
	}
	return nil
}

func (s *Script) check() error {
	if s.Order != "" && s.Order != "asked" {
		return fmt.Errorf("script: order %q: want asked, or none", s.Order)
	}
	if len(s.Answers) == 0 {
		return errors.New("script: no answers")
	}
	for i := range s.Answers {
		if err := s.Answers[i].check(); err != nil {
			return fmt.Errorf("script: answer %d: %w", i+1, err)
		}
	}
	return nil
}

func (a *ScriptAnswer) check() error {
	says := a.Say != "" || a.Call != nil || len(a.Calls) > 0
	switch {
	case a.Call != nil && len(a.Calls) > 0:
		return errors.New("both call and calls")
	case !says && a.Break == nil:
		return errors.New("want call, calls, say or break")
	case says && a.Break != nil && a.Break.How != "mid_stream":
		return errors.New("this break leaves nothing to say or call")
	case a.Break != nil && a.Break.How == "" && (a.Break.Status < 400 || a.Break.Status > 599):
		return fmt.Errorf("break: status %d is not between 400 and 599", a.Break.Status)
	}
	for _, shape := range a.Shape {
		if !slices.Contains(shapes, shape) {
			return fmt.Errorf("unknown shape %q; known are %s", shape, strings.Join(shapes, ", "))
		}
	}
	for i, call := range a.allCalls() {
		if err := call.check(); err != nil {
			return fmt.Errorf("call %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *ScriptCall) check() error {
	switch {
	case c.Tool == "":
		return errors.New("no tool")
	case c.Args != nil && c.Raw != nil:
		return errors.New("both args and raw")
	case c.Args != nil:
		if _, err := parseObject(c.Args); err != nil {
			return fmt.Errorf("args: %w", err)
		}
	}
	return nil
}

func (a *ScriptAnswer) allCalls() []ScriptCall {
	if a.Call != nil {
		return []ScriptCall{*a.Call}
	}
	return a.Calls
}

// arguments is the text that the model writes.
func (c *ScriptCall) arguments() string {
	switch {
	case c.Raw != nil:
		return *c.Raw
	case c.Args == nil:
		return "{}"
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, c.Args); err != nil {
		return string(c.Args)
	}
	return buf.String()
}

// UnmarshalJSON reads a duration text.
func (w *Wait) UnmarshalJSON(data []byte) error {
	d, err := durationOf(data, false)
	*w = Wait(d)
	return err
}

// MarshalJSON writes a duration text.
func (w Wait) MarshalJSON() ([]byte, error) { return encode(time.Duration(w).String()), nil }

// UnmarshalJSON reads a word or an object.
func (b *ScriptBreak) UnmarshalJSON(data []byte) error {
	if word, isText := textOf(data); isText {
		if !slices.Contains([]string{"mid_stream", "empty", "html"}, word) {
			return fmt.Errorf("unknown break %q; want mid_stream, empty, html or an object with a status", word)
		}
		*b = ScriptBreak{How: word}
		return nil
	}
	members, err := parseObject(data)
	if err != nil {
		return fmt.Errorf("break: %w", err)
	}
	*b = ScriptBreak{}
	for _, m := range members {
		switch m.name {
		case "status":
			err = json.Unmarshal(m.value, &b.Status)
		case "retry_after":
			b.RetryAfter, err = durationOf(m.value, true)
		default:
			err = errors.New("unknown field")
		}
		if err != nil {
			return fmt.Errorf("break: field %q: %w", m.name, err)
		}
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (b ScriptBreak) MarshalJSON() ([]byte, error) {
	if b.How != "" {
		return encode(b.How), nil
	}
	members := []member{{"status", encode(b.Status)}}
	if b.RetryAfter > 0 {
		members = append(members, member{"retry_after", encode(b.RetryAfter.String())})
	}
	return encodeObject(members), nil
}
