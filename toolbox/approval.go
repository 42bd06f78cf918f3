package toolbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
)

// Approval says when a person releases a request first: never (the zero value), always, or when an expression over args
// holds, such as `args.amount_minor > 1000000` (language: expr-lang/expr). What cannot be judged asks.
type Approval struct {
	Always bool
	When   string
}

// UnmarshalNode reads never, always or {when: …}.
func (a *Approval) UnmarshalNode(n *strictyaml.Node) error {
	switch n.Value {
	case "never":
		*a = Approval{}
		return nil
	case "always":
		*a = Approval{Always: true}
		return nil
	}
	var when struct {
		When string `yaml:"when"`
	}
	if n.Kind != strictyaml.Map {
		return n.Errorf("approval is never, always or {when: an expression over args}")
	}
	if err := strictyaml.Decode(n, &when); err != nil {
		return err
	}
	if strings.TrimSpace(when.When) == "" {
		return n.Errorf("approval: the condition is empty; never, always or {when: an expression over args}")
	}
	*a = Approval{When: when.When}
	if _, err := a.compile(canonical.Shape{Open: true}); err != nil {
		return n.Errorf("%v", err)
	}
	return nil
}

// condition is a compiled When.
type condition = vm.Program

// compile prepares the condition; nil: there is none. Error: it is no expression, or names an argument that does not exist.
func (a *Approval) compile(shape canonical.Shape) (*condition, error) {
	if a == nil || a.When == "" {
		return nil, nil
	}
	var named names
	program, err := expr.Compile(a.When, expr.AsBool(), expr.Env(map[string]any{"args": map[string]any{}}), expr.Patch(&named))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // the lines below draw the place
		return nil, fmt.Errorf("approval: %s in %q", first, a.When)
	}
	for _, name := range named {
		if shape.Field(name) == nil && !shape.Open {
			return nil, fmt.Errorf("approval: there is no argument %q", name)
		}
	}
	return program, nil
}

// names collects the arguments that an expression names; it changes nothing.
type names []string

func (n *names) Visit(node *ast.Node) {
	member, ok := (*node).(*ast.MemberNode)
	if !ok {
		return
	}
	object, isName := member.Node.(*ast.IdentifierNode)
	property, isText := member.Property.(*ast.StringNode)
	if isName && isText && object.Value == "args" {
		*n = append(*n, property.Value)
	}
}

// holds reports whether a person must release a call with these arguments, and why. An expression that cannot be judged, such as
// one that compares what is absent, asks.
func holds(a *Approval, when *condition, args map[string]any) (why string, asks bool) {
	switch {
	case a == nil:
		return "", false
	case a.Always:
		return "the tool asks for approval", true
	case when == nil:
		return "", false
	}
	native, err := nativeOf(args)
	if err == nil {
		var out any
		if out, err = expr.Run(when, map[string]any{"args": native}); err == nil {
			if yes, ok := out.(bool); ok {
				return "approval is asked when " + a.When, yes
			}
			err = fmt.Errorf("it gives %v", out)
		}
	}
	return fmt.Sprintf("whether %s cannot be told: %v", a.When, err), true
}

// nativeOf turns canonical values into those that an expression compares.
func nativeOf(v any) (any, error) {
	switch v := v.(type) {
	case canonical.Number:
		if v.IsInteger() {
			return strconv.Atoi(string(v))
		}
		return strconv.ParseFloat(string(v), 64)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = nativeOf(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			var err error
			if out[name], err = nativeOf(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
