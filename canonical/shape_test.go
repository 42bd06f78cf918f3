package canonical

import (
	"strings"
	"testing"
)

var payment = Shape{Fields: []Field{
	{Name: "order_id", Type: "string", Role: Identity},
	{Name: "amount_minor", Type: "integer", Money: "currency"},
	{Name: "currency", Type: "string"},
	{Name: "note", Type: "string", Role: Prose, Optional: true},
	{Name: "labels", Type: "array", Set: true, Optional: true},
	{Name: "items", Type: "array", Optional: true},
	{Name: "customer", Type: "object", Optional: true},
	{Name: "due", Type: "string", Format: "date", Optional: true},
	{Name: "at", Type: "string", Format: "date-time", Optional: true},
	{Name: "email", Type: "string", Format: "email", Optional: true},
	{Name: "share", Type: "number", Optional: true},
	{Name: "device", Type: "string", Role: Volatile, Optional: true},
}}

// hash is the request hash of an argument text, or the error.
func hash(t *testing.T, text string) (Hash, error) {
	t.Helper()
	args, err := ParseObject([]byte(text))
	if err != nil {
		return "", err
	}
	if args, err = payment.Normalize(args); err != nil {
		return "", err
	}
	hashed, err := payment.Hashed(args)
	if err != nil {
		return "", err
	}
	return RequestHash("@fake", "pay", hashed)
}

func with(extra string) string {
	if extra != "" {
		extra = "," + extra
	}
	return `{"order_id":"817","amount_minor":490000,"currency":"RUB"` + extra + `}`
}

func same(t *testing.T, a, b string, want bool) {
	t.Helper()
	x, errX := hash(t, a)
	y, errY := hash(t, b)
	if errX != nil || errY != nil {
		t.Errorf("%v, %v", errX, errY)
	} else if (x == y) != want {
		t.Errorf("same is %v, want %v:\n  %s\n  %s", x == y, want, a, b)
	}
}

func refused(t *testing.T, text, want string) {
	t.Helper()
	if _, err := hash(t, text); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\n  got  %v\n  want %q", text, err, want)
	}
}

func TestOrderOfNames_Case046(t *testing.T) {
	same(t, with(`"customer":{"name":"Ada","city":"London"}`), `{"customer":{"city":"London","name":"Ada"},"currency":"RUB","amount_minor":490000,"order_id":"817"}`, true)
}

func TestOrderOfLists_Case047(t *testing.T) {
	same(t, with(`"items":["A","B"]`), with(`"items":["B","A"]`), false)
	same(t, with(`"items":[{"sku":1,"qty":2},{"sku":2,"qty":1}]`), with(`"items":[{"sku":2,"qty":1},{"sku":1,"qty":2}]`), false)
	same(t, with(`"labels":["A","B"]`), with(`"labels":["B","A"]`), true)
	same(t, with(`"labels":["A","B"]`), with(`"labels":["A"]`), false)
}

func TestLongIntegers_Case050_Case051(t *testing.T) {
	same(t, with(`"items":[2512292042121000001]`), with(`"items":[2512292042121000002]`), false)
	same(t, strings.Replace(with(""), "490000", "10000000000000001", 1), strings.Replace(with(""), "490000", "10000000000000002", 1), false)
	refused(t, strings.Replace(with(""), "490000", "1e16", 1), "not spelled as a whole number")
	refused(t, strings.Replace(with(""), "490000", "490000.0", 1), "not spelled as a whole number")
}

func TestNullAndAbsent_Case054(t *testing.T) {
	same(t, with(`"note":null`), with(""), true)
	refused(t, strings.Replace(with(""), `"817"`, "null", 1), "order_id: missing")
}

func TestEmptyAndNullTexts_Case055(t *testing.T) {
	same(t, with(`"note":""`), with(""), false) // a value of its own: a conflict at worst, never a new operation
	for _, word := range []string{"null", "None", "undefined"} {
		refused(t, with(`"note":"`+word+`"`), "leave the field out")
	}
}

func TestNamesAreComparedWithCase_Case056(t *testing.T) {
	refused(t, with(`"Amount_Minor":1`), "Amount_Minor: unknown field (names are compared with their case; known is amount_minor)")
}

func TestComposedTexts_Case058(t *testing.T) {
	same(t, with(`"note":"Андре\u0439 не может войти"`), with(`"note":"Андре\u0438\u0306 не может войти"`), true)
	args, _ := ParseObject([]byte(with(`"note":"\u0438\u0306"`)))
	args, _ = payment.Normalize(args)
	if args["note"] != "\u0438\u0306" {
		t.Error("the wire must carry what was given")
	}
}

func TestInvisibleCharacters_Case060(t *testing.T) {
	refused(t, with(`"email":"ada@exa\u200bmple.test"`), "U+200B")
	refused(t, with(`"email":"ada@example.test\u00a0"`), "U+00A0")
	refused(t, strings.Replace(with(""), "817", "817\\u202e", 1), "U+202E")
}

func TestEmptyIdentity_Case073_Case079_Case080(t *testing.T) {
	for _, bad := range []string{`""`, `"   "`, `"\t"`} {
		refused(t, strings.Replace(with(""), `"817"`, bad, 1), "order_id")
	}
	long := `{"order_id":"` + strings.Repeat("é", 1<<20) + `","amount_minor":1,"currency":"RUB"}`
	refused(t, long, "bytes long")
	if h, err := hash(t, strings.Replace(with(""), "817", strings.Repeat("x", 40<<10), 1)); err != nil || len(h) != 64 {
		t.Errorf("forty kilobytes of identity must be a hash like any other: %v", err)
	}
}

func TestCoercion(t *testing.T) {
	same(t, strings.Replace(with(""), "490000", `"490000"`, 1), with(""), true)
	same(t, with(`"items":"[1,2]"`), with(`"items":[1,2]`), true)
	same(t, strings.Replace(with(""), "RUB", "rub", 1), with(""), true)
	same(t, with(`"at":"2026-01-31T10:00:00+03:00"`), with(`"at":"2026-01-31T07:00:00Z"`), true)
	same(t, with(`"device":"a"`), with(`"device":"b"`), true)
	refused(t, strings.Replace(with(""), "490000", `"4900.00"`, 1), "minor units")
	refused(t, with(`"due":"31.01.2026"`), "not a date")
	refused(t, with(`"at":"2026-01-31T10:00:00"`), "with its zone")
}

func TestFoldAndScripts(t *testing.T) {
	for _, s := range []string{"ADA@Example.test", " ada@example.test ", "ａｄａ@example.test"} {
		if Fold(s) != "ada@example.test" {
			t.Errorf("%q folds to %q", s, Fold(s))
		}
	}
	for s, want := range map[string]bool{"Счёт INV-817": false, "pаypal": true, "paypal": false, "東京タワー": false, "Müller": false, "817": false, "αbc": true} {
		if _, got := MixedScripts(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestShortFields(t *testing.T) {
	for want, values := range map[bool][]any{
		true:  {"short one", strings.Repeat("x", 1000), Number("5"), true, strings.Repeat("ж", 1024)},
		false: {strings.Repeat("long text ", 20), strings.Repeat("x", 1025), "two\nlines", []any{"a"}, nil, map[string]any{}},
	} {
		for _, v := range values {
			if IsShort(v) != want {
				t.Errorf("%v: short %v", v, !want)
			}
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add(`{"b":[1,2.5,"x"],"a":null}`)
	f.Add(`{"order_id":"817","amount_minor":490000,"currency":"RUB","note":"é"}`)
	f.Add(`[9007199254740993,1e2,"\u20ac"]`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse([]byte(text))
		if err != nil {
			return
		}
		b, err := Bytes(v)
		if err != nil {
			return
		}
		again, err := Parse(b)
		if err != nil {
			t.Fatalf("the canonical form %s cannot be read: %v", b, err)
		}
		if c, err := Bytes(again); err != nil || string(c) != string(b) {
			t.Fatalf("not stable: %s, then %s (%v)", b, c, err)
		}
		plain, err := Plain(v)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := Parse(plain); err != nil || !Equal(v, w) {
			t.Fatalf("the wire form %s is another value (%v)", plain, err)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	f.Add(`{"order_id":"817","amount_minor":"490000","currency":"rub","labels":["b","a","b"],"at":"2026-01-31T10:00:00+03:00"}`)
	f.Add(`{"order_id":" ","items":"[1]","note":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		args, err := ParseObject([]byte(text))
		if err != nil {
			return
		}
		once, err := payment.Normalize(args)
		if err != nil {
			return
		}
		twice, err := payment.Normalize(once)
		if err != nil || !Equal(once, twice) {
			t.Fatalf("not idempotent: %v, then %v (%v)", once, twice, err)
		}
		if _, err := payment.Hashed(once); err == nil {
			if _, err := payment.Identity(once); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzMoney(f *testing.F) {
	f.Add("4900.00", "RUB")
	f.Add("1.234", "KWD")
	f.Fuzz(func(t *testing.T, amount, code string) {
		minor, err := Minor(amount, code)
		if err != nil {
			return
		}
		major, err := Major(minor, code)
		if err != nil {
			t.Fatal(err)
		}
		if CompareDecimal(amount, major) != 0 {
			t.Fatalf("%s %s became %s", amount, code, major)
		}
	})
}
