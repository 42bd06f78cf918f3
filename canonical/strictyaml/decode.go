package strictyaml

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"notwice/canonical"
)

// Unmarshaler is a type that reads its own node.
type Unmarshaler interface{ UnmarshalNode(*Node) error }

// Duration is a length of time as people write it: 10s, 15m, 24h, 7d, 1h30m.
type Duration time.Duration

// UnmarshalNode reads a duration.
func (d *Duration) UnmarshalNode(n *Node) error {
	text, ok := n.Value.(string)
	if !ok {
		return n.Errorf("a duration is needed, such as 10s, 15m, 24h or 7d")
	}
	v, err := ParseDuration(text)
	if err != nil {
		return n.Errorf("%v", err)
	}
	*d = Duration(v)
	return nil
}

// ParseDuration reads 10s, 15m, 24h, 7d, 1h30m, 100ms. No sign, at most 100 years.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration; write it like 10s, 15m, 24h, 7d or 1h30m", text)
	rest, total := text, time.Duration(0)
	if days, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > 36500 {
			return 0, bad
		}
		total, rest = time.Duration(n)*24*time.Hour, after
	}
	if strings.ContainsAny(rest, "+-.") || (rest == "" && total == 0 && text != "0d") {
		return 0, bad
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > 36500*24*time.Hour {
			return 0, bad
		}
		total += d
	}
	return total, nil
}

// Decode fills out, a pointer, from a node; keys that the node does not name keep their value. Struct fields bear the tag yaml:"name"; a key that no field bears is an error
// with its place. Supported: string, bool, integers, canonical.Number, pointers, slices, maps with text keys, structs,
// embedded structs (their keys stand beside), Unmarshaler, *Node (the node itself), and any (nil, bool, string, canonical.Number, []any,
// map[string]any).
func Decode(n *Node, out any) error {
	return decode(n, reflect.ValueOf(out).Elem())
}

func decode(n *Node, v reflect.Value) error {
	if v.Type() == reflect.TypeFor[*Node]() {
		v.Set(reflect.ValueOf(n))
		return nil
	}
	if u, ok := v.Addr().Interface().(Unmarshaler); ok {
		return u.UnmarshalNode(n)
	}
	if v.Type() == reflect.TypeFor[canonical.Number]() {
		num, ok := n.Value.(canonical.Number)
		if !ok {
			return n.Errorf("a number is needed")
		}
		v.Set(reflect.ValueOf(num))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer: // what the value holds already stays where the file says nothing; the old pointee is not touched
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		v.Set(fresh)
		return decode(n, v.Elem())
	case reflect.Interface:
		v.Set(reflect.ValueOf(&[]any{n.Any()}[0]).Elem())
		return nil
	case reflect.Struct:
		return decodeStruct(n, v)
	case reflect.Slice:
		return decodeList(n, v)
	case reflect.Map:
		return decodeMap(n, v)
	}
	return decodeScalar(n, v)
}

func decodeScalar(n *Node, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		text, ok := n.Value.(string)
		if !ok {
			return n.Errorf("a text is needed%s", quoted(n))
		}
		v.SetString(text)
	case reflect.Bool:
		b, ok := n.Value.(bool)
		if !ok {
			return n.Errorf("true or false is needed%s", bare(n))
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		num, ok := n.Value.(canonical.Number)
		i, err := strconv.ParseInt(string(num), 10, 64)
		if !ok || err != nil {
			return n.Errorf("a whole number is needed%s", bare(n))
		}
		v.SetInt(i)
	default:
		return fmt.Errorf("strictyaml: cannot decode into %s", v.Type())
	}
	return nil
}

func quoted(n *Node) string {
	if n.Kind != Scalar || n.Value == nil {
		return ""
	}
	return fmt.Sprintf("; write it in quotes: \"%v\"", n.Value)
}

func bare(n *Node) string {
	if text, ok := n.Value.(string); ok && text != "" && len(text) < 40 {
		return fmt.Sprintf(", not the text %q", text)
	}
	return ""
}

func decodeStruct(n *Node, v reflect.Value) error {
	if n.Kind != Map {
		return n.Errorf("a map of keys is needed")
	}
	fields := map[string]reflect.Value{}
	collect(v, fields)
	for i, key := range n.Keys {
		f, ok := fields[key]
		if !ok {
			return n.Names[i].Errorf("unknown key %q; known here: %s", key, strings.Join(known(v.Type()), ", "))
		}
		if err := decode(n.Values[i], f); err != nil {
			return err
		}
	}
	return nil
}

func collect(v reflect.Value, fields map[string]reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("yaml") == "" {
			collect(v.Field(i), fields)
		} else if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			fields[name] = v.Field(i)
		}
	}
}

func known(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("yaml") == "" {
			names = append(names, known(f.Type)...)
		} else if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func decodeList(n *Node, v reflect.Value) error {
	if n.Kind != List {
		return n.Errorf("a list is needed")
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if err := decode(item, list.Index(i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func decodeMap(n *Node, v reflect.Value) error {
	if n.Kind != Map {
		return n.Errorf("a map of keys is needed")
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.Keys))
	for i, key := range n.Keys {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := decode(n.Values[i], e); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), e)
	}
	v.Set(m)
	return nil
}

// Any is the node as a plain value, for canonical.Plain and canonical.Bytes.
func (n *Node) Any() any {
	switch n.Kind {
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Any()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Keys))
		for i, key := range n.Keys {
			m[key] = n.Values[i].Any()
		}
		return m
	}
	return n.Value
}

// JSON is the node as a JSON text, numbers digit by digit.
func (n *Node) JSON() []byte {
	b, err := canonical.Plain(n.Any())
	if err != nil {
		panic(err) // every value of a node has a JSON text
	}
	return b
}
