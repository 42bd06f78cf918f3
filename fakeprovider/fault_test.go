package fakeprovider

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeFaults says for every fault that can strike a write what becomes of one keyed payment under it: what the client sees, how many
// effects there are, and what a repeat of the same key gets afterwards, with how many effects then.
var writeFaults = []struct {
	fault   string // without `on`
	sees    string // status, or: silence, reset, cut
	effects int
	code    string // error.code of the answer
	repeat  string // status of the repeat, with * for a replay
	total   int
}{
	{`"do":"commit_then_timeout"`, "silence", 1, "", "201*", 1},
	{`"do":"timeout_no_commit"`, "silence", 0, "", "201", 1},
	{`"do":"commit_then_reset"`, "reset", 1, "", "201*", 1},
	{`"do":"reset_no_commit"`, "reset", 0, "", "201", 1},
	{`"do":"late_commit","after":"1m"`, "silence", 0, "", "409", 0},
	{`"do":"commit_then_error"`, "500", 1, "internal", "201*", 1},
	{`"do":"commit_then_error","stored":true,"status":503`, "503", 1, "internal", "503*", 1},
	{`"do":"error_no_commit","status":502`, "502", 0, "internal", "201", 1},
	{`"do":"error_no_commit","stored":true`, "500", 0, "internal", "500*", 0},
	{`"do":"error_200"`, "200", 0, "failed", "201", 1},
	{`"do":"html_200"`, "200", 0, "", "201", 1},
	{`"do":"html_200","commit":true`, "200", 1, "", "201*", 1},
	{`"do":"truncated"`, "cut", 0, "", "201", 1},
	{`"do":"truncated","commit":true`, "cut", 1, "", "201*", 1},
	{`"do":"oversize","bytes":100000`, "201", 1, "", "201*", 1},
	{`"do":"reject"`, "422", 0, "declined", "422*", 0},
	{`"do":"reject","status":400,"code":"card_declined"`, "400", 0, "card_declined", "400*", 0},
	{`"do":"throttle","retry_after":"1500ms"`, "429", 0, "rate_limited", "201", 1},
	{`"do":"still_running"`, "409", 0, "in_progress", "201", 1},
	{`"do":"other_operations_answer"`, "201", 1, "", "201*", 1},
	{`"do":"wrong_echo","field":"amount_minor","value":1`, "201", 1, "", "201*", 1},
	{`"do":"commit_twice"`, "201", 2, "", "201*", 2},
}

func TestWriteFaults(t *testing.T) {
	for _, c := range writeFaults {
		t.Run(c.fault, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.arm(`{"on":"payments.create",` + c.fault + `}`)
			r := w.impatient("/payments", "k1", order817)
			if got := sight(r); got != c.sees {
				t.Fatalf("client sees %s (%v, %s), want %s", got, r.err, r.body, c.sees)
			}
			if c.code != "" && r.code(t) != c.code {
				t.Errorf("code %s, want %s", r.code(t), c.code)
			}
			w.count(c.effects, 1, 0)
			if len(w.Unstruck()) != 0 {
				t.Error("the fault counts as not having struck")
			}
			again := w.post("/payments", "k1", order817)
			if got := sight(again) + replayed(again); got != c.repeat {
				t.Errorf("repeat sees %s (%s), want %s", got, again.body, c.repeat)
			}
			w.count(c.total, 2, 0)
		})
	}
}

// impatient gives up as soon as the server holds the request.
func (w *world) impatient(path, key, body string) reply {
	w.Helper()
	ctx, leave := context.WithCancel(w.Context())
	defer leave()
	got := make(chan reply, 1)
	go func() { got <- w.do(ctx, "POST", path, key, body) }()
	for {
		select {
		case r := <-got:
			return r
		default:
		}
		if len(w.Held()) > 0 {
			leave()
			r := <-got
			w.held(0)
			return r
		}
	}
}

func sight(r reply) string {
	switch {
	case r.err == nil:
		return encodeText(r.status)
	case errors.Is(r.err, context.Canceled):
		return "silence"
	case errors.Is(r.err, io.ErrUnexpectedEOF):
		return "cut"
	case errors.Is(r.err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(r.err, syscall.ECONNREFUSED):
		return "refused"
	}
	return r.err.Error()
}

func encodeText(v any) string { return string(encode(v)) }

func replayed(r reply) string {
	if r.header.Get("Idempotent-Replayed") == "true" {
		return "*"
	}
	return ""
}

func TestRejectionAndErrorHeaders(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`[{"on":"emails.create","do":"throttle","retry_after":2.5},{"on":"emails.create","do":"error_no_commit","html":true,"retry_after":"1m"}]`)
	mail := `{"to":"ada@example.org","subject":"","body":""}`
	if r := w.post("/emails", "", mail).want(t, 429); r.header.Get("Retry-After") != "3" {
		t.Error(r.header)
	}
	r := w.post("/emails", "", mail).want(t, 500)
	if r.header.Get("Retry-After") != "60" || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") || !strings.Contains(r.body, "<html>") {
		t.Error(r)
	}
	w.post("/emails", "", mail).want(t, 201)
	w.count(1, 3, 0)
}

func TestOversizeIsTheObjectAndPadding(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.create","do":"oversize","bytes":70000}`)
	r := w.post("/payments", "", order817).want(t, 201)
	if len(r.body) != 70000 || r.field(t, "id") != `"pay_000001"` || !strings.Contains(r.field(t, "padding"), "xxx") {
		t.Error(len(r.body), r.body[:200])
	}
}

func TestDripWaitsBetweenPieces(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.create","do":"drip","bytes":100,"every":"10s"}`)
	got := make(chan reply, 1)
	go func() { got <- w.post("/payments", "", order817) }()
	for {
		select {
		case r := <-got:
			if r.want(t, 201).field(t, "order_id") != `"817"` || !w.clock.Now().After(start) {
				t.Error(r)
			}
			w.count(1, 1, 0)
			return
		default:
			if len(w.Held()) == 1 {
				w.clock.Advance(10 * time.Second)
			}
		}
	}
}

func TestOtherOperationsAnswer(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.create","do":"other_operations_answer","times":2}`)
	invented := w.post("/payments", "a", order817).want(t, 201)
	if invented.field(t, "order_id") == `"817"` || invented.field(t, "id") != `"pay_000000"` {
		t.Error(invented.body)
	}
	other := w.post("/payments", "b", order818).want(t, 201)
	if other.field(t, "order_id") != `"817"` || other.field(t, "id") != `"pay_000001"` || other.field(t, "key") != `"a"` {
		t.Error(other.body)
	}
	w.count(2, 2, 0)
}

func TestWrongEchoLeavesTheLedgerRight(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.create","do":"wrong_echo","field":"currency"}`)
	if got := w.post("/payments", "", order817).want(t, 201).field(t, "currency"); got == `"RUB"` {
		t.Error(got)
	}
	if got := w.get("/payments/pay_000001").want(t, 200).field(t, "currency"); got != `"RUB"` {
		t.Error(got)
	}
}

func TestCommitTwiceShowsTheSecond(t *testing.T) {
	w := newWorld(t, Options{Dir: t.TempDir()})
	w.arm(`{"on":"payments.create","do":"commit_twice"}`)
	r := w.post("/payments", "k", order817).want(t, 201)
	if again := w.post("/payments", "k", order817); r.field(t, "id") != `"pay_000002"` || again.body != r.body {
		t.Error(r.body, again.body)
	}
	if ids, _ := w.get("/payments?key=k").ids(t); !slices.Equal(ids, []string{"pay_000001", "pay_000002"}) {
		t.Error(ids)
	}
}

func TestRedirectToItselfIsFollowedByAStockClient(t *testing.T) {
	w := newWorld(t, Options{Key: "ignored"})
	w.arm(`{"on":"payments.create","do":"redirect","commit":true}`)
	w.post("/payments", "k", order817).want(t, 201)
	w.count(2, 2, 0)
}

func TestLateCommitHappensWithoutTheClient(t *testing.T) {
	w := newWorld(t, Options{Dir: t.TempDir()})
	w.arm(`{"on":"payments.create","do":"late_commit","after":"1m"}`)
	w.impatient("/payments", "k", order817)
	w.clock.Advance(59 * time.Second)
	w.count(0, 1, 0)
	w.get("/payments/pay_000001").want(t, 404)
	if r := w.post("/payments", "k", order817).want(t, 409); r.code(t) != "in_progress" {
		t.Error(r.body)
	}
	w.clock.Advance(time.Second)
	w.count(1, 2, 1)
	if r := w.post("/payments", "k", order817).want(t, 201); replayed(r) == "" {
		t.Error("executed again")
	}
	if e := w.effects()[0]; !e.CreatedAt.Equal(start.Add(time.Minute)) || e.Request != 1 {
		t.Error(e)
	}
}

func TestSlowKeepsTheKeyInFlight(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.create","do":"slow","for":"30s"}`)
	got := make(chan reply, 1)
	go func() { got <- w.post("/payments", "k", order817) }()
	w.held(1)
	w.count(0, 1, 0)
	if r := w.post("/payments", "k", order817).want(t, 409); r.code(t) != "in_progress" {
		t.Error(r.body)
	}
	w.clock.Advance(30 * time.Second)
	(<-got).want(t, 201)
	w.count(1, 2, 0)
}

func TestSlowLookSeesWhatIsThereInTheEnd(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.search","do":"slow","for":"30s"}`)
	got := make(chan reply, 1)
	go func() { got <- w.get("/payments") }()
	w.held(1)
	w.post("/payments", "", order817).want(t, 201)
	w.clock.Advance(30 * time.Second)
	if ids, _ := (<-got).ids(t); len(ids) != 1 {
		t.Error(ids)
	}
	w.count(1, 1, 1)
}

func TestNthAndTimes(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`[{"on":"payments.create","do":"reject","nth":2,"times":2},{"on":"payments.cancel","do":"reject"}]`)
	for i, want := range []int{201, 422, 422, 201} {
		if r := w.post("/payments", "", order817); r.status != want {
			t.Errorf("request %d: %d, want %d", i+1, r.status, want)
		}
	}
	if left := w.Unstruck(); len(left) != 1 || left[0].On != "payments.cancel" {
		t.Error(left)
	}
}

func TestTwoFaultsForOneRequestStrikeInTurn(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`[{"on":"payments.create","do":"throttle"},{"on":"payments.create","do":"reject"}]`)
	w.post("/payments", "", order817).want(t, 429)
	w.post("/payments", "", order817).want(t, 422)
	w.post("/payments", "", order817).want(t, 201)
}

// A warm reset is where Go's own transport sends again: the request bears a key, so the transport takes it for repeatable.
func TestWarmResetMakesGoSendAgain(t *testing.T) {
	for fault, effects := range map[string]int{"commit_then_reset": 2, "reset_no_commit": 1} {
		w := newWorld(t, Options{Key: "ignored"})
		w.arm(`{"on":"payments.create","do":"` + fault + `","warm":true}`)
		w.get("/payments").want(t, 200) // warms the connection
		w.post("/payments", "k", order817).want(t, 201)
		w.count(effects, 2, 1)
		if len(w.Unstruck()) != 0 {
			t.Error("not struck")
		}
	}
}

func TestWarmResetSparesAFreshConnection(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.create","do":"commit_then_reset","warm":true}`)
	w.post("/payments", "", order817).want(t, 201)
	if len(w.Unstruck()) != 1 {
		t.Error("struck a fresh connection")
	}
}

func TestRefuseAndClear(t *testing.T) {
	w := newWorld(t, Options{})
	w.get("/payments").want(t, 200)
	w.arm(`{"do":"refuse"}`)
	w.client.CloseIdleConnections() // or it would race with the server's goodbye
	for range 2 {
		if r := w.post("/payments", "", order817); sight(r) != "refused" {
			t.Fatal(r)
		}
	}
	if len(w.Unstruck()) != 0 {
		t.Error("refuse counts as not struck")
	}
	w.count(0, 0, 1)
	w.ClearFaults()
	w.post("/payments", "", order817).want(t, 201)
	w.count(1, 1, 1)
}

func TestCoreRefusesWithoutSockets(t *testing.T) {
	c, err := NewCore(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Arm(Fault{Do: "refuse"}); err != nil {
		t.Fatal(err)
	}
	if len(c.Unstruck()) != 1 {
		t.Error("struck before any request")
	}
	a := c.Handle(start, Request{Method: "GET", Path: "/payments"})
	if a.Fate != Refuse || len(c.Unstruck()) != 0 || c.Requests().Lookups != 0 {
		t.Error(a.Fate, c.Unstruck(), c.Requests())
	}
}
