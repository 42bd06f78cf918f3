package scenarios

import (
	"slices"
	"strings"

	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/policy"
)

// Step is one step: one verb, its keys, what is expected.
type Step struct {
	Node   *strictyaml.Node `yaml:"-"`
	Name   string           `yaml:"name"`
	Expect *Expect          `yaml:"expect"`

	Call      string               `yaml:"call"`
	Model     *ModelFacts          `yaml:"model"`
	Fault     *faultList           `yaml:"fault"`
	Reconcile string               `yaml:"reconcile"`
	Advance   *strictyaml.Duration `yaml:"advance"`
	Crash     *Crash               `yaml:"crash"`
	Rule      string               `yaml:"rule"`
	Parallel  []Step               `yaml:"parallel"`

	Change     *strictyaml.Node     `yaml:"change"`
	Omit       []string             `yaml:"omit"`
	Raw        *string              `yaml:"raw"`
	Task       string               `yaml:"task"`
	Turn       int                  `yaml:"turn"`
	Account    string               `yaml:"account"`
	Wait       strictyaml.Duration  `yaml:"wait"`
	GivesUp    *strictyaml.Duration `yaml:"gives_up_after"`
	Resume     bool                 `yaml:"resume"`
	Decision   string               `yaml:"decision"`
	ExternalID string               `yaml:"external_id"`
	For        strictyaml.Duration  `yaml:"for"`
	Why        string               `yaml:"why"`
}

type faultList struct {
	clear  bool
	faults []fakeprovider.Fault
}

// UnmarshalNode reads one fault, a list, or `clear`.
func (f *faultList) UnmarshalNode(n *strictyaml.Node) error {
	if n.Value == "clear" {
		f.clear = true
		return nil
	}
	items := n.Items
	if n.Kind != strictyaml.List {
		items = []*strictyaml.Node{n}
	}
	if len(items) == 0 {
		return n.Errorf("the list names no fault")
	}
	for _, item := range items { // one by one, so that an error stands at its entry
		if item.Kind != strictyaml.Map {
			return item.Errorf("a fault is a map such as {on: payments.create, do: commit_then_timeout}, a list of them, or clear")
		}
		faults, err := fakeprovider.ParseFaults(item.JSON())
		if err != nil {
			return placed(item, err)
		}
		f.faults = append(f.faults, faults...)
	}
	return nil
}

// Crash is where the product dies.
type Crash struct {
	Now   bool
	Point Point
	Nth   int
}

// UnmarshalNode reads `now`, or {before: SEAM} / {after: SEAM} with nth.
func (c *Crash) UnmarshalNode(n *strictyaml.Node) error {
	if n.Value == "now" {
		c.Now = true
		return nil
	}
	var m struct {
		Before string `yaml:"before"`
		After  string `yaml:"after"`
		Nth    *int   `yaml:"nth"`
	}
	if err := strictyaml.Decode(n, &m); err != nil {
		return err
	}
	side, seam := "before", m.Before
	if m.After != "" {
		side, seam = "after", m.After
	}
	if (m.Before == "") == (m.After == "") {
		return n.Errorf("crash is now, {before: SEAM} or {after: SEAM}")
	}
	var err error
	if c.Point, err = parsePoint(side, seam); err != nil {
		return n.Errorf("%v", err)
	}
	c.Nth = 1
	if m.Nth != nil {
		c.Nth = *m.Nth
	}
	if c.Nth < 1 {
		return n.Errorf("nth counts from 1")
	}
	return nil
}

var verbs = []string{"call", "model", "fault", "reconcile", "advance", "crash", "rule", "parallel"}

// verbKeys are the keys that belong to a verb, beside name and expect.
var verbKeys = map[string][]string{
	"call":      {"change", "omit", "raw", "task", "turn", "account", "wait", "gives_up_after"},
	"model":     {"task", "resume", "wait"},
	"fault":     {},
	"reconcile": {},
	"advance":   {},
	"crash":     {},
	"rule":      {"decision", "external_id", "for", "why", "change", "wait"},
	"parallel":  {},
}

// UnmarshalNode reads a step and judges its keys.
func (s *Step) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind != strictyaml.Map {
		return n.Errorf("a step is a map with one verb: %s", strings.Join(verbs, ", "))
	}
	verb := ""
	for i, key := range n.Keys {
		if slices.Contains(verbs, key) {
			if verb != "" {
				return n.Names[i].Errorf("a second verb: a step has one, and this one has %s", verb)
			}
			verb = key
		}
	}
	if verb == "" {
		return n.Errorf("the step has no verb; it needs one of %s", strings.Join(verbs, ", "))
	}
	for i, key := range n.Keys {
		if key != verb && key != "name" && key != "expect" && !slices.Contains(verbKeys[verb], key) {
			return n.Names[i].Errorf("the key %q does not belong to %s; it takes %s", key, verb, strings.Join(append([]string{"name", "expect"}, verbKeys[verb]...), ", "))
		}
	}
	type plain Step
	p := plain(*s)
	if err := strictyaml.Decode(n, &p); err != nil {
		return err
	}
	*s = Step(p)
	s.Node = n
	if verb == "rule" && !slices.Contains(policy.Decisions, s.Decision) {
		return n.Errorf("rule needs a decision: %s", strings.Join(policy.Decisions, ", "))
	}
	for _, inner := range s.Parallel {
		if inner.Call == "" && inner.Model == nil && inner.Reconcile == "" && inner.Rule == "" {
			return inner.Node.Errorf("parallel takes call, model, reconcile and rule steps")
		}
	}
	if n.Get("parallel") != nil && len(s.Parallel) < 2 {
		return n.Errorf("parallel needs two steps or more")
	}
	return nil
}

// title is what a report calls the step.
func (s Step) title() string {
	if s.Name != "" {
		return s.Name
	}
	for i, key := range s.Node.Keys {
		if slices.Contains(verbs, key) {
			if text, ok := s.Node.Values[i].Value.(string); ok {
				return key + " " + text
			}
			return key
		}
	}
	return "step"
}

// works reports whether a step makes the product do something; else something happens to it.
func (s Step) works() bool {
	return s.Call != "" || s.Model != nil || s.Reconcile != "" || s.Rule != "" || s.Parallel != nil
}

// together are the steps that run at once: those of parallel, else this one.
func (s Step) together() []Step {
	if s.Parallel != nil {
		return s.Parallel
	}
	return []Step{s}
}
