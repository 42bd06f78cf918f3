package toolbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

func TestTwoCommitsAnOperation(t *testing.T) {
	r := newRig(t, rigOptions{})
	before := r.store.Stats().Commits
	r.want(r.call("create_payment", pay, 0), toolbox.Done, 1, 1)
	if got := r.store.Stats().Commits - before; got != 2 {
		t.Errorf("a registered, sent and settled operation made %d commits, want 2", got)
	}
	r.want(r.call("create_payment", pay, 0), toolbox.AlreadyDone, 1, 1)
	if got := r.store.Stats().Commits - before; got != 2 {
		t.Errorf("a repeat made %d commits, want none", got-2)
	}
	before = r.store.Stats().Commits
	r.call("send_email", `{"to":"ada@example.test","subject":"s","body":"b"}`, 0)
	if got := r.store.Stats().Commits - before; got != 2 {
		t.Errorf("a mail made %d commits, want 2: the delivery note rides on a later one", got)
	}
}

func TestManyCallersOneEffect(t *testing.T) {
	r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) { return f, nil }})
	r.arm(`{"on":"payments.create","do":"slow","for":"50ms"}`)
	var wg sync.WaitGroup
	words := make([]toolbox.Word, 32)
	for i := range words {
		wg.Go(func() {
			res, err := r.tools.Call(context.Background(), toolbox.Call{Tool: "create_payment", Arguments: []byte(pay), Wait: 10 * time.Second})
			if err != nil {
				t.Error(err)
			}
			words[i] = res.Word
		})
	}
	wg.Wait()
	done := 0
	for _, w := range words {
		switch w {
		case toolbox.Done:
			done++
		case toolbox.AlreadyDone:
		default:
			t.Errorf("a caller was told %q", w)
		}
	}
	if done != 1 {
		t.Errorf("%d callers were told DONE, want 1", done)
	}
	r.counts(1, 1)
}

// A second process joins through the journal.
func TestJoinAcrossProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	open := func() journal.Journal {
		s, err := boltjournal.Open(path, boltjournal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	slow := func(f toolbox.Facts) (toolbox.Facts, error) { return f, nil }
	a := newRig(t, rigOptions{store: open(), lay: slow})
	b := newRig(t, rigOptions{store: open(), lay: slow, fake: a.fake})
	a.arm(`{"on":"payments.create","do":"slow","for":"150ms"}`)
	var wg sync.WaitGroup
	var words [2]toolbox.Word
	for i, r := range []*rig{a, b} {
		wg.Go(func() { words[i] = r.call("create_payment", pay, 5*time.Second).Word })
	}
	wg.Wait()
	if words[0] == words[1] {
		t.Errorf("both processes were told %s", words[0])
	}
	a.counts(1, 1)
}

func TestCallerLeavesAttemptIsRecorded(t *testing.T) {
	r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) { return f, nil }})
	r.arm(`{"on":"payments.create","do":"slow","for":"80ms"}`)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.tools.Call(ctx, toolbox.Call{Tool: "create_payment", Arguments: []byte(pay)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	r.tools.Drain(context.Background())
	r.want(r.call("create_payment", pay, 0), toolbox.AlreadyDone, 1, 1)
}

// suspendedWire is a sender that sleeps between its claim and its first byte, as a stopped process does.
type suspendedWire struct {
	toolbox.Wire
	clock *skewed
}

func (w suspendedWire) Send(ctx context.Context, t toolbox.Tool, r toolbox.Request) toolbox.Answer {
	w.clock.jump(time.Hour, time.Hour)
	return w.Wire.Send(context.WithoutCancel(ctx), t, r)
}

// skewed is the machine's clock, set off.
type skewed struct {
	toolbox.Clock
	wall, up atomic.Int64
}

func (s *skewed) jump(wall, up time.Duration) { s.wall.Add(int64(wall)); s.up.Add(int64(up)) }

func (s *skewed) Now() journal.Moment {
	m := s.Clock.Now()
	return journal.Moment{Wall: m.Wall.Add(time.Duration(s.wall.Load())), Up: m.Up + time.Duration(s.up.Load())}
}

func TestSuspendedSenderDoesNotSend_Case154(t *testing.T) {
	clock := &skewed{Clock: toolbox.RealClock()}
	r := newRig(t, rigOptions{clock: clock, wire: suspendedWire{toolbox.DirectWire(), clock}})
	res := r.call("create_payment", pay, 0)
	r.want(res, toolbox.NotSent, 0, 0)
}

func (s *skewed) real(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-time.Duration(s.wall.Load()))
}

func (s *skewed) Wait(ctx context.Context, until time.Time, done <-chan struct{}) error {
	return s.Clock.Wait(ctx, s.real(until), done)
}

func (s *skewed) Deadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return s.Clock.Deadline(ctx, s.real(at))
}

// The holder lives; a second process whose wall clock is five minutes ahead, or behind, takes nothing over.
func TestWallClockFreesNoLease_Case158(t *testing.T) {
	for _, off := range []time.Duration{5 * time.Minute, -5 * time.Minute, 24 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			store := memjournal.New()
			slow := func(f toolbox.Facts) (toolbox.Facts, error) { return f, nil }
			sending := &announced{Wire: toolbox.DirectWire(), sent: make(chan struct{})}
			a := newRig(t, rigOptions{store: store, lay: slow, wire: sending})
			clock := &skewed{Clock: toolbox.RealClock()}
			clock.jump(off, 0)
			b := newRig(t, rigOptions{store: store, lay: slow, fake: a.fake, clock: clock})
			a.arm(`{"on":"payments.create","do":"slow","for":"120ms"}`)
			var wg sync.WaitGroup
			wg.Go(func() { a.call("create_payment", pay, 5*time.Second) })
			<-sending.sent // the holder has claimed it
			if res := b.call("create_payment", pay, 0); res.Status != "in_progress" {
				t.Errorf("a clock off by %s saw %s", off, res.Status)
			}
			wg.Wait()
			a.counts(1, 1)
		})
	}
}

// announced is a wire that says when something is about to be sent.
type announced struct {
	toolbox.Wire
	sent chan struct{}
}

func (a *announced) Send(ctx context.Context, t toolbox.Tool, r toolbox.Request) toolbox.Answer {
	close(a.sent)
	return a.Wire.Send(ctx, t, r)
}

// failing is a journal whose commits fail on demand.
type failing struct {
	journal.Journal
	claim, settle atomic.Bool
}

func (f *failing) DecideByIntent(ctx context.Context, at time.Time, w journal.Wish, d journal.Decide) error {
	if f.claim.Load() {
		return fmt.Errorf("%w: %w", journal.ErrCommit, journal.ErrFull)
	}
	return f.Journal.DecideByIntent(ctx, at, w, d)
}

func (f *failing) DecideByKey(ctx context.Context, at time.Time, k journal.Key, d journal.Decide) error {
	if f.settle.Load() {
		return fmt.Errorf("%w: %w", journal.ErrCommit, journal.ErrFull)
	}
	return f.Journal.DecideByKey(ctx, at, k, d)
}

// hasty is a clock that does not wait between tries.
type hasty struct{ toolbox.Clock }

func (h hasty) Wait(ctx context.Context, until time.Time, done <-chan struct{}) error {
	if limit := time.Now().Add(20 * time.Millisecond); done == nil && until.After(limit) {
		until = limit
	}
	return h.Clock.Wait(ctx, until, done)
}

func TestDiskFull_Case147(t *testing.T) {
	store := &failing{Journal: memjournal.New()}
	var logged []string
	r := newRig(t, rigOptions{store: store, clock: hasty{toolbox.RealClock()}, log: func(line string) { logged = append(logged, line) }})
	store.claim.Store(true)
	if _, err := r.tools.Call(context.Background(), toolbox.Call{Tool: "create_payment", Arguments: []byte(pay)}); !errors.Is(err, journal.ErrFull) {
		t.Fatalf("error %v", err)
	}
	r.counts(0, 0) // what cannot be recorded is not sent
	store.claim.Store(false)
	store.settle.Store(true)
	_, err := r.tools.Call(context.Background(), toolbox.Call{Tool: "create_payment", Arguments: []byte(pay)})
	if !errors.Is(err, journal.ErrFull) || !errors.Is(err, toolbox.ErrUnrecorded) { // it was sent, and nobody may say otherwise
		t.Fatalf("error %v", err)
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "pay_000001") {
		t.Errorf("the lost outcome was told as %q", logged)
	}
	store.settle.Store(false)
	r.want(r.call("create_payment", pay, 5*time.Second), toolbox.AlreadyDone, 1, 1)
}

func TestVolatileValuesStayOutOfTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	store, err := boltjournal.Open(path, boltjournal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, rigOptions{store: store})
	r.arm(`{"on":"payments.create","do":"timeout_no_commit"}`)
	r.call("create_payment", `{"order_id":"817","amount_minor":1,"currency":"RUB","device":"MARKER-tok-1"}`, 0)
	store.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("MARKER-tok-1")) {
		t.Error("a volatile value stands in the journal")
	}
	for _, seen := range r.fake.Core().Requests().List {
		if strings.Contains(string(seen.Body), "MARKER") {
			t.Error("the device belongs in a header only")
		}
	}
}

func TestRepeatsOfATicket(t *testing.T) {
	r := newRig(t, rigOptions{})
	ticket := `{"project":"OPS","title":"Printer down","ref":"case-442"}`
	r.want(r.call("create_ticket", ticket, 0), toolbox.Done, 1, 1)
	r.want(r.call("create_ticket", ticket, 0), toolbox.AlreadyDone, 1, 1)
	r.want(r.call("create_payment", pay, 0), toolbox.Done, 2, 2) // another write of the task came between
	r.want(r.call("create_ticket", ticket, 0), toolbox.Done, 3, 3)
}

func TestBadInputSendsAndRecordsNothing(t *testing.T) {
	r := newRig(t, rigOptions{})
	for args, want := range map[string]string{
		``:                             "empty",
		`{}`:                           "order_id: missing",
		`null`:                         "not an object",
		`[]`:                           "not an object",
		`{"order_id":"817"`:            "ends in the middle",
		pay + pay:                      "more than one JSON value",
		`"` + `{\"order_id\":1}` + `"`: "a text, not an object",
		`{"order_id":817,"amount_minor":1,"currency":"RUB"}`:                                             "order_id",
		`{"order_id":"817","amount_minor":1e2,"currency":"RUB"}`:                                         "whole number",
		`{"order_id":"817","amount_minor":4900.00,"currency":"RUB"}`:                                     "whole number",
		`{"order_id":"817","amount_minor":"4900.00","currency":"RUB"}`:                                   "minor units",
		`{"order_id":"817","amount_minor":-1,"currency":"RUB"}`:                                          "no sign",
		`{"order_id":"817","amount_minor":1,"currency":"XYZ"}`:                                           "ISO 4217",
		`{"order_id":"817","amount_minor":1,"Amount_Minor":2,"currency":"RUB"}`:                          "Amount_Minor",
		`{"order_id":"817","order_id":"818","amount_minor":1,"currency":"RUB"}`:                          "twice",
		`{"order_id":"8\u200b17","amount_minor":1,"currency":"RUB"}`:                                     "U+200B",
		`{"order_id":"817","amount_minor":1,"currency":"RUB","note":"null"}`:                             "leave the field out",
		`{"order_id":"817","amount_minor":1,"currency":"RUB","operation_key":"x"}`:                       "Notwice makes and keeps the key",
		`{"order_id":"817","amount_minor":1,"currency":"RUB","approved":true}`:                           "only a person approves",
		`{"order_id":"817","amount_minor":1,"currency":"RUB","note":"` + strings.Repeat("x", 600) + `"}`: "note",
	} {
		res := r.call("create_payment", args, 0)
		if res.Word != toolbox.InvalidCall || !strings.Contains(res.Message, want) {
			t.Errorf("%.80s\n  %s\n  want %q", args, res.Message, want)
		}
	}
	if res := r.call("no_such_tool", "{}", 0); res.Word != toolbox.InvalidCall {
		t.Errorf("unknown tool: %s", res.Message)
	}
	ops, _, _ := r.store.List(context.Background(), journal.Query{})
	if len(ops) != 0 {
		t.Errorf("%d operations were recorded", len(ops))
	}
	r.counts(0, 0)
}

func TestModelSeesNoKey(t *testing.T) {
	r := newRig(t, rigOptions{})
	for _, d := range r.tools.Tools() {
		text := fmt.Sprint(d.ModelSchema(), d.Description)
		for _, word := range []string{"key", "idempoten", "device", "x-", "${", "secret"} {
			if strings.Contains(strings.ToLower(text), word) {
				t.Errorf("%s shows the model %q: %s", d.Name, word, text)
			}
		}
	}
	r.call("create_payment", pay, 0)
	read := r.call("get_payment", `{"order_id":"817"}`, 0)
	op, _ := r.tools.Find(context.Background(), r.call("create_payment", pay, 0).Number)
	if strings.Contains(read.Message, string(op.Key)) {
		t.Error("a read shows the operation key")
	}
}

// Two equal long-titled tickets in other words: while the first has lost its answer, the second is not sent.
func TestRewordedTicketWhileTheFirstIsUnheard(t *testing.T) {
	r := newRig(t, rigOptions{})
	long := func(tail string) string {
		return fmt.Sprintf(`{"project":"OPS","title":%q,"ref":"case-442"}`, strings.Repeat("The printer on the third floor is down. ", 3)+tail)
	}
	r.arm(`{"on":"tickets.create","do":"commit_then_timeout"}`)
	r.want(r.call("create_ticket", long("Please help."), 0), toolbox.NotConfirmed, 1, 1)
	r.want(r.call("create_ticket", long("Please do help."), 0), toolbox.NotConfirmed, 1, 1)
}

// dyingWire is a process that dies between its claim and its first byte.
type dyingWire struct{ toolbox.Wire }

func (dyingWire) Send(context.Context, toolbox.Tool, toolbox.Request) toolbox.Answer {
	runtime.Goexit()
	return toolbox.Answer{}
}

// The holder died. A wall clock that was set back by an hour does not block its operation for an hour: the lease ends by
// the machine's uptime. Set ahead by an hour it does not make a look count before its time.
func TestClockSetBackDoesNotBlock_Case156(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			store := memjournal.New()
			a, err := toolbox.New(context.Background(), toolbox.Options{Journal: store, Wire: dyingWire{toolbox.DirectWire()}})
			if err != nil {
				t.Fatal(err)
			}
			clock := &skewed{Clock: toolbox.RealClock()}
			b := newRig(t, rigOptions{store: store, clock: clock})
			tool, err := demo.Tool("create_payment", b.fake.URL(), "fake", nil, quick)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Add(tool); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			a.Call(ctx, toolbox.Call{Tool: "create_payment", Arguments: []byte(pay)})
			clock.jump(off, 0)
			if off < 0 { // behind what the journal has seen: known to be wrong, so nothing counts as absent
				if res := b.call("create_payment", pay, 400*time.Millisecond); res.Status != "unknown" {
					t.Errorf("it is %s: %s", res.Status, res.Message)
				}
				b.counts(0, 0)
				return
			}
			res := b.call("create_payment", pay, 5*time.Second)
			b.want(res, toolbox.Done, 1, 1)
		})
	}
}
