package canonical

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

// The vector files can be replayed in any language: inputs, canonical bytes, hashes. Their hashes were computed by another
// program.
func load(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestHashVectors(t *testing.T) {
	var v struct {
		Requests []struct{ Name, Account, Action, Args, Canonical, Hash string }
		Intents  []struct {
			Name, Account, Action, Canonical, Hash string
			Scope                                  []json.RawMessage
			Identity                               map[string]any
			Seq                                    int
		}
		Numbers []struct {
			Key, Number string
			Registered  time.Time
		}
	}
	load(t, "hashes.json", &v)
	for _, c := range v.Requests {
		args, err := ParseObject([]byte(c.Args))
		if err != nil {
			t.Fatal(err)
		}
		got := MustBytes(map[string]any{"v": 1, "account": c.Account, "action": c.Action, "args": args})
		hash, err := RequestHash(c.Account, c.Action, args)
		if string(got) != c.Canonical || string(hash) != c.Hash || err != nil {
			t.Errorf("%s: %s %s %v", c.Name, got, hash, err)
		}
	}
	for _, c := range v.Intents {
		var scope []any
		for _, raw := range c.Scope {
			e, err := Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			scope = append(scope, e)
		}
		if hash, err := IntentHash(c.Account, c.Action, scope, c.Identity, c.Seq); string(hash) != c.Hash || err != nil {
			t.Errorf("%s: %s %v", c.Name, hash, err)
		}
	}
	for _, c := range v.Numbers {
		if got := OperationNumber(c.Key, c.Registered); got != c.Number {
			t.Errorf("%s: %s, want %s", c.Key, got, c.Number)
		}
	}
}

func TestFormVectors(t *testing.T) {
	var v struct {
		Forms   []struct{ Name, In, Canonical string }
		Refused []struct{ Name, In string }
	}
	load(t, "forms.json", &v)
	for _, c := range v.Forms {
		x, err := Parse([]byte(c.In))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if got := string(MustBytes(x)); got != c.Canonical {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Canonical)
		}
	}
	for _, c := range v.Refused {
		x, err := Parse([]byte(c.In))
		if err == nil {
			_, err = Bytes(x)
		}
		if err == nil {
			t.Errorf("%s: %q was accepted", c.Name, c.In)
		}
	}
	if _, err := Parse([]byte("\"\xff\"")); err == nil {
		t.Error("invalid UTF-8 was accepted")
	}
	if _, err := Parse(make([]byte, MaxSize+1)); err == nil {
		t.Error("a text over the limit was accepted")
	}
}

func TestMoneyVectors_Case065_Case067(t *testing.T) {
	var v struct {
		Minor   []struct{ Amount, Currency, Minor string }
		Refused []struct{ Amount, Currency string }
	}
	load(t, "money.json", &v)
	for _, c := range v.Minor {
		got, err := Minor(c.Amount, c.Currency)
		if string(got) != c.Minor || err != nil {
			t.Errorf("%s %s: %s %v", c.Amount, c.Currency, got, err)
		}
		major, err := Major(got, c.Currency)
		if back, err2 := Minor(major, c.Currency); err != nil || err2 != nil || back != got {
			t.Errorf("%s %s: back as %s %s", c.Amount, c.Currency, major, back)
		}
	}
	for _, c := range v.Refused {
		if got, err := Minor(c.Amount, c.Currency); err == nil {
			t.Errorf("%q %s: accepted as %s", c.Amount, c.Currency, got)
		}
	}
}

// Every cent from 0.01 to 100.00, exactly.
func TestEveryCent_Case062(t *testing.T) {
	shape := Shape{Fields: []Field{{Name: "amount", Type: "string", Money: "USD"}}}
	for cents := 1; cents <= 10000; cents++ {
		text := fmt.Sprintf("%d.%02d", cents/100, cents%100)
		if got, err := Minor(text, "USD"); err != nil || string(got) != fmt.Sprint(cents) {
			t.Fatalf("%s: %s %v", text, got, err)
		}
		if _, err := shape.Normalize(map[string]any{"amount": Number(text)}); err == nil {
			t.Fatalf("%s as a JSON number was accepted", text)
		}
	}
}

// Ten thousand yen are shown and sent as "10000", not as a hundredth.
func TestYenHasNoMinorUnit_Case066(t *testing.T) {
	if got, err := Major("10000", "JPY"); got != "10000" || err != nil {
		t.Errorf("%s %v", got, err)
	}
	if got, err := Major("5", "KWD"); got != "0.005" || err != nil {
		t.Errorf("%s %v", got, err)
	}
}
