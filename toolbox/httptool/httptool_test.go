package httptool

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/toolbox"
)

type args struct {
	OrderID string `json:"order_id" notwice:"identity"`
	Amount  int64  `json:"amount_minor" notwice:"money=RUB"`
	Note    string `json:"note,omitempty" notwice:"prose"`
	Token   string `json:"token,omitempty" notwice:"volatile"`
}

func declare(t *testing.T, base string, change func(*toolbox.Facts)) toolbox.Declaration {
	t.Helper()
	d := toolbox.Declaration{Name: "pay", Facts: toolbox.Facts{
		Effect: toolbox.Write,
		HTTP: &toolbox.HTTPRequest{Method: "POST", URL: base + "/payments", Headers: map[string]string{"X-Token": "${args.token}", "Authorization": "Bearer ${secret.T}"},
			JSON: map[string]any{"order_id": "${args.order_id}", "amount_minor": "${args.amount_minor}", "currency": "RUB", "note": "${args.note}"}},
		Key:     toolbox.KeyPlace{In: "header", Name: "Idempotency-Key"},
		Success: &toolbox.When{Status: []string{"2xx"}, Body: "status", In: []any{"succeeded"}}, ExternalID: "id",
		Echo: map[string]string{"order_id": "args.order_id", "amount_minor": "args.amount_minor"},
	}}
	if change != nil {
		change(&d.Facts)
	}
	var err error
	if d.Shape, d.Schema, err = toolbox.ShapeOf(args{}); err != nil {
		t.Fatal(err)
	}
	return d
}

func request(t *testing.T, tool *Tool, note string) toolbox.Request {
	t.Helper()
	r := toolbox.Request{Key: "01900000-0000-7000-8000-000000000001", Number: "20260302-ABCDEFGHIJ",
		Args: map[string]any{"order_id": "817", "amount_minor": canonical.Number("490000"), "note": note}, Volatile: map[string]any{"token": "tok-1"},
		Secret: func(string) (string, error) { return "s3cret", nil }, Before: func() error { return nil }}
	var err error
	if r.Wire, err = tool.Build(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Go's own transport sends a keyed POST twice when a kept-alive connection dies. Ours sends it once, and uses no
// connection twice. The control shows that the fault is real.
func TestNoHiddenResend_Case106(t *testing.T) {
	for name, keyed := range map[string]string{"keyed": "honoured", "ignored": "ignored"} {
		t.Run(name, func(t *testing.T) {
			fake, err := fakeprovider.Start(fakeprovider.Options{Key: keyed})
			if err != nil {
				t.Fatal(err)
			}
			defer fake.Close()
			arm := func(rt http.RoundTripper) {
				warm, _ := http.NewRequest("GET", fake.URL()+"/payments", nil)
				res, err := rt.RoundTrip(warm)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
				fake.ClearFaults()
				faults, _ := fakeprovider.ParseFaults([]byte(`{"on":"payments.create","do":"commit_then_reset","warm":true}`))
				fake.Arm(faults...)
			}
			ours := NewTransport()
			tool, err := New(declare(t, fake.URL(), nil), ours)
			if err != nil {
				t.Fatal(err)
			}
			arm(ours)
			tool.Send(context.Background(), request(t, tool, name))
			if got := fake.Core().Requests().Writes; got != 1 {
				t.Errorf("S1: our transport made %d requests for one attempt", got)
			}
			stock := http.DefaultTransport.(*http.Transport).Clone()
			defer stock.CloseIdleConnections()
			arm(stock)
			req, _ := http.NewRequest("POST", fake.URL()+"/payments", strings.NewReader(`{"order_id":"9","amount_minor":1,"currency":"RUB"}`))
			req.Header.Set("Idempotency-Key", "control")
			if res, err := (&http.Client{Transport: stock}).Do(req); err == nil {
				res.Body.Close()
			}
			if got := fake.Core().Requests().Writes - 1; got != 2 {
				t.Errorf("control: the stock transport made %d requests, so this test shows nothing", got)
			}
		})
	}
}

func TestKeyForms_Case077(t *testing.T) {
	keys := []string{"01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000002"}
	for _, encode := range []string{"", "raw", "sf_string", "uuid", "base32hex"} {
		for _, limit := range []int{0, 20, 45, 50, 64} {
			p := toolbox.KeyPlace{In: "header", Encode: encode, MaxLength: limit}
			a, b := encodeKey(p, keys[0], "n"), encodeKey(p, keys[1], "n")
			if a == b {
				t.Errorf("%s/%d: two keys have one form %q", encode, limit, a)
			}
			if a != encodeKey(p, keys[0], "n") {
				t.Errorf("%s/%d: the form is not stable", encode, limit)
			}
			if limit > 0 && len(a) > limit {
				t.Errorf("%s/%d: %q is too long", encode, limit, a)
			}
		}
	}
	if got := encodeKey(toolbox.KeyPlace{Encode: "number"}, keys[0], "20260302-ABCDEFGHIJ"); got != "20260302-ABCDEFGHIJ" {
		t.Errorf("number: %q", got)
	}
}

// Neither a secret nor a volatile value is in the registered request, and no text of a caller passes for one.
func TestSecretsAreFilledAtSendTime(t *testing.T) {
	var seen atomic.Value
	rt := roundTrip(func(req *http.Request) (*http.Response, error) {
		seen.Store(req.Header.Get("Authorization") + "|" + req.Header.Get("X-Token"))
		return nil, context.DeadlineExceeded
	})
	tool, err := New(declare(t, "http://127.0.0.1:1", nil), rt)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, tool, "${secret.T} ${args.token}")
	if w := string(r.Wire); strings.Contains(w, "s3cret") || strings.Contains(w, "tok-1") {
		t.Errorf("the registered request holds a secret: %s", w)
	}
	tool.Send(context.Background(), r)
	if got := seen.Load(); got != "Bearer s3cret|tok-1" {
		t.Errorf("sent %q", got)
	}
	f := filler{volatile: r.Volatile, secret: r.Secret}
	var w wire
	if err := canonical.DecodeRecord(r.Wire, &w); err != nil {
		t.Fatal(err)
	}
	if body := f.fill(w).Body; !strings.Contains(body, "${secret.T} ${args.token}") || strings.Contains(body, "s3cret") {
		t.Errorf("a caller's text was taken for a reference: %s", body)
	}
	r.Args["note"] = "a\x00s.T\x00b"
	if _, err := tool.Build(r); err == nil {
		t.Error("a NUL was accepted")
	}
}

func TestLeaseIsAskedBeforeTheFirstByte(t *testing.T) {
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	tool, err := New(declare(t, fake.URL(), nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, tool, "x")
	r.Before = func() error { return context.DeadlineExceeded }
	if a := tool.Send(context.Background(), r); a.Outcome != journal.NotSent || a.Reason != "lease_over_before_sending" {
		t.Errorf("answer %+v", a)
	}
	if n := fake.Core().Requests().Writes; n != 0 {
		t.Errorf("%d requests left", n)
	}
}

func TestClassify(t *testing.T) {
	yes := true
	tool, err := New(declare(t, "http://127.0.0.1:1", func(f *toolbox.Facts) {
		f.Answers = []toolbox.Rule{
			{When: toolbox.When{Status: []string{"4xx"}, Body: "error.code", Exists: &yes}, Outcome: "rejected"},
			{When: toolbox.When{Status: []string{"503"}, Header: "X-Executed", Equals: "no"}, Outcome: "not_sent"},
			{When: toolbox.When{Status: []string{"401"}, Body: "error.type", Equals: "auth"}, Outcome: "not_sent"},
			{When: toolbox.When{Status: []string{"202"}}, Outcome: "accepted"},
		}
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, tool, "n")
	good := `{"id":"p1","status":"succeeded","order_id":"817","amount_minor":490000}`
	for _, c := range []struct {
		status int
		header http.Header
		body   string
		want   journal.Outcome
		reason string
	}{
		{200, nil, good, journal.Applied, ""},
		{201, nil, strings.Replace(good, "490000", "490001", 1), journal.OutcomeUnknown, "echo_differs"},
		{200, nil, strings.Replace(good, `"order_id":"817",`, "", 1), journal.OutcomeUnknown, "echo_differs"},
		{200, nil, strings.Replace(good, `"id":"p1",`, "", 1), journal.OutcomeUnknown, "no_external_id"},
		{200, nil, strings.Replace(good, "succeeded", "failed", 1), journal.OutcomeUnknown, "no_success"},
		{200, nil, "<html>", journal.OutcomeUnknown, "unreadable_answer"},
		{200, nil, good[:20], journal.OutcomeUnknown, "unreadable_answer"},
		{202, nil, good, journal.OutcomeUnknown, "accepted"},
		{422, nil, `{"error":{"code":"card_declined"}}`, journal.Rejected, "card_declined"},
		{422, nil, `<html>`, journal.OutcomeUnknown, "status_422"},
		{408, nil, `{"error":{"code":"x"}}`, journal.OutcomeUnknown, "status_408"},
		{409, nil, `{"error":{"code":"x"}}`, journal.OutcomeUnknown, "status_409"},
		{425, nil, `{"error":{"code":"x"}}`, journal.OutcomeUnknown, "status_425"},
		{429, nil, `{"error":{"code":"x"}}`, journal.OutcomeUnknown, "status_429"},
		{401, nil, `{"error":{"type":"auth"}}`, journal.NotSent, "authentication"},
		{401, nil, `{"error":{"type":"other"}}`, journal.OutcomeUnknown, "status_401"},
		{307, http.Header{"Location": {"/x"}}, "", journal.OutcomeUnknown, "status_307"},
		{500, nil, `{"error":{"code":"x"}}`, journal.OutcomeUnknown, "status_500"},
		{503, http.Header{"X-Executed": {"no"}}, "", journal.NotSent, "status_503"},
		{504, nil, "", journal.OutcomeUnknown, "status_504"},
	} {
		a := answer{status: c.status, header: c.header, text: []byte(c.body)}
		a.parse()
		if got := tool.classify(a, r); got.Outcome != c.want || got.Reason != c.reason {
			t.Errorf("%d %.40s: %s %q, want %s %q", c.status, c.body, got.Outcome, got.Reason, c.want, c.reason)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"5": 5 * time.Second, "": 0, "-1": 0, "x": 0, "99999999999": 24 * time.Hour} {
		if got := retryAfter(answer{header: http.Header{"Retry-After": {header}}}); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
	date := http.Header{"Date": {"Mon, 02 Mar 2026 09:00:00 GMT"}, "Retry-After": {"Mon, 02 Mar 2026 09:00:30 GMT"}}
	if got := retryAfter(answer{header: date}); got != 30*time.Second {
		t.Errorf("date: %s", got)
	}
}

func TestDeclarationsRefused(t *testing.T) {
	lookup := func(by string) *toolbox.LookupFacts {
		form := toolbox.LookupForm{HTTP: &toolbox.HTTPRequest{Method: "GET", URL: "http://127.0.0.1:1/p"}, Items: "data", Match: toolbox.MatchFacts{Path: "ref"}}
		return &toolbox.LookupFacts{By: by, Forms: map[string]toolbox.LookupForm{"key": form, "reference": form}}
	}
	for want, change := range map[string]func(*toolbox.Facts){
		"success rule":             func(f *toolbox.Facts) { f.Success = nil },
		"literal scheme":           func(f *toolbox.Facts) { f.HTTP.URL = "${args.order_id}/x" },
		"does not send our key":    func(f *toolbox.Facts) { f.Key = toolbox.KeyPlace{In: "none"}; f.Lookup = lookup("key") },
		"does not send our number": func(f *toolbox.Facts) { f.Lookup = lookup("reference") },
		"has no request":           func(f *toolbox.Facts) { f.Lookup = lookup("scan") },
	} {
		if _, err := New(declare(t, "http://127.0.0.1:1", change), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAddressesStayInPlace(t *testing.T) {
	d := declare(t, "http://127.0.0.1:1", func(f *toolbox.Facts) { f.HTTP.URL = "http://127.0.0.1:1/orders/${args.order_id}/pay" })
	tool, err := New(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"..", ".", "a/b", `a\b`, "%2e%2e", "a\r\nb", ""} {
		r := toolbox.Request{Args: map[string]any{"order_id": bad, "amount_minor": canonical.Number("1")}}
		if w, err := tool.Build(r); err == nil {
			t.Errorf("%q was put into an address: %s", bad, w)
		}
	}
}

func TestShippedProfiles(t *testing.T) {
	for _, name := range Profiles() {
		if _, err := LayProfile(toolbox.Facts{}, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := LayProfile(toolbox.Facts{}, "nope"); err == nil {
		t.Error("an unknown profile was accepted")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
