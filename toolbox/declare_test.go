package toolbox_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/journal/memjournal"
	"notwice/policy"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// redeclared is a program that declares create_ticket in its own way, over a journal and a provider that live on.
func redeclared(t *testing.T, store journal.Journal, fake *fakeprovider.Server, change func(*toolbox.Declaration)) *rig {
	t.Helper()
	r := &rig{t: t, fake: fake, store: store}
	d, err := demo.Declare("create_ticket", fake.URL(), "fake")
	if err != nil {
		t.Fatal(err)
	}
	d.Shape.Fields = slices.Clone(d.Shape.Fields)
	d.Facts, _ = quick(d.Facts)
	d.Facts.Lookup = nil
	change(&d)
	tool, err := httptool.New(d, nil)
	if err == nil {
		r.tools, err = toolbox.New(context.Background(), toolbox.Options{Journal: store})
	}
	if err == nil {
		err = r.tools.Add(tool)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.tools.Drain(context.Background()) })
	return r
}

func role(name string, role canonical.Role) func(*toolbox.Declaration) {
	return func(d *toolbox.Declaration) {
		d.Facts.Guard = ""
		d.Shape.Field(name).Role = role
	}
}

const ticket442 = `{"project":"OPS","title":"Printer down","ref":"case-442"}`

// A tool learns its identity on the second day. What was registered before is found under it: open, final, and whatever the
// other fields say.
func TestDeclaringIdentityLaterDoesNotForget(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (journal.Journal, func() journal.Journal){
		"memory": func(t *testing.T) (journal.Journal, func() journal.Journal) {
			s := memjournal.New()
			return s, func() journal.Journal { return s }
		},
		"bbolt": func(t *testing.T) (journal.Journal, func() journal.Journal) {
			path := filepath.Join(t.TempDir(), "j.db")
			openOne := func() journal.Journal {
				s, err := boltjournal.Open(path, boltjournal.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s
			}
			return openOne(), openOne
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake, err := fakeprovider.Start(fakeprovider.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { fake.Close() })
			store, reopen := open(t)
			before := redeclared(t, store, fake, func(*toolbox.Declaration) {})
			done := before.call("create_ticket", ticket442, 0)
			before.want(done, toolbox.Done, 1, 1)
			before.arm(`{"on":"tickets.create","do":"timeout_no_commit"}`)
			lost := before.call("create_ticket", strings.ReplaceAll(ticket442, "442", "443"), 0)
			before.want(lost, toolbox.NotConfirmed, 2, 1)

			after := redeclared(t, reopen(), fake, role("ref", canonical.Identity))
			again := after.call("create_ticket", ticket442, 0)
			after.want(again, toolbox.AlreadyDone, 2, 1)
			if again.Key != done.Key {
				t.Error("another operation was found")
			}
			other := strings.Replace(ticket442, "Printer", "The printer is", 1)
			after.want(after.call("create_ticket", other, 0), toolbox.ConflictWord, 2, 1)
			after.want(after.call("create_ticket", strings.ReplaceAll(other, "442", "443"), 0), toolbox.ConflictWord, 2, 1) // the first is unknown
			folded := strings.Replace(ticket442, "case-442", " CASE-442", 1)
			after.want(after.call("create_ticket", folded, 0), toolbox.ConflictWord, 2, 1) // the same after folding, other bytes
			after.want(after.call("create_ticket", strings.ReplaceAll(ticket442, "442", "444"), 0), toolbox.Done, 3, 2)

			// and back: two programs with different declarations take turns on one journal
			back := redeclared(t, reopen(), fake, func(*toolbox.Declaration) {})
			back.want(back.call("create_ticket", ticket442, 0), toolbox.Done, 4, 3) // heard, and another write came between
			after.want(after.call("create_ticket", strings.ReplaceAll(ticket442, "442", "444"), 0), toolbox.AlreadyDone, 4, 3)
		})
	}
}

// A field that an old record lacks counts as absent: a call without it is the old wish, one with it is another.
func TestFieldThatAnOldRecordLacks(t *testing.T) {
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	store := memjournal.New()
	before := redeclared(t, store, fake, role("project", canonical.Identity))
	before.want(before.call("create_ticket", `{"project":"OPS","title":"Printer down"}`, 0), toolbox.Done, 1, 1)
	after := redeclared(t, store, fake, func(d *toolbox.Declaration) {
		role("project", canonical.Identity)(d)
		role("ref", canonical.Identity)(d)
	})
	after.want(after.call("create_ticket", `{"project":"OPS","title":"Printer down"}`, 0), toolbox.AlreadyDone, 1, 1)
	after.want(after.call("create_ticket", `{"project":"OPS","title":"Printer down","ref":"r-1"}`, 0), toolbox.Done, 2, 2)
}

// A field that becomes volatile is in neither hash any more: what is found is judged by the newest declaration.
func TestFieldThatBecomesVolatile(t *testing.T) {
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	store := memjournal.New()
	before := redeclared(t, store, fake, role("ref", canonical.Identity))
	before.want(before.call("create_ticket", ticket442, 0), toolbox.Done, 1, 1)
	after := redeclared(t, store, fake, func(d *toolbox.Declaration) {
		role("ref", canonical.Identity)(d)
		role("title", canonical.Volatile)(d)
	})
	after.want(after.call("create_ticket", strings.Replace(ticket442, "Printer down", "tok-9", 1), 0), toolbox.AlreadyDone, 1, 1)
	after.want(after.call("create_ticket", strings.Replace(ticket442, "OPS", "DEV", 1), 0), toolbox.ConflictWord, 1, 1)
}

// A scope that becomes narrower or wider finds what was registered under the other.
func TestScopeThatChanges(t *testing.T) {
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	store := memjournal.New()
	scope := func(scope string) func(*toolbox.Declaration) {
		return func(d *toolbox.Declaration) {
			role("ref", canonical.Identity)(d)
			d.Facts.Scope, d.Facts.Unique = scope, true
		}
	}
	turns := redeclared(t, store, fake, scope("turn"))
	in := func(r *rig, turn int) toolbox.Result {
		t.Helper()
		res, err := r.tools.Call(context.Background(), toolbox.Call{Tool: "create_ticket", Arguments: []byte(ticket442), Task: "t", Turn: turn})
		if err != nil {
			t.Fatal(err)
		}
		res.Delivered()
		r.store.Flush(context.Background())
		return res
	}
	turns.want(in(turns, 1), toolbox.Done, 1, 1)
	turns.want(in(turns, 2), toolbox.Done, 2, 2)
	whole := redeclared(t, store, fake, scope("journal"))
	whole.want(in(whole, 3), toolbox.AlreadyDone, 2, 2)
	again := redeclared(t, store, fake, scope("turn"))
	again.want(in(again, 1), toolbox.AlreadyDone, 2, 2)
	again.want(in(again, 3), toolbox.Done, 3, 3)
}

// The guard of a tool without declared identity follows from what its words speak of.
func TestDefaultGuard(t *testing.T) {
	for words, want := range map[[3]string]policy.Guard{
		{"send_message", "", ""}:                     policy.GuardFull,
		{"createPayment", "", ""}:                    policy.GuardFull,
		{"chat.postMessage", "", ""}:                 policy.GuardFull,
		{"file_write", "Edits a text in place.", ""}: policy.GuardLost,
		{"click", "Clicks an element.", ""}:          policy.GuardLost,
		{"query", "Runs a query.", ""}:               policy.GuardLost,
		{"do_it", "Books a table.", ""}:              policy.GuardFull,
		{"do_it", "Отправляет письмо.", ""}:          policy.GuardFull,
		{"do_it", "Меняет строку.", ""}:              policy.GuardLost,
		{"do_it", "", "idempotency_key"}:             policy.GuardFull,
		{"do_it", "", "key"}:                         policy.GuardFull,
		{"do_it", "", "keyboard"}:                    policy.GuardLost,
		{"move_file", "Moves a file.", "source"}:     policy.GuardLost,
		{"repay_loan", "", ""}:                       policy.GuardFull,
		{"autopay", "", ""}:                          policy.GuardFull,
		{"reorder_item", "", ""}:                     policy.GuardFull,
		{"HTTPSend", "", ""}:                         policy.GuardFull,
		{"APIPost", "", ""}:                          policy.GuardFull,
		{"checkout", "", ""}:                         policy.GuardFull,
		{"remit_funds", "", ""}:                      policy.GuardFull,
		{"forward_to", "", ""}:                       policy.GuardFull,
		{"dispatch_parcel", "", ""}:                  policy.GuardFull,
	} {
		fake, err := fakeprovider.Start(fakeprovider.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := redeclared(t, memjournal.New(), fake, func(d *toolbox.Declaration) {
			d.Name, d.Description, d.Facts.Guard = words[0], words[1], ""
			d.Shape = canonical.Shape{Fields: []canonical.Field{{Name: "text", Type: "string"}}}
			if words[2] != "" {
				d.Shape.Fields = append(d.Shape.Fields, canonical.Field{Name: words[2], Type: "string", Optional: true})
			}
			d.Schema = map[string]any{"type": "object"}
			d.Facts.Echo = nil
		})
		if got := r.tools.Guard(words[0]); got != string(want) {
			t.Errorf("%v: guard %s, want %s", words, got, want)
		}
		fake.Close()
	}
}

// The three guards, over what an equal call and a reworded one mean once the answer was delivered, and before.
func TestGuards(t *testing.T) {
	reworded := strings.Replace(ticket442, "Printer down", strings.Repeat("The printer is down. ", 5), 1)
	long := strings.Replace(ticket442, "Printer down", strings.Repeat("Printer down again. ", 5), 1)
	for _, c := range []struct {
		guard                      string
		equal, later, lostReworded int // effects after each
	}{
		{"full", 1, 2, 2},
		{"lost", 2, 3, 4},
		{"off", 2, 3, 4},
	} {
		t.Run(c.guard, func(t *testing.T) {
			clock := &skewed{Clock: toolbox.RealClock()}
			r := newRig(t, rigOptions{clock: clock, lay: func(f toolbox.Facts) (toolbox.Facts, error) {
				if f.Guard != "" {
					f.Guard, f.Lookup = c.guard, nil
				}
				return quick(f)
			}})
			effects := func(want int) {
				t.Helper()
				if made, _ := r.fake.Core().Effects(time.Now()); len(made) != want {
					t.Errorf("%d effects, want %d", len(made), want)
				}
			}
			r.call("create_ticket", ticket442, 0)
			r.call("create_ticket", ticket442, 0)
			effects(c.equal)
			clock.jump(11*time.Minute, 11*time.Minute) // behind the window
			r.call("create_ticket", ticket442, 0)
			effects(c.later)
			r.arm(`{"on":"tickets.create","do":"timeout_no_commit"}`)
			r.call("create_ticket", long, 0)
			r.call("create_ticket", reworded, 0) // the same in its short fields, while the first one's answer is lost
			effects(c.lostReworded)
		})
	}
}

// Case 14: equal values that were built in other ways are one request.
func TestCase014EqualValuesBuiltOtherwise(t *testing.T) {
	r := newRig(t, rigOptions{})
	shared := map[string]any{"order_id": "817", "amount_minor": canonical.Number("490000"), "currency": "RUB"}
	copied, _ := json.Marshal(demo.CreatePayment{OrderID: "817", AmountMinor: 490000, Currency: "RUB"})
	for i, call := range []toolbox.Call{
		{Tool: "create_payment", Given: &toolbox.Given{Args: shared}},
		{Tool: "create_payment", Arguments: copied},
		{Tool: "create_payment", Arguments: []byte(`{ "currency" : "RUB", "amount_minor":490000 , "order_id":"817"}`)},
	} {
		res, err := r.tools.Call(context.Background(), call)
		if err != nil || i > 0 && res.Word != toolbox.AlreadyDone {
			t.Errorf("form %d: %s %v", i, res.Message, err)
		}
	}
	r.counts(1, 1)
}

// Case 20: what an attempt proved is stored together: after a crash at any point there is no id without its state.
func TestCase020IDAndStateAreOneRecord(t *testing.T) {
	r := newRig(t, rigOptions{})
	res := r.call("create_payment", pay, 0)
	events, err := r.store.History(context.Background(), journal.Key(res.Key))
	if err != nil {
		t.Fatal(err)
	}
	op, _ := r.store.Get(context.Background(), journal.Key(res.Key))
	if op.Status != journal.Succeeded || op.ExternalID == "" || op.Result == nil || r.store.Stats().Commits > 3 {
		t.Errorf("%+v after %d commits and %d events", op, r.store.Stats().Commits, len(events))
	}
}

// Case 166: reads are never answered from the journal, and two requests that differ in one element of a list are two.
func TestCase166WhatDiffersIsAnother(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.call("create_payment", pay, 0)
	for range 2 {
		r.call("get_payment", `{"order_id":"817"}`, 0)
	}
	if got := r.fake.Core().Requests().Lookups; got != 2 {
		t.Errorf("two equal reads asked the provider %d times", got)
	}
	fake := r.fake
	lists := redeclared(t, memjournal.New(), fake, func(d *toolbox.Declaration) {
		d.Shape.Fields = append(d.Shape.Fields, canonical.Field{Name: "items", Type: "array"})
		d.Schema = map[string]any{"type": "object"}
	})
	lists.want(lists.call("create_ticket", `{"project":"OPS","title":"T","ref":"r","items":[1,2,3]}`, 0), toolbox.Done, 2, 2)
	lists.want(lists.call("create_ticket", `{"project":"OPS","title":"T","ref":"r","items":[1,2,4]}`, 0), toolbox.Done, 3, 3)
}
