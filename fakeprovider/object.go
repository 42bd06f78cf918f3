package fakeprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"unicode/utf8"
)

// member is one field of a JSON object, its value as it stood in the text.
type member struct {
	name  string
	value json.RawMessage
}

// parseObject reads one JSON object and nothing after it. A name that occurs twice is an error: the two readers of such a text could
// disagree about what was asked, and the ledger must not.
func parseObject(data []byte) ([]member, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the text is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("want one JSON object")
	}
	var members []member
	seen := map[string]bool{}
	for dec.More() {
		m, err := parseMember(dec)
		if err != nil {
			return nil, fmt.Errorf("malformed JSON: %w", err)
		}
		if seen[m.name] {
			return nil, fmt.Errorf("field %q occurs twice", m.name)
		}
		seen[m.name] = true
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("text follows the JSON object")
	}
	return members, nil
}

func parseMember(dec *json.Decoder) (member, error) {
	t, err := dec.Token()
	if err != nil {
		return member{}, err
	}
	name, ok := t.(string)
	if !ok {
		return member{}, fmt.Errorf("field name expected, found %v", t)
	}
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return member{}, err
	}
	return member{name, value}, nil
}

// canonicalText is equal for texts of equal JSON value: sorted names, no white space, every digit of a number kept.
func canonicalText(data []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	return string(encode(v)), nil
}

// encode writes JSON without the escapes meant for HTML, so that fields leave as they came. Everything it is given can be encoded.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("fakeprovider: value that is not JSON: %v", err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// encodeObject writes members in their order.
func encodeObject(members []member) []byte {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(encode(m.name))
		buf.WriteByte(':')
		buf.Write(m.value)
	}
	buf.WriteByte('}')
	return buf.Bytes()
}

// textOf is the value of a JSON string, or "" with false.
func textOf(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

func sortedNames(m map[string]json.RawMessage) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
