package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of one JSON text (DESIGN §4).
const (
	MaxDepth       = 64
	MaxSize        = 1 << 20
	MaxWrappedSize = 16 << 20 // arguments of a wrapped tool, whose schema decides on extra fields
)

// Number is a JSON number as it was spelled: every digit is kept.
type Number string

// A value is nil, bool, string, Number, []any or map[string]any.

// Parse reads one JSON text of at most MaxSize bytes strictly: valid UTF-8, no duplicate names, no trailing text, depth at
// most MaxDepth.
func Parse(text []byte) (any, error) { return ParseLimit(text, MaxSize) }

// ParseLimit is Parse with another limit in bytes.
func ParseLimit(text []byte, limit int) (any, error) {
	if len(text) > limit {
		return nil, problem("", fmt.Sprintf("the text is %d bytes long, more than %d", len(text), limit), "")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, problem("", "the text is empty", "a JSON value is needed")
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := readValue(d)
	if err != nil {
		return nil, explain(err, text)
	}
	end := d.InputOffset()
	if _, err := d.ReadToken(); err != io.EOF {
		if rest := bytes.TrimSpace(text[end:]); len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') {
			return nil, problem("", "the text holds more than one JSON value", "make one call for each")
		}
		return nil, problem("", fmt.Sprintf("there is text behind the JSON value, at byte %d", end), "")
	}
	return v, nil
}

// ParseObject is Parse for a text that must hold an object.
func ParseObject(text []byte) (map[string]any, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, problem("", "the text holds "+kindOf(v)+", not an object", `such as {"order_id":"817"}`)
	}
	return o, nil
}

var errDeep = errors.New("nested deeper than 64")

func readValue(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return Number(t.String()), nil
	case '[':
		if d.StackDepth() > MaxDepth {
			return nil, errDeep
		}
		return readList(d)
	default:
		if d.StackDepth() > MaxDepth {
			return nil, errDeep
		}
		return readObject(d)
	}
}

func readList(d *jsontext.Decoder) (any, error) {
	list := []any{}
	for d.PeekKind() != ']' {
		v, err := readValue(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.ReadToken()
	return list, err
}

func readObject(d *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the next read: the token's memory is the decoder's
		if object[key], err = readValue(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func explain(err error, text []byte) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errDeep):
		return problem("", "the text is nested deeper than 64", "")
	case errors.Is(err, jsontext.ErrDuplicateName):
		if errors.As(err, &syntax) {
			return problem(pointerPath(string(syntax.JSONPointer)), "the name stands twice in one object", "")
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem("", fmt.Sprintf("the JSON text ends in the middle, after %d bytes", len(text)), "")
	}
	if errors.As(err, &syntax) {
		return problem(pointerPath(string(syntax.JSONPointer)), fmt.Sprintf("not valid JSON at byte %d: %v", syntax.ByteOffset, syntax.Err), "")
	}
	return problem("", "not valid JSON: "+err.Error(), "")
}

func pointerPath(pointer string) string {
	path := strings.TrimPrefix(pointer, "/")
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(path, "/", "."), "~1", "/"), "~0", "~")
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a %T", v)
}
