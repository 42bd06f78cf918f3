package toolbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/journal/memjournal"
	"notwice/policy"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

func (r *rig) rule(key string, ruling toolbox.Ruling) (toolbox.Result, error) {
	if ruling.By == "" {
		ruling.By = "anna"
	}
	return r.tools.Rule(context.Background(), journal.Key(key), ruling)
}

func (r *rig) ruled(key string, ruling toolbox.Ruling) toolbox.Result {
	r.t.Helper()
	res, err := r.rule(key, ruling)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// refused wants a ruling that is not taken and leaves nothing.
func (r *rig) refused(key string, ruling toolbox.Ruling) {
	r.t.Helper()
	before, _ := r.store.History(context.Background(), journal.Key(key))
	var why *policy.Refused
	if res, err := r.rule(key, ruling); !errors.As(err, &why) {
		r.t.Errorf("%s was taken: %s %v", ruling.Decision, res.Message, err)
	}
	if after, _ := r.store.History(context.Background(), journal.Key(key)); len(after) != len(before) {
		r.t.Errorf("a refused %s left %d events", ruling.Decision, len(after)-len(before))
	}
}

func always(f toolbox.Facts) (toolbox.Facts, error) {
	f, err := quick(f)
	if f.Effect == toolbox.Write {
		f.Approval = &toolbox.Approval{Always: true}
	}
	return f, err
}

// A limit of ten holds under sixteen callers in two processes on one journal.
func TestLimitUnderManyCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	lay := func(f toolbox.Facts) (toolbox.Facts, error) {
		if f.Effect == toolbox.Write {
			f.Limits = &toolbox.Limits{Count: 10}
		}
		return f, nil
	}
	open := func() journal.Journal {
		s, err := boltjournal.Open(path, boltjournal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	a := newRig(t, rigOptions{store: open(), lay: lay})
	b := newRig(t, rigOptions{store: open(), lay: lay, fake: a.fake})
	var wg sync.WaitGroup
	words := make([]toolbox.Word, 16)
	for i := range words {
		wg.Go(func() {
			args := fmt.Sprintf(`{"order_id":"%d","amount_minor":100,"currency":"RUB"}`, 1000+i)
			words[i] = []*rig{a, b}[i%2].call("create_payment", args, 0).Word
		})
	}
	wg.Wait()
	waits := 0
	for _, w := range words {
		if w == toolbox.WaitsForHuman {
			waits++
		}
	}
	if waits != 6 {
		t.Errorf("%d calls wait, want 6: %v", waits, words)
	}
	a.counts(10, 10)
}

// A sum is kept for each currency, in exact minor units, and counts what is only perhaps spent.
func TestLimitOfASum(t *testing.T) {
	r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		if f.Effect == toolbox.Write {
			f.Limits, f.Resend = &toolbox.Limits{Sum: "1000"}, "never"
			if len(f.Echo) == 0 || f.Echo["amount_minor"] == "" {
				f.Limits = nil
			}
		}
		return f, nil
	}})
	call := func(order, amount, currency string) toolbox.Result {
		return r.call("create_payment", fmt.Sprintf(`{"order_id":%q,"amount_minor":%s,"currency":%q}`, order, amount, currency), 0)
	}
	r.arm(`{"on":"payments.create","do":"commit_then_reset"}`)
	r.want(call("1", "600", "RUB"), toolbox.NotConfirmed, 1, 1)
	over := call("2", "401", "RUB")
	r.want(over, toolbox.WaitsForHuman, 1, 1)
	if !strings.Contains(over.Message, "6.00 RUB of 10.00 RUB a day is spent") {
		t.Errorf("the answer does not say what is spent: %s", over.Message)
	}
	r.want(call("3", "400", "RUB"), toolbox.Done, 2, 2)
	r.want(call("4", "1000", "USD"), toolbox.Done, 3, 3)
	r.want(call("5", "1", "USD"), toolbox.WaitsForHuman, 3, 3)
	r.want(call("6", "18446744073709551616", "JPY"), toolbox.WaitsForHuman, 3, 3)      // beyond 64 bits
	r.want(r.ruled(over.Key, toolbox.Ruling{Decision: "approve"}), toolbox.Done, 4, 4) // on a person's word
	r.want(call("7", "1", "RUB"), toolbox.WaitsForHuman, 4, 4)
}

// A condition is judged over the arguments; what cannot be judged asks, what is no condition is refused when the tool is added.
func TestApprovalConditions(t *testing.T) {
	for when, asks := range map[string]bool{
		"args.amount_minor > 100000":                                   true,
		"args.amount_minor > 490000":                                   false,
		"args.amount_minor":                                            true, // no yes or no
		`args.currency != "RUB" or args.amount_minor >= 490000`:        true,
		`args.note contains "urgent"`:                                  false, // there is no note
		`args.note > 5`:                                                true,  // it cannot be judged
		`args.note != nil and args.note contains "urgent"`:             false,
		`args.order_id in ["1", "2"]`:                                  false,
		`args["amount_minor"] == 490000 && len(args.order_id) == 3`:    true,
		`args.order_id > 5`:                                            true, // a text and a number
		`any([1,2,3], # == args.amount_minor)`:                         false,
		`args.currency matches "^R"`:                                   true,
		`args.amount_minor % 100 != 0`:                                 false,
		`float(args.amount_minor) / 100 >= 4900.0 and not (1 > 2) `:    true,
		`let limit = 490000; args.amount_minor >= limit`:               true,
		`args.amount_minor >= 490000 ? args.currency == "RUB" : false`: true,
	} {
		r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) {
			if f.Effect == toolbox.Write && f.Echo["amount_minor"] != "" {
				f.Approval = &toolbox.Approval{When: when}
			}
			return quick(f)
		}})
		res := r.call("create_payment", pay, 0)
		if asks {
			r.want(res, toolbox.WaitsForHuman, 0, 0)
			if t.Failed() {
				t.Fatalf("%s did not ask", when)
			}
		} else {
			r.want(res, toolbox.Done, 1, 1)
		}
	}
	for _, when := range []string{"args.amount > 5", "amount_minor > 5", "args.amount_minor >", `"yes"`, "exec('rm')"} {
		d, err := demo.Declare("create_payment", "http://127.0.0.1:1", "fake")
		if err != nil {
			t.Fatal(err)
		}
		d.Facts.Approval = &toolbox.Approval{When: when}
		if err := addTo(t, memjournal.New(), d, nil); err == nil || !strings.Contains(err.Error(), "approval") {
			t.Errorf("%s: added: %v", when, err)
		}
	}
}

func addTo(t *testing.T, store journal.Journal, d toolbox.Declaration, secrets func(string) (string, error)) error {
	t.Helper()
	tools, err := toolbox.New(context.Background(), toolbox.Options{Journal: store, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := httptool.New(d, nil)
	if err != nil {
		return err
	}
	return tools.Add(tool)
}

// What a person lets go is exactly what was shown: another hash, another state, a ruling twice, or nobody's are refused.
func TestRulingsAreBoundToWhatWasShown(t *testing.T) {
	r := newRig(t, rigOptions{lay: always})
	res := r.call("create_payment", pay, 0)
	r.want(res, toolbox.WaitsForHuman, 0, 0)
	op, _ := r.store.Get(context.Background(), journal.Key(res.Key))
	shown := policy.Episode(&op)
	other, err := r.tools.RequestHash(toolbox.Call{Tool: "create_payment", Arguments: []byte(`{"order_id":"817","amount_minor":4900000,"currency":"RUB"}`)})
	if err != nil {
		t.Fatal(err)
	}
	r.refused(res.Key, toolbox.Ruling{Decision: "approve", RequestHash: other})
	for _, word := range []string{"happened", "close", "wait", "replace", "same", "again", "seen", "same_account", "", "yes"} {
		r.refused(res.Key, toolbox.Ruling{Decision: word})
	}
	if _, err := r.tools.Rule(context.Background(), journal.Key(res.Key), toolbox.Ruling{Decision: "approve"}); err == nil {
		t.Error("nobody's ruling was taken")
	}
	r.call("create_payment", `{"order_id":"817","amount_minor":480000,"currency":"RUB"}`, 0) // asks a question: it moved
	r.refused(res.Key, toolbox.Ruling{Decision: "approve", Episode: shown})
	r.counts(0, 0)
	op, _ = r.store.Get(context.Background(), journal.Key(res.Key))
	r.want(r.ruled(res.Key, toolbox.Ruling{Decision: "approve", Episode: policy.Episode(&op), Why: "checked", Shown: "order 817"}), toolbox.Done, 1, 1)
	r.refused(res.Key, toolbox.Ruling{Decision: "approve", Episode: policy.Episode(&op)})
	history, _ := r.store.History(context.Background(), journal.Key(res.Key))
	i := slices.IndexFunc(history, func(e journal.Event) bool { return e.What == "ruled" })
	if i < 0 || history[i].By != "anna" || history[i].Note != "checked" || history[i].Shown != "order 817" || history[i].At.IsZero() {
		t.Errorf("the history does not say who decided what, when, why and on what: %+v", history)
	}
}

// Many people decide at once: one decision is taken, one request goes.
func TestOneRulingAnEpisode(t *testing.T) {
	r := newRig(t, rigOptions{lay: always})
	res := r.call("create_payment", pay, 0)
	op, _ := r.store.Get(context.Background(), journal.Key(res.Key))
	var wg sync.WaitGroup
	taken := make([]error, 12)
	for i := range taken {
		wg.Go(func() {
			word := []string{"approve", "approve", "decline"}[i%3]
			_, taken[i] = r.rule(res.Key, toolbox.Ruling{Decision: word, Episode: policy.Episode(&op)})
		})
	}
	wg.Wait()
	n := 0
	for _, err := range taken {
		if err == nil {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d rulings were taken, want 1", n)
	}
	if made, _ := r.fake.Core().Effects(time.Now()); len(made) > 1 {
		t.Errorf("%d effects", len(made))
	}
}

// Leave to do it again: for one request, once, for a day, in the hands of many callers.
func TestPermit(t *testing.T) {
	clock := &skewed{Clock: toolbox.RealClock()}
	r := newRig(t, rigOptions{clock: clock})
	first := r.call("create_payment", pay, 0)
	r.want(first, toolbox.Done, 1, 1)
	r.ruled(first.Key, toolbox.Ruling{Decision: "again"})
	clock.jump(25*time.Hour, 25*time.Hour)
	r.want(r.call("create_payment", pay, 0), toolbox.AlreadyDone, 1, 1) // it has expired; the tool's identity is unique
	r.ruled(first.Key, toolbox.Ruling{Decision: "again"})
	var wg sync.WaitGroup
	done := make([]toolbox.Word, 8)
	for i := range done {
		wg.Go(func() { done[i] = r.call("create_payment", pay, 5*time.Second).Word })
	}
	wg.Wait()
	r.counts(2, 2)
	second := r.call("create_payment", pay, 0)
	r.want(second, toolbox.AlreadyDone, 2, 2)
	if second.Key == first.Key {
		t.Error("the second intent bears the first one's key")
	}
}

// Approval ends after a day: what did not leave this machine until then asks again.
func TestApprovalExpires(t *testing.T) {
	clock := &skewed{Clock: toolbox.RealClock()}
	r := newRig(t, rigOptions{clock: clock, lay: always})
	res := r.call("create_payment", pay, 0)
	r.arm(`{"on":"payments.create","do":"refuse"}`)
	r.want(r.ruled(res.Key, toolbox.Ruling{Decision: "approve"}), toolbox.NotSent, 0, 0)
	r.fake.ClearFaults()
	clock.jump(25*time.Hour, 25*time.Hour)
	r.want(r.call("create_payment", pay, 0), toolbox.WaitsForHuman, 0, 0)
	r.arm(`{"on":"payments.create","do":"refuse"}`)
	r.want(r.ruled(res.Key, toolbox.Ruling{Decision: "approve"}), toolbox.NotSent, 0, 0)
	r.fake.ClearFaults()
	r.want(r.call("create_payment", pay, 0), toolbox.Done, 1, 1) // still the day of the approval
}

// A volatile field comes with a caller only: an approved request waits for its next equal call, and sends that call's value.
func TestApprovalOfWhatNeedsItsCaller(t *testing.T) {
	seen := &headerSeen{RoundTripper: httptool.NewTransport()}
	r := newRig(t, rigOptions{lay: always, rt: seen})
	const with = `{"order_id":"817","amount_minor":490000,"currency":"RUB","device":"d1"}`
	res := r.call("create_payment", with, 0)
	r.want(res, toolbox.WaitsForHuman, 0, 0)
	r.want(r.ruled(res.Key, toolbox.Ruling{Decision: "approve"}), toolbox.NotSent, 0, 0)
	r.want(r.call("create_payment", strings.Replace(with, "d1", "d2", 1), 0), toolbox.Done, 1, 1)
	if got := seen.devices; !slices.Equal(got, []string{"d2"}) {
		t.Errorf("the devices sent are %q", got)
	}
}

// The one that was asked for instead goes, under a key of its own; the dropped one never does.
func TestReplaceWithVolatile(t *testing.T) {
	seen := &headerSeen{RoundTripper: httptool.NewTransport()}
	r := newRig(t, rigOptions{lay: always, rt: seen})
	old := r.call("create_payment", pay, 0)
	const other = `{"order_id":"817","amount_minor":480000,"currency":"RUB","device":"d1"}`
	r.want(r.call("create_payment", other, 0), toolbox.ConflictWord, 0, 0)
	next := r.ruled(old.Key, toolbox.Ruling{Decision: "replace"})
	r.want(next, toolbox.NotSent, 0, 0) // it needs the device of a caller
	if next.Key == old.Key {
		t.Error("the replacement bears the old key")
	}
	r.want(r.call("create_payment", other, 0), toolbox.Done, 1, 1)
	dropped, _ := r.store.Get(context.Background(), journal.Key(old.Key))
	if dropped.Status != journal.FailedFinal || dropped.Evidence != journal.Person || dropped.Reason != "replaced" {
		t.Errorf("the dropped one is %s by %s: %s", dropped.Status, dropped.Evidence, dropped.Reason)
	}
	if got := seen.devices; !slices.Equal(got, []string{"d1"}) {
		t.Errorf("the devices sent are %q", got)
	}
}

// Somebody is told once when something begins to wait, and not again for each call that finds it waiting.
func TestNotifyOnce(t *testing.T) {
	var mu sync.Mutex
	var told []string
	r := newRig(t, rigOptions{lay: always, notify: func(res toolbox.Result) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, res.Title)
	}})
	for range 3 {
		r.call("create_payment", pay, 0)
	}
	for range 3 {
		r.call("create_payment", `{"order_id":"817","amount_minor":480000,"currency":"RUB"}`, 0)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || !strings.Contains(told[0], "4900.00 RUB") {
		t.Errorf("told %d times: %v; want once that it waits and once that another amount is asked for", len(told), told)
	}
}

// A person's word that nothing happened is the person's, also when the provider then refuses the retry.
func TestRefusalAfterAPersonsWord(t *testing.T) {
	r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		f.Resend, f.Lookup = "never", nil
		return f, err
	}})
	r.arm(`{"on":"payments.create","do":"timeout_no_commit"}`)
	res := r.call("create_payment", pay, 0)
	r.want(res, toolbox.NotConfirmed, 1, 0)
	r.arm(`{"on":"payments.create","do":"reject","status":422,"code":"card_declined"}`)
	r.want(r.ruled(res.Key, toolbox.Ruling{Decision: "resend"}), toolbox.Rejected, 2, 0)
	op, _ := r.store.Get(context.Background(), journal.Key(res.Key))
	if op.Evidence != journal.Person || op.Key != journal.Key(res.Key) {
		t.Errorf("the end rests on %s under %s", op.Evidence, op.Key)
	}
}

// An id that belongs to another operation cannot be given to this one (S22).
func TestHappenedWithAnotherOnesID(t *testing.T) {
	r := newRig(t, rigOptions{lay: func(f toolbox.Facts) (toolbox.Facts, error) {
		f, err := quick(f)
		f.Resend, f.Lookup = "never", nil
		return f, err
	}})
	first := r.call("create_payment", strings.Replace(pay, "817", "1", 1), 0)
	r.arm(`{"on":"payments.create","do":"timeout_no_commit"}`)
	res := r.call("create_payment", pay, 0)
	r.refused(res.Key, toolbox.Ruling{Decision: "happened", ExternalID: first.ExternalID})
	r.want(r.ruled(res.Key, toolbox.Ruling{Decision: "happened"}), toolbox.Done, 2, 1)
}

// Secrets that were changed while an outcome is unknown open, for all we know, another account: what it does not show proves
// nothing, and a repeated key may be a new one there. A person says whether it is the same.
func TestRepointedSecret(t *testing.T) {
	for name, resend := range map[string]string{"same key": "same_key", "after absence": "after_absence"} {
		t.Run(name, func(t *testing.T) {
			token := "first"
			r := newRig(t, rigOptions{secrets: func(string) (string, error) { return token, nil }, lay: func(f toolbox.Facts) (toolbox.Facts, error) {
				f, err := quick(f)
				if f.Echo["amount_minor"] != "" {
					f.HTTP.Headers = map[string]string{"Authorization": "Bearer ${secret.SHOP}"}
					f.Resend = resend
					if resend == "after_absence" {
						f.OnRepeat = "executes"
					} else {
						f.Lookup = nil
					}
				}
				return f, err
			}})
			r.arm(`{"on":"payments.create","do":"timeout_no_commit"}`)
			res := r.call("create_payment", pay, 0)
			r.want(res, toolbox.NotConfirmed, 1, 0)
			token = "second"
			again := r.call("create_payment", pay, time.Second)
			r.want(again, toolbox.WaitsForHuman, 1, 0)
			if !strings.Contains(again.Message, "secrets were changed") {
				t.Errorf("the answer does not say why: %s", again.Message)
			}
			r.ruled(res.Key, toolbox.Ruling{Decision: "same_account"})
			r.want(r.call("create_payment", pay, 2*time.Second), toolbox.Done, 2, 1)
		})
	}
}

// headerSeen notes the device that writes bear.
type headerSeen struct {
	http.RoundTripper
	devices []string
}

func (h *headerSeen) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == "POST" {
		h.devices = append(h.devices, req.Header.Get("X-Device"))
	}
	return h.RoundTripper.RoundTrip(req)
}
