package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"notwice/canonical"
)

// Limits of one file.
const (
	MaxSize  = 1 << 20
	MaxDepth = 32
)

// Kind of a node.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	List
	Map
)

// Node is a value with its place in the file.
type Node struct {
	File   string
	Line   int // from 1
	Column int // from 1
	Kind   Kind
	Value  any      // Scalar: string, bool, canonical.Number or nil
	Items  []*Node  // List
	Keys   []string // Map: in the order of the file
	Names  []*Node  // Map: the nodes of the keys
	Values []*Node  // Map
}

// Error is a fault of a file at its place.
type Error struct {
	File         string
	Line, Column int
	What         string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.What)
}

// Errorf is an error at the node's place.
func (n *Node) Errorf(format string, args ...any) error {
	return &Error{File: n.File, Line: n.Line, Column: n.Column, What: fmt.Sprintf(format, args...)}
}

// Get returns the value of a key of a map, or nil.
func (n *Node) Get(key string) *Node {
	for i, k := range n.Keys {
		if k == key {
			return n.Values[i]
		}
	}
	return nil
}

// Parse reads one file. An empty file is an error.
func Parse(file string, data []byte) (*Node, error) {
	fail := func(line, column int, what string) (*Node, error) {
		return nil, &Error{File: file, Line: line, Column: column, What: what}
	}
	switch {
	case len(data) > MaxSize:
		return fail(0, 0, fmt.Sprintf("the file has %d bytes, more than %d", len(data), MaxSize))
	case !utf8.Valid(data):
		return fail(0, 0, "the file is not valid UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return fail(0, 0, "the file holds a NUL byte")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if tooDeep(data) {
		return fail(0, 0, fmt.Sprintf("nested deeper than %d", MaxDepth))
	}
	tokens := lexer.Tokenize(string(data))
	if err := checkTokens(file, tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	b := builder{file: file}
	var root *Node
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			line, column := place(doc.Body.GetToken())
			return fail(line, column, "a second document; one file holds one")
		}
		if root, err = b.node(doc.Body, 1); err != nil {
			return nil, err
		}
	}
	if root == nil {
		return fail(0, 0, "the file is empty")
	}
	if len(tree.Docs) > 1 {
		return fail(0, 0, "the file holds more than one document")
	}
	return root, nil
}

// tooDeep finds nesting so deep that the lexer would be slow at it: a thousand open brackets, or a long run of dashes.
// It reads bytes only, so quotes do not matter at this size; the exact limit is checked on tokens and tree.
func tooDeep(data []byte) bool {
	open := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")) - bytes.Count(data, []byte("]")) - bytes.Count(data, []byte("}"))
	return open > 1000 || bytes.Contains(data, bytes.Repeat([]byte("- "), MaxDepth+1)) && !bytes.Contains(data, []byte("|"))
}

// checkTokens refuses, before a tree is built, what the tree could hide or be slow at.
func checkTokens(file string, tokens token.Tokens) error {
	depth := 0
	for _, t := range tokens {
		what := ""
		switch t.Type {
		case token.AnchorType:
			what = "anchors are not allowed"
		case token.AliasType:
			what = "aliases are not allowed"
		case token.TagType:
			what = "tags are not allowed"
		case token.MergeKeyType:
			what = "merge keys are not allowed"
		case token.DirectiveType:
			what = "directives are not allowed"
		case token.MappingStartType, token.SequenceStartType:
			if depth++; depth > MaxDepth {
				what = fmt.Sprintf("nested deeper than %d", MaxDepth)
			}
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.InvalidType:
			what = "not valid YAML"
			if t.Error != "" {
				what += ": " + t.Error
			}
		case token.SequenceEntryType, token.MappingKeyType:
			if t.Position != nil && t.Position.Column > 2*MaxDepth*8 {
				what = "indented too deep"
			}
		}
		if what != "" {
			line, column := place(t)
			return &Error{File: file, Line: line, Column: column, What: what}
		}
	}
	return nil
}

func place(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 0, 0
	}
	return t.Position.Line, t.Position.Column
}

// syntaxError takes message and token of the library's error. Its text would draw the file around the place, which takes
// time that grows with the square of the file.
func syntaxError(file string, err error) error {
	e := &Error{File: file, What: "not valid YAML"}
	var told interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &told) {
		e.What += ": " + told.GetMessage()
		e.Line, e.Column = place(told.GetToken())
	}
	return e
}

type builder struct{ file string }

func (b builder) at(t *token.Token, kind Kind) *Node {
	line, column := place(t)
	return &Node{File: b.file, Line: line, Column: column, Kind: kind}
}

func (b builder) node(n ast.Node, depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, b.at(n.GetToken(), Scalar).Errorf("nested deeper than %d", MaxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n.GetToken(), n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(n.Key.GetToken(), []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := b.at(n.GetToken(), List)
		for _, item := range n.Values {
			v, err := b.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, v)
		}
		return out, nil
	}
	return b.scalar(n)
}

func (b builder) mapping(t *token.Token, values []*ast.MappingValueNode, depth int) (*Node, error) {
	out := b.at(t, Map)
	if len(values) > 0 {
		out.Line, out.Column = place(values[0].Key.GetToken())
	}
	for _, mv := range values {
		key, err := b.scalar(mv.Key)
		if err != nil {
			return nil, err
		}
		name := mv.Key.GetToken().Value
		if text, ok := key.Value.(string); ok {
			name = text
		}
		if out.Get(name) != nil {
			return nil, key.Errorf("the key %q stands twice", name)
		}
		v, err := b.node(mv.Value, depth+1)
		if err != nil {
			return nil, err
		}
		out.Keys, out.Names, out.Values = append(out.Keys, name), append(out.Names, key), append(out.Values, v)
	}
	return out, nil
}

func (b builder) scalar(n ast.Node) (*Node, error) {
	t := n.GetToken()
	out := b.at(t, Scalar)
	switch n := n.(type) {
	case *ast.NullNode:
		return out, nil
	case *ast.BoolNode:
		if t.Value != "true" && t.Value != "false" {
			return nil, out.Errorf("%q: a boolean is true or false, a text stands in quotes", t.Value)
		}
		out.Value = t.Value == "true"
		return out, nil
	case *ast.LiteralNode:
		out.Value = n.Value.Value
		return out, nil
	case *ast.StringNode:
		if t.Type == token.StringType && looksNumeric(n.Value) {
			if _, err := canonical.Parse([]byte(n.Value)); err == nil {
				out.Value = canonical.Number(n.Value) // 1e3 and integers beyond 64 bits, which the library takes for text
				return out, nil
			}
			return nil, out.Errorf("%q is not spelled as a number in JSON; write the number plainly or put the text in quotes", n.Value)
		}
		out.Value = n.Value
		return out, nil
	case *ast.IntegerNode, *ast.FloatNode:
		text := strings.TrimSpace(t.Value)
		if _, err := canonical.Parse([]byte(text)); err != nil {
			return nil, out.Errorf("%q is not spelled as a number in JSON; write the number plainly or put the text in quotes", text)
		}
		out.Value = canonical.Number(text)
		return out, nil
	case *ast.InfinityNode, *ast.NanNode:
		return nil, out.Errorf("%q is no number; put the text in quotes", t.Value)
	}
	return nil, out.Errorf("a %s is not allowed here", strings.ToLower(n.Type().String()))
}

var numeric = regexp.MustCompile(`^[-+]?(0[xXoObB][0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?)$`)

// looksNumeric tells a bare text that a reader would take for a number.
func looksNumeric(s string) bool { return numeric.MatchString(s) }
