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

// lay is how the story changes a built-in tool.
func (f *File) lay(name string) func(toolbox.Facts) (toolbox.Facts, error) {
	n := f.Tools[name]
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

// checkTools lays the story's knobs and adds the tools once, over a journal that is thrown away: what contradicts itself is
// refused where it stands, before anything runs.
func (f *File) checkTools() error {
	tools, err := toolbox.New(context.Background(), toolbox.Options{Journal: memjournal.New()})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		n := f.Tools[name]
		if !slices.Contains(demo.Names(), name) {
			return n.Errorf("there is no built-in tool %q; there are %s", name, strings.Join(demo.Names(), ", "))
		}
		if n.Kind != strictyaml.Map {
			return n.Errorf("a tool is a map of knobs")
		}
		if use := n.Get("use"); use != nil {
			return use.Errorf("tools from a file come with a later version")
		}
		if err := f.tryTool(tools, name); err != nil {
			return placed(n, err)
		}
	}
	return nil
}

// tryTool builds a request too: where the key travels is not looked at before.
func (f *File) tryTool(tools *toolbox.Toolbox, name string) error {
	tool, err := demo.Tool(name, "http://127.0.0.1:1", "fake", nil, f.lay(name))
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
