package fakeprovider

import (
	"encoding/json"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestLoopbackOnly(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "example.org:0", "192.168.0.1:0", "127.0.0.1", "10.0.0.1:99999"} {
		if s, err := Start(Options{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("%q was taken", addr)
		}
	}
	s, err := Start(Options{Addr: "localhost:0"})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	w := newWorld(t, Options{})
	req, _ := http.NewRequest("GET", w.URL()+"/_control/effects", nil)
	req.Host = "rebound.example"
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Error(resp.Status)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{Key: "sometimes"}, {Dialect: "stripe"}, {SearchPage: -1}, {Script: &Script{}}, {Dir: "doc.go"}} {
		if s, err := Start(o); err == nil {
			s.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestControl(t *testing.T) {
	w := newWorld(t, Options{})
	w.do(t.Context(), "POST", "/_control/faults", "", `[{"on":"payments.cancel","do":"commit_then_timeout"},{"on":"emails.create","do":"reject"}]`).want(t, 200)
	w.post("/payments", "k", order817).want(t, 201)
	go func() { w.post("/payments/cancel", "c", `{"order_id":"817"}`) }()
	w.held(1)
	var held struct{ Held []Held }
	if err := json.Unmarshal([]byte(w.get("/_control/held").want(t, 200).body), &held); err != nil || len(held.Held) != 1 || held.Held[0].Path != "/payments/cancel" || !held.Held[0].Since.Equal(start) {
		t.Error(held, err)
	}
	var page EffectsPage
	if err := json.Unmarshal([]byte(w.get("/_control/effects").want(t, 200).body), &page); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"payments": 1, "payments.cancel": 1, "emails": 0, "applications": 0, "tickets": 0}
	if page.Total != 2 || !reflect.DeepEqual(page.ByKind, want) || page.Effects[0].Key != "k" || page.Effects[0].Number != "20260301-AAAABBBBCC" {
		t.Error(page)
	}
	var q Requests
	if err := json.Unmarshal([]byte(w.get("/_control/requests").want(t, 200).body), &q); err != nil {
		t.Fatal(err)
	}
	if q.Writes != 2 || q.Lookups != 0 || len(q.List) != 2 || q.List[0].Key != "k" || string(q.List[0].Body) != order817 || q.List[1].Conn != held.Held[0].Conn {
		t.Error(q)
	}
	var faults FaultsPage
	if err := json.Unmarshal([]byte(w.get("/_control/faults").want(t, 200).body), &faults); err != nil || len(faults.Faults) != 2 || len(faults.Unstruck) != 1 {
		t.Error(faults, err)
	}
	w.do(t.Context(), "DELETE", "/_control/faults", "", "").want(t, 200)
	if len(w.Unstruck()) != 0 {
		t.Error(w.Unstruck())
	}
	for path, method := range map[string]string{"effects": "POST", "requests": "DELETE", "faults": "PUT"} {
		w.do(t.Context(), method, "/_control/"+path, "", "").want(t, 405)
	}
	w.get("/_control/nothing").want(t, 404)
}

func TestRefuseOverControlIsAnswered(t *testing.T) {
	w := newWorld(t, Options{})
	w.do(t.Context(), "POST", "/_control/faults", "", `{"do":"refuse"}`).want(t, 200)
	w.client.CloseIdleConnections()
	if r := w.get("/_control/effects"); sight(r) != "refused" {
		t.Error(r)
	}
}

// Bad faults are refused with a message that names what is wrong, and arm nothing.
func TestBadFaults(t *testing.T) {
	w := newWorld(t, Options{})
	for text, names := range map[string]string{
		``: "object", `{`: "malformed", `[1]`: "fault 1", `{"do":7}`: `"do"`, `{}`: "unknown fault",
		`{"on":"payments.create","do":"explode"}`:                                   `"explode"`,
		`{"on":"payments.create","do":"reject","colour":1}`:                         `"colour"`,
		`{"on":"payments.create","do":"reject","warm":true}`:                        `"warm"`,
		`{"on":"payments.create","do":"reject","commit":false}`:                     `"commit"`,
		`{"on":"refunds.create","do":"reject"}`:                                     `"refunds"`,
		`{"on":"payments.explode","do":"reject"}`:                                   `"explode"`,
		`{"on":"emails.cancel","do":"reject"}`:                                      `"cancel"`,
		`{"on":"payments","do":"reject"}`:                                           "action",
		`{"do":"reject"}`:                                                           `"on"`,
		`{"on":"payments.search","do":"commit_twice"}`:                              `"payments.search"`,
		`{"on":"payments.create","do":"lookup_empty"}`:                              `"payments.create"`,
		`{"on":"payments.create","do":"slow"}`:                                      `"for"`,
		`{"on":"payments.create","do":"slow","for":"soon"}`:                         `"soon"`,
		`{"on":"payments.create","do":"slow","for":10}`:                             `"for"`,
		`{"on":"payments.create","do":"slow","for":"-1s"}`:                          `"-1s"`,
		`{"on":"payments.create","do":"reject","status":200}`:                       `"status"`,
		`{"on":"payments.create","do":"redirect","status":500}`:                     `"status"`,
		`{"on":"payments.create","do":"reject","nth":-1}`:                           `"nth"`,
		`{"on":"payments.create","do":"reject","nth":"2"}`:                          `"nth"`,
		`{"on":"payments.create","do":"reject","nth":2,"nth":3}`:                    `"nth"`,
		`{"on":"payments.search","do":"lookup_miss","every":"2s"}`:                  `"every"`,
		`{"on":"payments.create","do":"drip","every":2}`:                            `"every"`,
		`{"do":"refuse","nth":2}`:                                                   `"nth"`,
		`[{"on":"payments.create","do":"reject"},{"on":"payments.create","do":""}]`: "fault 2",
	} {
		r := w.do(t.Context(), "POST", "/_control/faults", "", text).want(t, 400)
		if !strings.Contains(strings.ReplaceAll(r.body, `\"`, `"`), names) {
			t.Errorf("%s: %s does not name %s", text, r.body, names)
		}
	}
	if err := w.Arm(Fault{On: "payments.create", Do: "reject"}, Fault{On: "payments.create", Do: "reject", Page: 2}); err == nil {
		t.Error("a Go value is not checked")
	}
	if len(w.Core().Armed()) != 0 {
		t.Error(w.Core().Armed())
	}
}

func TestFaultsSurviveJSON(t *testing.T) {
	text := `[{"on":"payments.create","do":"late_commit","nth":2,"times":3,"after":"1d1h"},{"on":"payments.search","do":"lookup_miss","every":2},` +
		`{"on":"emails.create","do":"drip","every":"1m30s","bytes":2},{"on":"payments.get","do":"wrong_echo","field":"f","value":null},{"do":"forget_key","after":"7d"}]`
	faults, err := ParseFaults([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if faults[0].After != 25*time.Hour || faults[1].EveryNth != 2 || faults[2].Every != 90*time.Second || faults[4].After != 7*24*time.Hour {
		t.Error(faults)
	}
	again, err := ParseFaults(encode(faults))
	if err != nil || !reflect.DeepEqual(faults, again) {
		t.Errorf("%v\n%s\n%+v", err, encode(faults), again)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"on":"payments.create","do":"slow","for":"1d"}`))
	f.Add([]byte(`[{"on":"payments.search","do":"lookup_miss","every":2}]`))
	f.Add([]byte(`{"answers":[{"break":{"status":429}},{"call":{"tool":"t","args":{"a":1}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if faults, err := ParseFaults(data); err == nil {
			if _, err := ParseFaults(encode(faults)); err != nil {
				t.Errorf("%s was taken, its own form not: %v", data, err)
			}
		}
		if s, err := ParseScript(data); err == nil {
			if _, err := ParseScript(encode(s)); err != nil {
				t.Errorf("%s was taken, its own form not: %v", data, err)
			}
		}
		c, _ := NewCore(Options{})
		a := c.Handle(start, Request{Method: "POST", Path: "/tickets", Header: http.Header{keyHeader: {"k"}}, Body: data})
		if effects, _ := c.Effects(start); (a.Status == http.StatusCreated) != (len(effects) == 1) {
			t.Errorf("%s: status %d and %d effects", data, a.Status, len(effects))
		}
	})
}

func TestCloseReleasesWhatIsHeld(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	w := &world{t, s, newManualClock(), &http.Client{Transport: transport}}
	w.arm(`[{"on":"payments.create","do":"commit_then_timeout"},{"on":"payments.search","do":"slow","for":"24h"}]`)
	got := make(chan reply, 2)
	go func() { got <- w.post("/payments", "", order817) }()
	go func() { got <- w.get("/payments") }()
	w.held(2)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if r := <-got; r.err == nil {
			t.Error(r)
		}
	}
	if err := s.Close(); err != nil {
		t.Error("second close", err)
	}
	transport.CloseIdleConnections()
	w.until("goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}
