package fakeprovider

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestHonouredKey(t *testing.T) {
	w := newWorld(t, Options{ForgetAfter: time.Hour})
	first := w.post("/payments", "k", order817).want(t, 201)
	spaced := strings.NewReplacer(",", " ,\n ", ":", " : ").Replace(order817)
	if again := w.post("/payments", "k", spaced).want(t, 201); again.body != first.body || replayed(again) == "" {
		t.Error("not replayed", again.body)
	}
	if r := w.post("/payments", "k", order818).want(t, 409); r.code(t) != "key_reused" {
		t.Error(r.body)
	}
	digits := strings.Replace(order817, "490000", "490000.0", 1)
	if r := w.post("/payments", "k", digits).want(t, 409); r.code(t) != "key_reused" {
		t.Error("digits are not compared", r.body)
	}
	w.post("/payments/cancel", "k", `{"order_id":"817"}`).want(t, 201) // another action, another key
	w.count(2, 5, 0)
	w.clock.Advance(time.Hour - 1)
	w.post("/payments", "k", order817).want(t, 201)
	w.count(2, 6, 0)
	w.clock.Advance(1)
	if r := w.post("/payments", "k", order817).want(t, 201); replayed(r) != "" {
		t.Error("not forgotten")
	}
	w.count(3, 7, 0)
	if r := w.post("/payments", "k", order817).want(t, 201); replayed(r) == "" {
		t.Error("the new record is not remembered")
	}
}

func TestRefusalsAreRememberedMalformedOnesAreNot(t *testing.T) {
	w := newWorld(t, Options{})
	if r := w.post("/payments", "k", `{"order_id":"817"}`).want(t, 422); r.code(t) != "invalid" {
		t.Error(r.body)
	}
	if r := w.post("/payments", "k", `{"order_id":"817"}`).want(t, 422); replayed(r) == "" {
		t.Error("not replayed")
	}
	if r := w.post("/payments", "k", order817).want(t, 409); r.code(t) != "key_reused" {
		t.Error(r.body)
	}
	w.post("/payments", "m", `{"order_id":`).want(t, 400)
	w.post("/payments", "m", order817).want(t, 201)
	w.count(1, 5, 0)
}

func TestIgnoredKeyIsStoredButExecutes(t *testing.T) {
	w := newWorld(t, Options{Key: "ignored"})
	w.post("/payments", "k", order817).want(t, 201)
	w.post("/payments", "k", order817).want(t, 201)
	if ids, _ := w.get("/payments?key=k").ids(t); len(ids) != 2 {
		t.Error(ids)
	}
	w.count(2, 2, 1)
}

func TestNoKeyIsNotRead(t *testing.T) {
	w := newWorld(t, Options{Key: "none"})
	if r := w.post("/payments", "k", order817).want(t, 201); r.field(t, "key") != "" {
		t.Error(r.body)
	}
	w.post("/payments", "k", order817).want(t, 201)
	if ids, _ := w.get("/payments?key=k").ids(t); len(ids) != 0 {
		t.Error(ids)
	}
	if e := w.effects(); len(e) != 2 || e[0].Key != "" {
		t.Error(e)
	}
}

func TestKeyFaults(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("/payments", "k", order817).want(t, 201)
	w.arm(`{"do":"ignore_key"}`)
	if len(w.Unstruck()) != 1 {
		t.Error("struck before any write")
	}
	w.post("/payments", "k", order817).want(t, 201)
	w.count(2, 2, 0)
	w.ClearFaults()
	w.post("/payments", "k", order817).want(t, 201)
	w.count(2, 3, 0)
	w.arm(`{"do":"forget_key","after":"10m"}`)
	w.post("/payments", "k", order817).want(t, 201)
	w.count(2, 4, 0)
	w.clock.Advance(10 * time.Minute)
	w.post("/payments", "k", order817).want(t, 201)
	w.count(3, 5, 0)
	if len(w.Unstruck()) != 0 {
		t.Error(w.Unstruck())
	}
}

// One key from many clients is one effect, also when two servers share the folder.
func TestOneKeyManyClients(t *testing.T) {
	dir := t.TempDir()
	worlds := []*world{newWorld(t, Options{Dir: dir}), newWorld(t, Options{Dir: dir})}
	var wait sync.WaitGroup
	bodies := make([]string, 16)
	for i := range bodies {
		wait.Go(func() {
			r := worlds[i%2].post("/payments", "k", order817)
			bodies[i] = fmt.Sprint(r.status, r.body)
		})
	}
	wait.Wait()
	for _, b := range bodies {
		if b != bodies[0] || !strings.HasPrefix(b, "201") {
			t.Errorf("%s differs from %s", b, bodies[0])
		}
	}
	for _, w := range worlds {
		w.count(1, 8, 0)
	}
}

func TestManyKeysManyClientsSharedFolder(t *testing.T) {
	dir := t.TempDir()
	worlds := []*world{newWorld(t, Options{Dir: dir}), newWorld(t, Options{Dir: dir})}
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() { worlds[i%2].post("/payments", fmt.Sprint("k", i/2), order817) })
	}
	wait.Wait()
	effects := worlds[0].effects()
	ids := map[string]bool{}
	for _, e := range effects {
		ids[e.ID] = true
	}
	if len(effects) != 8 || len(ids) != 8 {
		t.Errorf("%d effects with %d ids, want 8", len(effects), len(ids))
	}
	if ids, _ := worlds[1].get("/payments").ids(t); len(ids) != 8 {
		t.Error(ids)
	}
}

func TestLedgerOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(Options{Dir: dir, Clock: newManualClock()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, s, newManualClock(), newWorld(t, Options{}).client}
	body := `{"order_id":"1","amount_minor":12345678901234567890123,"currency":"RUB","note":"<&>  ","extra":{"b":1.50,"a":[1e2]}}`
	first := w.post("/payments", "k", body).want(t, 201)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".tmp-dead"), []byte(`{"v":1,"eff`), 0o600); err != nil {
		t.Fatal(err)
	}
	w2 := newWorld(t, Options{Dir: dir})
	if r := w2.post("/payments", "k", body).want(t, 201); r.body != first.body || replayed(r) == "" {
		t.Error(r.body, first.body)
	}
	for name, want := range map[string]string{"amount_minor": "12345678901234567890123", "note": `"<&>  "`, "extra": `{"b":1.50,"a":[1e2]}`} {
		if got := first.field(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
		if got := string(w2.effects()[0].Fields[name]); got != want {
			t.Errorf("in the ledger %s is %s, want %s", name, got, want)
		}
	}
	if r := w2.post("/payments", "k2", body).want(t, 201); r.field(t, "id") == first.field(t, "id") {
		t.Error("an id came twice")
	}
}

func TestDamagedLedgerIsAnErrorNeverNoEffect(t *testing.T) {
	damages := map[string]func(path string) error{
		"cut":   func(path string) error { return os.Truncate(path, 20) },
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"other": func(path string) error { return os.WriteFile(path, []byte(`{"v":1,"seq":9}`), 0o600) },
		"renamed": func(path string) error {
			return os.Rename(path, filepath.Join(filepath.Dir(path), "effect-000077.json"))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := newWorld(t, Options{Dir: dir})
			w.post("/payments", "k", order817).want(t, 201)
			files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			if err := damage(files[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := Start(Options{Dir: dir}); err == nil {
				t.Error("started over a damaged ledger")
			}
		})
	}
}

func TestVanishedLedgerFileIsAnError(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, Options{Dir: dir})
	w.post("/payments", "k", order817).want(t, 201)
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Core().Effects(start); err == nil {
		t.Error("no error")
	}
	if r := w.post("/payments", "k", order817).want(t, 500); r.code(t) != "ledger" {
		t.Error(r.body)
	}
	w.get("/_control/effects").want(t, 500)
}

func TestBadWrites(t *testing.T) {
	w := newWorld(t, Options{})
	long := strings.Repeat("[", 20000)
	for body, status := range map[string]int{
		"": 400, "[]": 400, "null": 400, `"x"`: 400, "{}{}": 400, `{"order_id":"1","order_id":"2"}`: 400, "{\"a\":\"\xff\"}": 400, `{"a":` + long: 400,
		"{}": 422, `{"order_id":817,"amount_minor":1,"currency":"RUB"}`: 422, `{"order_id":"","amount_minor":1,"currency":"RUB"}`: 422,
		`{"order_id":"1","amount_minor":"1","currency":"RUB"}`: 422, `{"order_id":"1","amount_minor":1.5,"currency":"RUB"}`: 422,
		`{"order_id":"1","amount_minor":1e2,"currency":"RUB"}`: 422, `{"order_id":"1","amount_minor":null,"currency":"RUB"}`: 422,
		`{"order_id":"1","amount_minor":1,"currency":"RUB","id":"pay_1"}`: 422, `{"order_id":"1","amount_minor":1,"currency":"RUB","key":"other"}`: 422,
	} {
		r := w.post("/payments", fmt.Sprintf("k%x", body[:min(len(body), 90)]), body)
		if r.status != status || !json.Valid([]byte(r.body)) {
			t.Errorf("%.60s: %d %s, want %d", body, r.status, r.body, status)
		}
	}
	for path, status := range map[string]int{"/": 404, "/refunds": 404, "/payments/": 404, "/payments/a/b": 404, "/v1/x": 404} {
		if r := w.get(path); r.status != status {
			t.Errorf("%s: %d, want %d", path, r.status, status)
		}
	}
	for path, method := range map[string]string{"/payments": "DELETE", "/payments/x": "PUT", "/emails/cancel": "POST", "/payments/cancel": "GET", "/payments/y": "HEAD"} {
		if r := w.do(t.Context(), method, path, "", "{}"); r.status != 405 {
			t.Errorf("%s %s: %d, want 405", method, path, r.status)
		}
	}
	if len(w.effects()) != 0 {
		t.Error(w.effects())
	}
}

func TestRefusalsUseNoIDs(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		w := newWorld(t, Options{Dir: dir, ForgetAfter: time.Minute})
		for _, key := range []string{"", "a", "b"} {
			w.post("/payments", key, "{}").want(t, 422)
		}
		w.clock.Advance(time.Minute)
		if r := w.post("/payments", "a", order817).want(t, 201); r.field(t, "id") != `"pay_000001"` {
			t.Error(r.body)
		}
		w.count(1, 4, 0)
	}
}
