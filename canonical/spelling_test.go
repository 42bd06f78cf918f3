package canonical

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// respell writes a value as nobody would: keys from the end, white space everywhere, every letter escaped, numbers with a tail.
func respell(b *strings.Builder, v any) {
	b.WriteString(" \n\t")
	switch v := v.(type) {
	case nil, bool:
		b.WriteString(map[any]string{nil: "null", true: "true", false: "false"}[v])
	case string:
		b.WriteString(`"`)
		for _, unit := range utf16.Encode([]rune(v)) {
			fmt.Fprintf(b, `\u%04X`, unit)
		}
		b.WriteString(`"`)
	case Number:
		switch text := string(v); {
		case strings.ContainsAny(text, "eE") || len(text) > 15: // longer ones are kept only as they stand
			b.WriteString(text)
		case strings.Contains(text, "."):
			b.WriteString(text + "00")
		default:
			b.WriteString(text + ".0E+0")
		}
	case []any:
		b.WriteString("[")
		for i, x := range v {
			if i > 0 {
				b.WriteString(",")
			}
			respell(b, x)
		}
		b.WriteString("\r]")
	case map[string]any:
		b.WriteString("{")
		names := slices.Sorted(maps.Keys(v))
		slices.Reverse(names)
		for i, name := range names {
			if i > 0 {
				b.WriteString(" ,")
			}
			respell(b, name)
			b.WriteString(" :")
			respell(b, v[name])
		}
		b.WriteString("}")
	default:
		panic(fmt.Sprintf("%T", v))
	}
	b.WriteString(" ")
}

// The same value in other letters has the same canonical form.
func FuzzSpelling(f *testing.F) {
	f.Add(`{"b":[1,2.5,"x"],"a":null,"c":{"z":true,"y":false}}`)
	f.Add(`{"order_id":"817","amount_minor":490000,"currency":"RUB","note":"é😀\u0000"}`)
	f.Add(`[9007199254740993,-0.10,1e2,0,-0,{}]`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse([]byte(text))
		if err != nil {
			return
		}
		form, err := Bytes(v)
		if err != nil {
			return
		}
		var b strings.Builder
		respell(&b, v)
		w, err := Parse([]byte(b.String()))
		if err != nil {
			return // longer or deeper than is read
		}
		if again, err := Bytes(w); err != nil || string(again) != string(form) {
			t.Fatalf("%s is %s, and written as %s it is %s (%v)", text, form, b.String(), again, err)
		}
	})
}
