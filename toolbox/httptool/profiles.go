package httptool

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"notwice/canonical/strictyaml"
	"notwice/toolbox"
)

//go:embed profiles.yaml
var profiles []byte

// Profiles lists the shipped profiles.
func Profiles() []string {
	names := slices.Clone(mustProfiles().Keys)
	slices.Sort(names)
	return names
}

func mustProfiles() *strictyaml.Node {
	n, err := strictyaml.Parse("profiles.yaml", profiles)
	if err != nil {
		panic(err) // it is part of the binary, and a test reads it
	}
	return n
}

// LayProfile replaces in a tool's facts what the profile names.
func LayProfile(f toolbox.Facts, name string) (toolbox.Facts, error) {
	n := mustProfiles().Get(name)
	if n == nil {
		return f, fmt.Errorf("profile %q is not known; known: %s", name, strings.Join(Profiles(), ", "))
	}
	out, err := f.Lay(n, true)
	if err != nil {
		return f, err
	}
	out.Profile = name
	if l := out.Lookup; l != nil && !out.Key.Sent() && l.HTTP == nil && l.Forms[l.By].Match.Equals == "" {
		out.Lookup = nil // nothing of ours is on the wire, so there is nothing to search for
	}
	return out, nil
}
