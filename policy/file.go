package policy

import (
	"fmt"
	"slices"

	"notwice/canonical/strictyaml"
	"notwice/journal"
)

// Override is one entry of tool_policy (DESIGN §7, FORMATS §2). It wins over the tool's own knobs.
type Override struct {
	OperationKey        string           `yaml:"operation_key"`
	Retry               retry            `yaml:"retry"`
	TerminalStates      []string         `yaml:"terminal_states"`
	UnknownAfterSeconds *positive        `yaml:"unknown_after_seconds"`
	OnUnresolved        string           `yaml:"on_unresolved"`
	At                  *strictyaml.Node `yaml:"-"`
}

type retry struct {
	ReuseOperationKey *bool  `yaml:"reuse_operation_key"`
	OnTimeout         string `yaml:"on_timeout"`
}

type positive int64

func (p *positive) UnmarshalNode(n *strictyaml.Node) error {
	var i int64
	if err := strictyaml.Decode(n, &i); err != nil {
		return err
	}
	if i < 1 || i > 10*365*86400 {
		return n.Errorf("%d: a number of seconds from 1 to ten years is needed", i)
	}
	*p = positive(i)
	return nil
}

// Parse reads a file that holds tool_policy and nothing else. Errors name file, line and column.
func Parse(file string, data []byte) (map[string]Override, error) {
	n, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var top struct {
		Version *versionOne `yaml:"version"`
		Policy  Overrides   `yaml:"tool_policy"`
	}
	if err := strictyaml.Decode(n, &top); err != nil {
		return nil, err
	}
	if top.Policy == nil {
		return nil, n.Errorf("the file has no tool_policy")
	}
	return top.Policy, nil
}

type versionOne int64

func (v *versionOne) UnmarshalNode(n *strictyaml.Node) error {
	var i int64
	if err := strictyaml.Decode(n, &i); err != nil {
		return err
	}
	if i != 1 {
		return n.Errorf("version %d is not known; this Notwice reads version 1", i)
	}
	return nil
}

// Overrides is the value of tool_policy: one Override for each tool.
type Overrides map[string]Override

// UnmarshalNode reads and judges the entries.
func (o *Overrides) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind != strictyaml.Map {
		return n.Errorf("a map from tool names to policies is needed")
	}
	*o = Overrides{}
	for i, name := range n.Keys {
		var entry Override
		if err := strictyaml.Decode(n.Values[i], &entry); err != nil {
			return err
		}
		if err := entry.check(n.Values[i]); err != nil {
			return err
		}
		entry.At = n.Names[i]
		(*o)[name] = entry
	}
	return nil
}

func (o Override) check(n *strictyaml.Node) error {
	at := func(path ...string) *strictyaml.Node {
		for _, key := range path {
			if next := n.Get(key); next != nil {
				n = next
			}
		}
		return n
	}
	switch {
	case o.OperationKey != "" && o.OperationKey != "required":
		return at("operation_key").Errorf("%q: every write has a key; the only value is required", o.OperationKey)
	case o.Retry.ReuseOperationKey != nil && !*o.Retry.ReuseOperationKey:
		return at("retry", "reuse_operation_key").Errorf("false is refused: a retry under a new key is a second effect")
	case !slices.Contains([]string{"", "reconcile_before_retry", "ask_person"}, o.Retry.OnTimeout):
		return at("retry", "on_timeout").Errorf("%q is not known; known: reconcile_before_retry, ask_person", o.Retry.OnTimeout)
	case o.OnUnresolved != "" && o.OnUnresolved != "require_human_review":
		return at("on_unresolved").Errorf("%q is not known; known: require_human_review", o.OnUnresolved)
	}
	if n.Get("terminal_states") == nil {
		return nil
	}
	want := []string{string(journal.Succeeded), string(journal.FailedFinal)}
	got := slices.Clone(o.TerminalStates)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return n.Get("terminal_states").Errorf("the terminal states are succeeded and failed_final, no others and no fewer")
	}
	return nil
}

// String is a short description for listings.
func (p Policy) String() string {
	class, why := p.Class()
	return fmt.Sprintf("class %s: %s", class, why)
}
