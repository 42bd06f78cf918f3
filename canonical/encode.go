package canonical

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Bytes is the canonical JSON text of a value: names ordered and texts escaped as RFC 8785 says, with one difference:
// integers keep every digit, also beyond 2^53, where the RFC would round them (two amounts, one hash). Other numbers take
// the RFC's shortest form. Objects may also be map[string]string, lists []string, and integers int or int64.
//
// Error: a value of another type, invalid UTF-8, a Number that is none or that the shortest form would change (1e400).
func Bytes(v any) ([]byte, error) {
	if err := exact(v); err != nil {
		return nil, err
	}
	raw, err := Plain(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(raw)
	if err := value.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return value, nil
}

// exact refuses numbers that would lose digits: two different numbers must never share a form.
func exact(v any) error {
	switch v := v.(type) {
	case Number:
		if !v.Exact() {
			return fmt.Errorf("canonical form: the number %s cannot be kept exactly", v)
		}
	case []any:
		for _, e := range v {
			if err := exact(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := exact(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// MustBytes is Bytes for values that this program built itself; it panics on an error.
func MustBytes(v any) []byte {
	b, err := Bytes(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Plain is a JSON text of a value in which numbers stand exactly as they were spelled. The order of names is sorted, so
// that equal values give equal texts; it is what goes on the wire.
func Plain(v any) ([]byte, error) { return appendValue(nil, v) }

func appendValue(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return fmt.Append(b, v), nil
	case int:
		return fmt.Append(b, v), nil
	case int64:
		return fmt.Append(b, v), nil
	case Number:
		if !isNumber(string(v)) {
			return nil, fmt.Errorf("canonical form: %q is no JSON number", string(v))
		}
		return append(b, v...), nil
	case string:
		return jsontext.AppendQuote(b, v)
	case []string:
		return appendList(b, len(v), func(i int) any { return v[i] })
	case []any:
		return appendList(b, len(v), func(i int) any { return v[i] })
	case map[string]string:
		b, err = appendObject(b, sortedNames(v), func(name string) any { return v[name] })
	case map[string]any:
		b, err = appendObject(b, sortedNames(v), func(name string) any { return v[name] })
	default:
		return nil, fmt.Errorf("canonical form: a %T is no JSON value", v)
	}
	return b, err
}

func appendList(b []byte, n int, at func(int) any) ([]byte, error) {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, at(i)); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, names []string, at func(string) any) ([]byte, error) {
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, name); err != nil {
			return nil, err
		}
		b = append(b, ':')
		if b, err = appendValue(b, at(name)); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// Equal reports whether two values have one canonical form; a value without one equals nothing.
func Equal(a, b any) bool {
	x, errX := Bytes(a)
	y, errY := Bytes(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
