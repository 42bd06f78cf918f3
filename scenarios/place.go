package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"notwice/canonical/strictyaml"
)

// Rooms that do not know YAML speak of a fault without its place: `scope is journal, task or turn, not "nowhere"`. place.go
// finds the place by what such a message names, so that a person is led to the knob and not to the whole tool.

var (
	quotedWord = regexp.MustCompile(`"([^"]+)"`)
	bareWord   = regexp.MustCompile(`[A-Za-z_]+`)
)

// placed is an error at the part of a node that its message names: a quoted key or value first, else a key that stands bare in
// it, else the node itself. An error that has a place keeps it, without what was wrapped around it.
func placed(n *strictyaml.Node, err error) error {
	var has *strictyaml.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &has):
		return has
	}
	text := err.Error()
	for _, m := range quotedWord.FindAllStringSubmatch(text, -1) {
		if at := named(n, m[1], true); at != nil {
			return at.Errorf("%s", text)
		}
	}
	for _, word := range bareWord.FindAllString(strings.ReplaceAll(text, "look-up", "lookup"), -1) {
		if at := named(n, word, false); at != nil {
			return at.Errorf("%s", text)
		}
	}
	return n.Errorf("%s", text)
}

// named is the first key of that name below a node or, with values, the first scalar of that text; nil: there is none.
func named(n *strictyaml.Node, word string, values bool) *strictyaml.Node {
	if n.Kind == strictyaml.Scalar && values && n.Value != nil && fmt.Sprint(n.Value) == word {
		return n
	}
	for i, key := range n.Keys {
		if key == word {
			return n.Names[i]
		}
	}
	for _, inner := range append(append([]*strictyaml.Node(nil), n.Items...), n.Values...) {
		if at := named(inner, word, values); at != nil {
			return at
		}
	}
	return nil
}
