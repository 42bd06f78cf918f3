package canonical

import (
	"fmt"
	"strings"
	"time"
)

// Normalize brings parsed arguments into the form that is validated, registered and sent: absent and null made one,
// defaults filled in, the one lossless coercion made, money exact, currencies upper case, dates in RFC 3339 UTC. It changes
// nothing else and never repairs.
//
// Error: Problems, one for each field that is wrong. Which values a schema allows is not judged here.
func (s Shape) Normalize(args map[string]any) (map[string]any, error) {
	n := normalizer{shape: s, in: args, out: make(map[string]any, len(args))}
	n.unknown()
	for _, f := range s.Fields {
		n.field(f)
	}
	for _, f := range s.Fields {
		if f.Money != "" {
			n.money(f)
		}
	}
	if len(n.problems) > 0 {
		return nil, n.problems
	}
	return n.out, nil
}

type normalizer struct {
	shape    Shape
	in, out  map[string]any
	problems Problems
}

func (n *normalizer) fail(field, what, hint string) {
	n.problems = append(n.problems, problem(field, what, hint))
}

func (n *normalizer) unknown() {
	for _, name := range sortedNames(n.in) {
		if n.shape.Field(name) != nil {
			continue
		}
		if n.shape.Open {
			n.out[name] = n.in[name]
			continue
		}
		hint := "known: " + strings.Join(n.names(), ", ")
		for _, f := range n.shape.Fields {
			if strings.EqualFold(f.Name, name) {
				hint = fmt.Sprintf("names are compared with their case; known is %s", f.Name)
			}
		}
		n.fail(name, "unknown field", hint)
	}
}

func (n *normalizer) names() []string {
	var names []string
	for _, f := range n.shape.Fields {
		if f.Role != Secret {
			names = append(names, f.Name)
		}
	}
	return names
}

func (n *normalizer) field(f Field) {
	v, given := n.in[f.Name]
	if v == nil && !f.Nullable {
		given = false
	}
	if !given && f.Default != nil {
		v, given = f.Default, true
	}
	if !given {
		if !f.Optional && f.Role != Secret {
			n.fail(f.Name, "missing", "it is required")
		}
		return
	}
	v = coerce(f, v)
	if f.Type == "integer" {
		if num, ok := v.(Number); ok && !num.IsInteger() {
			n.fail(f.Name, fmt.Sprintf("%s is not spelled as a whole number", num), "digits only, no fraction, no exponent")
			return
		}
	}
	if text, ok := v.(string); ok {
		v = n.text(f, text)
	}
	if f.Role == Identity && empty(v) {
		n.fail(f.Name, "empty", "it names the thing that the call is about")
	}
	n.out[f.Name] = v
}

// coerce is the one lossless coercion: decimal text for an integer, JSON text for a declared list or object.
func coerce(f Field, v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	switch f.Type {
	case "integer":
		if Number(text).IsInteger() {
			return Number(text)
		}
	case "array", "object":
		inner, err := Parse([]byte(text))
		if err != nil || (f.Type == "array") != (kindOf(inner) == "a list") || (f.Type == "object") != (kindOf(inner) == "an object") {
			return v
		}
		return inner
	}
	return v
}

func (n *normalizer) text(f Field, text string) any {
	if f.Optional && (text == "null" || text == "None" || text == "undefined") {
		n.fail(f.Name, fmt.Sprintf("the text %q looks like an absent value", text), "leave the field out")
	}
	if f.Role == Identity || f.Format == "email" || f.Format == "hostname" {
		if name, found := Invisible(text); found {
			n.fail(f.Name, fmt.Sprintf("it holds the invisible character %s", name), "write it again by hand")
		}
	}
	if n.shape.isCurrency(f.Name) {
		return strings.ToUpper(text)
	}
	switch f.Format {
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			n.fail(f.Name, fmt.Sprintf("%q is not a date", text), "such as 2026-01-31")
		}
	case "date-time":
		t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
		if err != nil {
			n.fail(f.Name, fmt.Sprintf("%q is not a date and time with its zone", text), "such as 2026-01-31T10:00:00Z")
			return text
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return text
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return Fold(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (n *normalizer) money(f Field) {
	v, given := n.out[f.Name]
	if !given {
		return
	}
	code := n.shape.Currency(f, n.out)
	digits, err := Exponent(code)
	if err != nil {
		where := f.Money
		if n.shape.Field(f.Money) == nil {
			where = f.Name
		}
		n.fail(where, err.Error(), "such as EUR")
		return
	}
	switch amount := v.(type) {
	case Number:
		switch {
		case f.Type == "string":
			n.fail(f.Name, "an amount in major units is written as text", fmt.Sprintf("such as %q", example(digits)))
		case strings.HasPrefix(string(amount), "-"):
			n.fail(f.Name, "an amount has no sign", "")
		}
	case string:
		if f.Type == "integer" {
			n.fail(f.Name, fmt.Sprintf("%q is not a whole number of minor units of %s", amount, code), "4900.00 with two decimals is 490000")
			return
		}
		minor, err := Minor(amount, code)
		if err != nil {
			n.fail(f.Name, err.Error(), "")
			return
		}
		n.out[f.Name], _ = Major(minor, code)
	default:
		n.fail(f.Name, kindOf(v)+" is no amount", "")
	}
}
