package strictyaml

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestScalarsAreWhatTheyLookLike(t *testing.T) {
	n, err := Parse("f.yaml", []byte("a: 817\nb: \"817\"\nc: true\nd: 2026-01-31\ne: 4900.00\nf: 9007199254740993\ng:\nh: yes\ni: |\n  two\n  lines\nj: {k: [1, x]}\nk: -1.5e3\nl: '0123'\nq: 1e3\nm: 12:30\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":817,"b":"817","c":true,"d":"2026-01-31","e":4900.00,"f":9007199254740993,"g":null,"h":"yes","i":"two\nlines\n","j":{"k":[1,"x"]},"k":-1.5e3,"l":"0123","m":"12:30","q":1e3}`
	if got := string(n.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "empty",
		"# only a comment\n":        "empty",
		"a: &x 1\nb: *x\n":          "f.yaml:1:4: anchors",
		"b: *x\n":                   "aliases",
		"a: !!str 1\n":              "tags",
		"a: {<<: {b: 1}}\n":         "merge",
		"a: 1\n---\nb: 2\n":         "document",
		"a: 1\nb: 2\na: 3\n":        "f.yaml:3:1",
		"a: 0123\n":                 "f.yaml:1:4",
		"a: 0x1F\n":                 "spelled",
		"a: 1_000\n":                "spelled",
		"a: .5\n":                   "spelled",
		"a: 1.\n":                   "spelled",
		"a: +5\n":                   "spelled",
		"a: .inf\n":                 "no number",
		"a: True\n":                 "true or false",
		"a: [1, 2\n":                "f.yaml",
		"a: 1\n b: 2\n":             "f.yaml",
		"a: \xff\n":                 "UTF-8",
		"a: \x00\n":                 "NUL",
		strings.Repeat("[", 200):    "deeper",
		"a: \"unterminated\nb: 1\n": "f.yaml",
	} {
		n, err := Parse("f.yaml", []byte(text))
		if err == nil {
			t.Errorf("%q: accepted as %s", text, n.JSON())
		} else if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.yaml") {
			t.Errorf("%q: error %q lacks %q", text, err, want)
		}
	}
}

// A bomb must be refused, not computed.
func TestBombs(t *testing.T) {
	deep := strings.Builder{}
	for i := range 500 {
		deep.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for name, data := range map[string][]byte{
		"brackets": bytes.Repeat([]byte("["), MaxSize),
		"braces":   bytes.Repeat([]byte("{a: "), MaxSize/4),
		"indents":  []byte(deep.String()),
		"dashes":   bytes.Repeat([]byte("- "), MaxSize/2),
		"aliases":  []byte("a: &a [x,x,x]\nb: &b [*a,*a]\n"),
		"quotes":   bytes.Repeat([]byte("'"), MaxSize-1),
	} {
		start := time.Now()
		if _, err := Parse("bomb", data); err == nil {
			t.Errorf("%s: accepted", name)
		}
		t.Logf("%s: %v", name, time.Since(start))
	}
}

func TestDecode(t *testing.T) {
	type inner struct {
		Wait Duration `yaml:"wait"`
	}
	type base struct {
		Name string `yaml:"name"`
	}
	type outer struct {
		base
		N     int              `yaml:"n"`
		On    *bool            `yaml:"on"`
		List  []string         `yaml:"list"`
		Inner map[string]inner `yaml:"inner"`
		Any   any              `yaml:"any"`
	}
	read := func(text string) (outer, error) {
		n, err := Parse("f.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var o outer
		return o, Decode(n, &o)
	}
	if _, err := read("n: 5\non: false\nlist: [a, b]\ninner: {x: {wait: 1d2h}}\nname: z\nany: {q: 1}\n"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"n: '5'\n":                   `f.yaml:1:4: a whole number is needed, not the text "5"`,
		"name: 817\n":                `f.yaml:1:7: a text is needed; write it in quotes: "817"`,
		"on: yes\n":                  `f.yaml:1:5: true or false is needed, not the text "yes"`,
		"m: 1\n":                     `f.yaml:1:1: unknown key "m"; known here: name, n, on, list, inner, any`,
		"inner: {x: {wait: 10}}\n":   "f.yaml:1:19: a duration is needed",
		"inner: {x: {wait: -5s}}\n":  "not a duration",
		"inner: {x: {wait: 1.5s}}\n": "not a duration",
		"list: a\n":                  "a list is needed",
		"n: 99999999999999999999\n":  "f.yaml:1:4: a whole number is needed",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: 1\nb: [x, {c: d}]\n"))
	f.Add([]byte("a: |\n  text\nb: \"q\"\n"))
	f.Add([]byte("- - -\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse("fuzz", data)
		if err == nil {
			n.JSON()
		}
	})
}
