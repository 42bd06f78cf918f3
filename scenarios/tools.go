package scenarios

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"notwice/canonical/strictyaml"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// Lay is how a map of knobs changes a built-in tool; nil changes nothing.
func Lay(n *strictyaml.Node) func(toolbox.Facts) (toolbox.Facts, error) {
	if n == nil {
		return nil
	}
	return func(facts toolbox.Facts) (toolbox.Facts, error) {
		if p := n.Get("profile"); p != nil {
			profile, _ := p.Value.(string)
			var err error
			if facts, err = httptool.LayProfile(facts, profile); err != nil {
				return facts, p.Errorf("%v", err)
			}
		}
		return facts.Lay(n, false)
	}
}

// CheckTools lays knobs over the built-in tools and adds them once, over a journal that is thrown away: what contradicts itself
// is refused where it stands, before anything runs.
func CheckTools(knobs map[string]*strictyaml.Node) error {
	tools, err := toolbox.New(context.Background(), toolbox.Options{Journal: memjournal.New()})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		n := knobs[name]
		if !slices.Contains(demo.Names(), name) {
			return n.Errorf("there is no built-in tool %q; there are %s", name, strings.Join(demo.Names(), ", "))
		}
		if n.Kind != strictyaml.Map {
			return n.Errorf("a tool is a map of knobs")
		}
		if use := n.Get("use"); use != nil {
			return use.Errorf("tools from a file come with a later version")
		}
		if err := tryTool(tools, name, n); err != nil {
			return placed(n, err)
		}
	}
	return nil
}

// tryTool builds a request too: where the key travels is not looked at before.
func tryTool(tools *toolbox.Toolbox, name string, n *strictyaml.Node) error {
	tool, err := demo.Tool(name, "http://127.0.0.1:1", "fake", nil, Lay(n))
	if err != nil {
		return err
	}
	if err := tools.Add(tool); err != nil {
		return err
	}
	if b, ok := tool.(toolbox.Builder); ok {
		if _, err := b.Build(toolbox.Request{Tool: name, Key: "key", Number: "number", Args: map[string]any{}}); err != nil {
			return fmt.Errorf("tool %s: %w", name, err)
		}
	}
	return nil
}
