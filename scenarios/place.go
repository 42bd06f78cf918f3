package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"notwice/canonical/strictyaml"
)

// Rooms that do not know YAML speak of a fault without its place: `scope is journal, task or turn, not "nowhere"`. place.go
// finds the place by what such a message names, so that a person is led to the knob and not to the whole tool.

var (
	quotedWord = regexp.MustCompile(`"([^"]+)"`)
	bareWord   = regexp.MustCompile(`[A-Za-z_]+`)
)

// placed is an error at the part of a node that its message names: a quoted key or value first, else the keys that stand bare in
// it, each below the one before, else the node itself. An error that has a place keeps it, without what was wrapped around it.
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
		if at, _ := named(n, m[1], true); at != nil {
			return at.Errorf("%s", text)
		}
	}
	at, inside := n, n
	for _, word := range bareWord.FindAllString(strings.ReplaceAll(text, "look-up", "lookup"), -1) {
		if key, value := named(inside, word, false); key != nil {
			at, inside = key, value // `break: status 200 …` goes on to the status of this break
		}
	}
	return at.Errorf("%s", text)
}

// named is the first key of that name below a node, with what it holds, or, with values, the first scalar of that text; nil:
// there is none.
func named(n *strictyaml.Node, word string, values bool) (at, value *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar && values && n.Value != nil && fmt.Sprint(n.Value) == word {
		return n, n
	}
	for i, key := range n.Keys {
		if key == word {
			return n.Names[i], n.Values[i]
		}
	}
	for _, inner := range append(slices.Clone(n.Items), n.Values...) {
		if at, value = named(inner, word, values); at != nil {
			return at, value
		}
	}
	return nil, nil
}
