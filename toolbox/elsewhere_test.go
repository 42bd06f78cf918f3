package toolbox_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// at is a process that speaks to one provider by its address, over a journal that it shares.
func at(t *testing.T, store journal.Journal, lay func(toolbox.Facts) (toolbox.Facts, error)) *rig {
	t.Helper()
	fake, err := fakeprovider.Start(fakeprovider.Options{Key: "ignored"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	r := &rig{t: t, fake: fake, store: store}
	if r.tools, err = toolbox.New(context.Background(), toolbox.Options{Journal: store}); err != nil {
		t.Fatal(err)
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, fake.URL(), "", nil, lay)
		if err == nil {
			err = r.tools.Add(tool)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { r.tools.Drain(context.Background()) })
	return r
}

// A process that speaks to another provider neither asks it about an operation, nor sends there, nor takes its silence for proof:
// not by itself, not when asked, not on a person's word.
func TestAnotherProviderKnowsNothing(t *testing.T) {
	store := memjournal.New()
	ours, other := at(t, store, quick), at(t, store, quick)
	ours.arm(`{"on":"payments.create","do":"commit_then_timeout"}`)
	lost := ours.call("create_payment", pay, 0)
	ours.want(lost, toolbox.NotConfirmed, 1, 1)
	for range 3 {
		if _, err := other.tools.Due(context.Background(), 100); err != nil {
			t.Error(err)
		}
		if _, err := other.tools.Step(context.Background(), journal.Key(lost.Key), true); !errors.Is(err, toolbox.ErrElsewhere) {
			t.Errorf("step: %v", err)
		}
	}
	other.refused(lost.Key, toolbox.Ruling{Decision: "resend"})
	if op, _ := store.Get(context.Background(), journal.Key(lost.Key)); op.Status != journal.Unknown || op.Looks != 0 {
		t.Errorf("it is %s after %d looks", op.Status, op.Looks)
	}
	if asked := other.fake.Core().Requests(); asked.Writes+asked.Lookups != 0 {
		t.Errorf("the other provider was asked %d times and sent %d requests", asked.Lookups, asked.Writes)
	}
	ours.want(ours.call("create_payment", pay, 5*time.Second), toolbox.AlreadyDone, 1, 1)
}

// The secrets are changed while a call waits for its own lost answer: the retry does not go with the new ones.
func TestSecretChangedWhileACallWaits(t *testing.T) {
	token := "first"
	var seen []string
	r := newRig(t, rigOptions{secrets: func(string) (string, error) { return token, nil },
		rt: roundTripper(func(req *http.Request) (*http.Response, error) {
			seen = append(seen, req.Header.Get("Authorization"))
			res, err := httptool.NewTransport().RoundTrip(req)
			token = "second"
			return res, err
		}),
		lay: func(f toolbox.Facts) (toolbox.Facts, error) {
			f, err := quick(f)
			if f.Echo["amount_minor"] != "" {
				f.HTTP.Headers = map[string]string{"Authorization": "Bearer ${secret.SHOP}"}
				f.Resend, f.Lookup = "same_key", nil
			}
			return f, err
		}})
	r.arm(`{"on":"payments.create","do":"commit_then_reset"}`)
	r.want(r.call("create_payment", pay, time.Second), toolbox.WaitsForHuman, 1, 1)
	if len(seen) != 1 || seen[0] != "Bearer first" {
		t.Errorf("sent with %q", seen)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Two wishes become one by a new declaration: what was done stays done, whatever became of the newer one.
func TestMergedWishesForgetNothing(t *testing.T) {
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	store := memjournal.New()
	both := func(d *toolbox.Declaration) {
		role("project", canonical.Identity)(d)
		role("ref", canonical.Identity)(d)
	}
	before := redeclared(t, store, fake, both)
	before.want(before.call("create_ticket", ticket442, 0), toolbox.Done, 1, 1)
	before.arm(`{"on":"tickets.create","do":"reject","status":422,"code":"no"}`)
	rejected := strings.Replace(ticket442, "OPS", "DEV", 1)
	before.want(before.call("create_ticket", rejected, 0), toolbox.Rejected, 2, 1)
	after := redeclared(t, store, fake, role("ref", canonical.Identity))
	after.want(after.call("create_ticket", ticket442, 0), toolbox.AlreadyDone, 2, 1)
	after.want(after.call("create_ticket", strings.Replace(rejected, "Printer", "The printer is", 1), 0), toolbox.ConflictWord, 2, 1) // no correction: it is done
}

// Leave to repeat something ends once something followed it, and is not widened by a rejection.
func TestPermitIsForOneStateOfThings(t *testing.T) {
	other := strings.Replace(pay, "490000", "480000", 1)
	reject := `{"on":"payments.create","do":"reject","status":422,"code":"declined"}`
	t.Run("a correction came in between", func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.arm(reject)
		first := r.call("create_payment", pay, 0)
		r.want(first, toolbox.Rejected, 1, 0)
		r.ruled(first.Key, toolbox.Ruling{Decision: "again"})
		r.want(r.call("create_payment", other, 0), toolbox.Done, 2, 1)
		r.want(r.call("create_payment", pay, 0), toolbox.ConflictWord, 2, 1)
	})
	t.Run("the second one was rejected", func(t *testing.T) {
		r := newRig(t, rigOptions{})
		first := r.call("create_payment", pay, 0)
		r.ruled(first.Key, toolbox.Ruling{Decision: "again"})
		r.arm(reject)
		r.want(r.call("create_payment", pay, 0), toolbox.Rejected, 2, 1)
		r.want(r.call("create_payment", other, 0), toolbox.ConflictWord, 2, 1) // nobody saw 4800
	})
}

// A tool whose volatile field is required can have a request replaced; the next equal call brings it.
func TestReplaceWhatNeedsAToken(t *testing.T) {
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	r := redeclared(t, memjournal.New(), fake, func(d *toolbox.Declaration) {
		role("ref", canonical.Identity)(d)
		d.Shape.Fields = append(d.Shape.Fields, canonical.Field{Name: "token", Type: "string", Role: canonical.Volatile})
		d.Schema = map[string]any{"type": "object", "required": []any{"token"}}
		d.Facts.Approval = &toolbox.Approval{Always: true}
	})
	first := r.call("create_ticket", `{"project":"OPS","title":"a","ref":"r","token":"t1"}`, 0)
	r.want(r.call("create_ticket", `{"project":"OPS","title":"b","ref":"r","token":"t2"}`, 0), toolbox.ConflictWord, 0, 0)
	r.want(r.ruled(first.Key, toolbox.Ruling{Decision: "replace"}), toolbox.NotSent, 0, 0)
	res, err := r.tools.Call(context.Background(), toolbox.Call{Tool: "create_ticket", Arguments: []byte(`{"project":"OPS","title":"b","ref":"r","token":"t3"}`)})
	if err != nil || res.Word != toolbox.Done {
		t.Errorf("%s %v", res.Message, err)
	}
}

// A reworded call never sends what another call registered, and a call of a process that died holds a reworded one.
func TestRewordedCallSendsNothingOfAnothers(t *testing.T) {
	long := func(what string) string {
		return strings.Replace(ticket442, "Printer down", strings.Repeat(what+" is down. ", 9), 1)
	}
	r := newRig(t, rigOptions{})
	r.arm(`{"on":"tickets.create","do":"refuse"}`)
	r.want(r.call("create_ticket", long("The old printer"), 0), toolbox.NotSent, 0, 0)
	r.fake.ClearFaults()
	r.want(r.call("create_ticket", long("The new printer"), 0), toolbox.Done, 1, 1)
	if made, _ := r.fake.Core().Effects(time.Now()); !strings.Contains(string(r.fake.Core().Requests().List[0].Body), "The new printer") {
		t.Errorf("another's text was sent: %+v", made)
	}

	store := memjournal.New()
	dead := newRig(t, rigOptions{store: store, wire: deadWire{toolbox.DirectWire()}, lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		if f.Guard != "" {
			f.Lookup = nil
		}
		return f, err
	}})
	go dead.tools.Call(context.Background(), toolbox.Call{Tool: "create_ticket", Arguments: []byte(long("The first"))})
	living := newRig(t, rigOptions{store: store, lay: quick})
	for { // until the first one has claimed
		if ops, _, _ := store.List(context.Background(), journal.Query{}); len(ops) == 1 && ops[0].Status == journal.InProgress {
			break
		}
	}
	res := living.call("create_ticket", long("The second"), 0)
	living.want(res, toolbox.NotConfirmed, 0, 0)
}

// deadWire is that of a process which was killed right behind its claim: nothing is ever heard of it.
type deadWire struct{ toolbox.Wire }

func (deadWire) Send(ctx context.Context, _ toolbox.Tool, _ toolbox.Request) toolbox.Answer {
	<-ctx.Done()
	return toolbox.Answer{Outcome: journal.OutcomeUnknown, Reason: "timeout"}
}

// A clock that is set back gives no second allowance, and a limit reached meanwhile asks once more.
func TestLimitsUnderAWrongClockAndAnApproval(t *testing.T) {
	clock := &skewed{Clock: toolbox.RealClock()}
	r := newRig(t, rigOptions{clock: clock, lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		if f.Echo["amount_minor"] != "" {
			f.Limits, f.Approval = &toolbox.Limits{Count: 1}, &toolbox.Approval{When: "args.amount_minor > 1000"}
		}
		return f, err
	}})
	waits := r.call("create_payment", pay, 0)
	r.want(waits, toolbox.WaitsForHuman, 0, 0)
	small := func(order string) string { return `{"order_id":"` + order + `","amount_minor":1,"currency":"RUB"}` }
	r.want(r.call("create_payment", small("1"), 0), toolbox.Done, 1, 1)
	again := r.ruled(waits.Key, toolbox.Ruling{Decision: "approve"}) // approved, but the day's one is spent now
	r.want(again, toolbox.WaitsForHuman, 1, 1)
	r.want(r.ruled(waits.Key, toolbox.Ruling{Decision: "approve"}), toolbox.Done, 2, 2)
	clock.jump(-48*time.Hour, 0)
	r.want(r.call("create_payment", small("2"), 0), toolbox.WaitsForHuman, 2, 2)
}

// Three corrections a day follow rejections by themselves, and no fourth.
func TestThreeCorrections(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.arm(`{"on":"payments.create","do":"reject","status":422,"code":"declined","times":9}`)
	for i, amount := range []string{"490000", "480000", "470000", "460000"} {
		r.want(r.call("create_payment", strings.Replace(pay, "490000", amount, 1), 0), toolbox.Rejected, i+1, 0)
	}
	r.want(r.call("create_payment", strings.Replace(pay, "490000", "450000", 1), 0), toolbox.ConflictWord, 4, 0)
}

// Leave is given on the newest of a wish: on an older one it would never be used, and the person would be told that it was given.
func TestLeaveBelongsToTheNewest(t *testing.T) {
	clock := &skewed{Clock: toolbox.RealClock()}
	r := newRig(t, rigOptions{clock: clock, lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		f.Unique = false
		return f, err
	}})
	other := strings.Replace(pay, "490000", "480000", 1)
	first := r.call("create_payment", pay, 0)
	r.want(r.call("create_payment", other, 0), toolbox.ConflictWord, 1, 1)
	r.ruled(first.Key, toolbox.Ruling{Decision: "again"})
	second := r.call("create_payment", other, 0)
	r.want(second, toolbox.Done, 2, 2)
	r.want(r.call("create_payment", pay, 0), toolbox.AlreadyDone, 2, 2) // the first one, as it is today
	r.refused(first.Key, toolbox.Ruling{Decision: "again"})
	clock.jump(30*time.Hour, 30*time.Hour)
	r.want(r.call("create_payment", pay, 0), toolbox.ConflictWord, 2, 2) // asked on the newest, where leave counts
	r.ruled(second.Key, toolbox.Ruling{Decision: "again"})
	r.want(r.call("create_payment", pay, 0), toolbox.Done, 3, 3)
}

// A call that a person calls the same wish in other words sends nothing of the registered one, whose approval has ended.
func TestSameWishInOtherWordsSendsNothing(t *testing.T) {
	clock := &skewed{Clock: toolbox.RealClock()}
	r := newRig(t, rigOptions{clock: clock, lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		if f.Echo["amount_minor"] != "" {
			f.Approval = &toolbox.Approval{When: "args.amount_minor > 100000"}
		}
		return f, err
	}})
	first := r.call("create_payment", pay, 0)
	r.arm(`{"on":"payments.create","do":"refuse"}`)
	r.want(r.ruled(first.Key, toolbox.Ruling{Decision: "approve"}), toolbox.NotSent, 0, 0)
	r.fake.ClearFaults()
	clock.jump(25*time.Hour, 25*time.Hour)
	small := strings.Replace(pay, "490000", "1", 1)
	r.want(r.call("create_payment", small, 0), toolbox.ConflictWord, 0, 0)
	r.ruled(first.Key, toolbox.Ruling{Decision: "same"})
	r.want(r.call("create_payment", small, 5*time.Second), toolbox.NotSent, 0, 0)
	r.want(r.call("create_payment", pay, 0), toolbox.WaitsForHuman, 0, 0)
}

// A reworded call that waits for a lost outcome does not send it when it turns out to be absent.
func TestRewordedCallDoesNotResendWhatIsAbsent(t *testing.T) {
	r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		if f.Guard != "" {
			l := *f.Lookup
			l.Complete, l.Misses = true, 1
			f.Lookup, f.Resend = &l, "never"
		}
		return f, err
	}})
	long := func(what string) string {
		return strings.Replace(ticket442, "Printer down", strings.Repeat(what+" is down. ", 9), 1)
	}
	r.arm(`{"on":"tickets.create","do":"timeout_no_commit"}`)
	r.want(r.call("create_ticket", long("The old printer"), 0), toolbox.NotConfirmed, 1, 0)
	r.want(r.call("create_ticket", long("The new printer"), 3*time.Second), toolbox.NotSent, 1, 0)
}
