package canonical

import (
	"slices"
	"strings"
)

// Role says what a field means for the sameness of two calls (DESIGN §3).
type Role string

const (
	Ordinary Role = ""         // part of the request; a change is a conflict
	Identity Role = "identity" // names the business thing
	Prose    Role = "prose"    // free text; a reworded repeat is a conflict to show
	Volatile Role = "volatile" // in neither hash nor journal
	Secret   Role = "secret"   // a reference, resolved at send time
)

// Field declares one argument of a tool.
type Field struct {
	Name     string
	Type     string // string, integer, number, boolean, array, object; empty: any
	Format   string // email, hostname, date, date-time, or empty
	Role     Role
	Money    string // the name of the field that holds the currency, or a fixed ISO 4217 code; empty: no money
	Set      bool   // the order of the array has no meaning
	Optional bool   // may be absent; null then means absent
	Nullable bool   // null is a value of its own
	Default  any    // filled in when absent; nil: none
}

// Shape declares the arguments of a tool.
type Shape struct {
	Fields []Field
	Open   bool // fields not declared are kept as they are (wrapped tools: their schema decides)
}

// Field returns the declaration of a name, or nil.
func (s Shape) Field(name string) *Field {
	if i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &s.Fields[i]
	}
	return nil
}

// HasIdentity reports whether the shape declares which fields name the business thing.
func (s Shape) HasIdentity() bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Role == Identity })
}

// HasMoney reports whether a field is an amount of money.
func (s Shape) HasMoney() bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Money != "" })
}

// isCurrency reports whether a money field names this field as the holder of its currency.
func (s Shape) isCurrency(name string) bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Money == name })
}

// Currency is the ISO code that belongs to a money field in these arguments.
func (s Shape) Currency(f Field, args map[string]any) string {
	if s.Field(f.Money) == nil {
		return f.Money
	}
	code, _ := args[f.Money].(string)
	return code
}

// Hashed is what of normalised arguments goes into the request hash: without volatile fields, texts composed (NFC), sets
// sorted, exact money in minor units.
func (s Shape) Hashed(args map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(args))
	for name, v := range args {
		f := s.Field(name)
		if f == nil {
			f = &Field{}
		}
		if f.Role == Volatile {
			continue
		}
		form, err := s.hashForm(*f, v, args)
		if err != nil {
			return nil, err
		}
		out[NFC(name)] = form
	}
	return out, nil
}

// hashForm is what stands for one field in the request hash.
func (s Shape) hashForm(f Field, v any, args map[string]any) (any, error) {
	if text, ok := v.(string); ok && f.Money != "" {
		return Minor(text, s.Currency(f, args))
	}
	v = composed(v)
	list, ok := v.([]any)
	if !ok || !f.Set {
		return v, nil
	}
	keys := make(map[string]any, len(list))
	for _, e := range list {
		b, err := Bytes(e)
		if err != nil {
			return nil, err
		}
		keys[string(b)] = e
	}
	sorted := make([]any, 0, len(keys)) // a set: an element that stands twice counts once
	for _, k := range sortedNames(keys) {
		sorted = append(sorted, keys[k])
	}
	return sorted, nil
}

func composed(v any) any {
	switch v := v.(type) {
	case string:
		return NFC(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = composed(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[NFC(name)] = composed(e)
		}
		return out
	}
	return v
}

// Identity is the folded identity of normalised arguments: every identity field by name, an absent one as nil. Without
// declared identity it is all that is hashed, unfolded.
func (s Shape) Identity(args map[string]any) (map[string]any, error) {
	hashed, err := s.Hashed(args)
	if err != nil || !s.HasIdentity() {
		return hashed, err
	}
	out := map[string]any{}
	for _, f := range s.Fields {
		if f.Role == Identity {
			out[f.Name] = Folded(hashed[f.Name])
		}
	}
	return out, nil
}

// Folded is a value with every text in it folded, as identities are compared.
func Folded(v any) any {
	switch v := v.(type) {
	case string:
		return Fold(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Folded(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = Folded(e)
		}
		return out
	}
	return v
}

// IsShort reports whether a re-planning model hardly rewords a value: numbers, booleans, one-line texts of up to 64 characters,
// and up to 1,024 when they hold no white space (DESIGN §3).
func IsShort(v any) bool {
	switch v := v.(type) {
	case Number, bool:
		return true
	case string:
		n := len([]rune(v))
		return !strings.ContainsAny(v, "\n\r") && n <= 64 || n <= 1024 && !strings.ContainsAny(v, " \t\n\r")
	}
	return false
}

// Suspicious returns the identity, email or hostname field in which two scripts are mixed inside one word, and the word:
// it may be a look-alike, so a person looks first.
func (s Shape) Suspicious(args map[string]any) (field, word string) {
	for _, f := range s.Fields {
		if f.Role != Identity && f.Format != "email" && f.Format != "hostname" {
			continue
		}
		if text, ok := args[f.Name].(string); ok {
			if word, mixed := MixedScripts(text); mixed {
				return f.Name, word
			}
		}
	}
	return "", ""
}

// Differs names the fields in which two argument maps differ in their hashed form, sorted.
func (s Shape) Differs(a, b map[string]any) []string {
	x, errX := s.Hashed(a)
	y, errY := s.Hashed(b)
	if errX != nil || errY != nil {
		return []string{"?"}
	}
	names := map[string]bool{}
	for n := range x {
		names[n] = true
	}
	for n := range y {
		names[n] = true
	}
	var out []string
	for _, n := range sortedNames(names) {
		v, inX := x[n]
		w, inY := y[n]
		if inX != inY || !Equal(v, w) {
			out = append(out, n)
		}
	}
	return out
}
