package toolbox

import (
	"fmt"
	"slices"
	"strings"

	"notwice/canonical/strictyaml"
)

// When is a condition on an answer; all parts that are given must hold.
type When struct {
	Status []string `yaml:"status"` // 409, 4xx; empty: any
	Exit   *int     `yaml:"exit"`
	Phase  string   `yaml:"phase"` // sent, not_sent
	Header string   `yaml:"header"`
	Body   string   `yaml:"body"` // a path
	Equals any      `yaml:"equals"`
	In     []any    `yaml:"in"`
	Exists *bool    `yaml:"exists"`
}

// UnmarshalNode reads a condition and refuses one that can never or always hold.
func (w *When) UnmarshalNode(n *strictyaml.Node) error {
	type plain struct {
		Exit   *int       `yaml:"exit"`
		Phase  string     `yaml:"phase"`
		Header string     `yaml:"header"`
		Body   string     `yaml:"body"`
		Equals any        `yaml:"equals"`
		In     []any      `yaml:"in"`
		Exists *bool      `yaml:"exists"`
		Code   statusList `yaml:"status"`
	}
	var p plain
	if err := strictyaml.Decode(n, &p); err != nil {
		return err
	}
	*w = When{Status: p.Code, Exit: p.Exit, Phase: p.Phase, Header: p.Header, Body: p.Body, Equals: p.Equals, In: p.In, Exists: p.Exists}
	if err := w.Check(); err != nil {
		return n.Errorf("%v", err)
	}
	return nil
}

// Check refuses a condition that says nothing or says too much.
func (w When) Check() error {
	tests := 0
	for _, given := range []bool{w.Equals != nil, w.In != nil, w.Exists != nil} {
		if given {
			tests++
		}
	}
	place := w.Header != "" || w.Body != ""
	switch {
	case w.Header != "" && w.Body != "":
		return fmt.Errorf("a condition looks at a header or at the body, not at both")
	case tests > 1:
		return fmt.Errorf("one of equals, in and exists is enough")
	case place && tests == 0:
		return fmt.Errorf("header and body need one of equals, in and exists")
	case !place && tests > 0:
		return fmt.Errorf("equals, in and exists need a header or a body path")
	case !place && len(w.Status) == 0 && w.Exit == nil && w.Phase == "":
		return fmt.Errorf("the condition is empty")
	}
	return nil
}

type statusList []string

func (s *statusList) UnmarshalNode(n *strictyaml.Node) error {
	items := n.Items
	if n.Kind != strictyaml.List {
		items = []*strictyaml.Node{n}
	}
	for _, item := range items {
		text := fmt.Sprint(item.Value)
		if len(text) != 3 || text[0] < '1' || text[0] > '5' || (text[1:] != "xx" && strings.Trim(text[1:], "0123456789") != "") {
			return item.Errorf("%q is not a status; write 409, 4xx or a list of them", text)
		}
		*s = append(*s, text)
	}
	return nil
}

// Rule says what an answer proves.
type Rule struct {
	When    When   `yaml:"when"`
	Outcome string `yaml:"outcome"`
}

var outcomeWords = []string{"applied", "rejected", "not_sent", "unknown", "accepted", "running", "exists", "conflict"}

// UnmarshalNode reads a rule.
func (r *Rule) UnmarshalNode(n *strictyaml.Node) error {
	type plain Rule // without this method
	var p plain
	if err := strictyaml.Decode(n, &p); err != nil {
		return err
	}
	*r = Rule(p)
	if err := r.Check(); err != nil {
		return n.Errorf("%v", err)
	}
	return nil
}

// Check refuses a rule that would call something definite without the provider's own word.
func (r Rule) Check() error {
	if !slices.Contains(outcomeWords, r.Outcome) {
		return fmt.Errorf("outcome %q is not known; known: %s", r.Outcome, strings.Join(outcomeWords, ", "))
	}
	if err := r.When.Check(); err != nil {
		return err
	}
	w := r.When
	if r.Outcome == "rejected" && w.Exit == nil && (len(w.Status) == 0 || w.Body == "") {
		return fmt.Errorf("rejected needs a status and a condition on the body: a status alone is not the provider's word")
	}
	if r.Outcome == "rejected" && slices.ContainsFunc(w.Status, func(s string) bool { return strings.HasPrefix(s, "5") || s == "408" || s == "429" }) {
		return fmt.Errorf("rejected cannot rest on 5xx, 408 or 429: they do not say that nothing happened")
	}
	return nil
}
