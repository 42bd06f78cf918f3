package journaltest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// register: what was registered is there after a restart, field by field.
func register(r *rig) {
	op := fresh(1, "817")
	op.Position = "default/3/0"
	op.Fields = []journal.Field{{Name: "order_id", Role: canonical.Identity, Value: "817", Digest: "d", Folded: "f"}}
	op.Wait = &journal.Wait{Reason: "approval", Since: at(1), Note: "n", Candidates: []journal.Candidate{{ID: "pay_1", Created: at(2), Differs: []string{"amount"}}}}
	op.Flags = []journal.Flag{{At: at(3), What: "odd"}}
	op.SendUntil, op.NotBefore, op.Delivered, op.CallerLost = at(900), at(5), at(6), true
	r.register(op)
	r.must(r.change(op.Key, claim))
	want := op.Clone()
	claim(&want)
	r.reopen()
	got := r.get(op.Key)
	if !reflect.DeepEqual(inUTC(got), inUTC(want)) {
		r.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// inUTC brings the times of a record into one form: a store keeps the instant, not how it was written.
func inUTC(op journal.Operation) journal.Operation {
	text, err := canonical.EncodeRecord(op)
	if err == nil {
		err = canonical.DecodeRecord(text, &op)
	}
	if err != nil {
		panic(err)
	}
	return op
}

// takenNames: a key, an intent and a number belong to one operation.
func takenNames(r *rig) {
	first := r.register(fresh(1, "817"))
	for name, spoil := range map[string]func(*journal.Operation){
		"intent": func(op *journal.Operation) { op.Intent = first.Intent },
		"number": func(op *journal.Operation) { op.Number = first.Number },
		"key":    func(op *journal.Operation) { op.Key = first.Key },
	} {
		op := fresh(2, "817")
		spoil(&op)
		if err := r.tryRegister(op); !errors.Is(err, journal.ErrInvariant) {
			r.Errorf("a second operation with the same %s: %v", name, err)
		}
	}
	found, _, err := r.List(ctx, journal.Query{})
	r.must(err)
	r.same("the list", keysOf(found), 1)
	events, err := r.History(ctx, first.Key)
	r.must(err)
	if len(events) != 1 {
		r.Errorf("a refused registration left %d events", len(events)-1)
	}
}

// known: open operations of a kin are seen from every scope; a final one is unheard until it was delivered, unless its
// scope is the journal.
func known(r *rig) {
	task := func(n int, name string) journal.Operation {
		op := fresh(n, "817")
		op.Scope, op.Task = `["task","`+name+`"]`, name
		return op
	}
	a, b := task(1, "a"), task(2, "b")
	r.register(a)
	r.register(b)
	see := func(w journal.Wish, unheard []int, last ...int) {
		r.Helper()
		k := r.ask(w)
		r.same("unheard", keysOf(k.Unheard), unheard...)
		r.same("last", keyIn(k.Last), last...)
	}
	see(wishOf(a), []int{1, 2}, 1)
	see(wishOf(b), []int{1, 2}, 2)
	see(wishOf(task(3, "c")), []int{1, 2})
	r.must(r.change(a.Key, claim))
	r.must(r.change(a.Key, succeed("pay_1")))
	see(wishOf(b), []int{1, 2}, 2) // final, but nobody has had the answer
	r.must(r.change(a.Key, func(op *journal.Operation) { op.Delivered = at(90) }))
	r.reopen()
	see(wishOf(b), []int{2}, 2)
	see(wishOf(a), []int{2}, 1)

	whole := fresh(4, "818") // scope journal: final is heard
	r.register(whole)
	see(wishOf(whole), []int{4}, 4)
	r.must(r.change(whole.Key, claim))
	r.must(r.change(whole.Key, succeed("pay_4")))
	see(wishOf(whole), nil, 4)
	if k := r.ask(wishOf(task(9, "a"))); k.TaskSeq != 1 {
		r.Errorf("task a has registered %d writes, want its own 1", k.TaskSeq)
	}
	if k := r.ask(wishOf(whole)); k.TaskSeq != 4 {
		r.Errorf("the default task stands at %d, want 4", k.TaskSeq)
	}
}

// recent: the newest of a kin, newest first, at most RecentLimit.
func recent(r *rig) {
	const n = journal.RecentLimit + 3
	for i := 1; i <= n; i++ {
		op := fresh(i, "817")
		op.Seq = i
		r.register(op)
	}
	var want []int
	for i := n; i > n-journal.RecentLimit; i-- {
		want = append(want, i)
	}
	k := r.ask(wishOf(fresh(99, "817")))
	r.same("recent", keysOf(k.Recent), want...)
	if len(k.Unheard) != n {
		r.Errorf("%d open operations are seen, want all %d", len(k.Unheard), n)
	}
	if !slices.IsSortedFunc(k.Unheard, func(a, b journal.Operation) int { return strings.Compare(string(a.Key), string(b.Key)) }) {
		r.Error("the open operations are not oldest first")
	}
}

// recorded: a call that stands in a transcript finds its operation, whatever its kin.
func recorded(r *rig) {
	op := fresh(1, "817")
	op.Position = "default/3/0"
	r.register(op)
	r.reopen()
	w := wishOf(fresh(2, "another"))
	w.Position = op.Position
	r.same("recorded", keyIn(r.ask(w).Recorded), 1)
	w.Position = "default/3/1"
	r.same("recorded", keyIn(r.ask(w).Recorded))
	w.Position = ""
	r.same("recorded", keyIn(r.ask(w).Recorded))
}

// kinsApart: case 15, 166: nothing of another kin is ever shown.
func kinsApart(r *rig) {
	a, b := fresh(1, "817"), fresh(2, "817")
	b.Account, b.Kin = "globex@fake", hash("kin", "globex", "817")
	r.register(a)
	r.register(b)
	k := r.ask(wishOf(a))
	r.same("unheard", keysOf(k.Unheard), 1)
	r.same("recent", keysOf(k.Recent), 1)
	r.same("last", keyIn(k.Last), 1)
}

// highTime: the journal keeps the highest time that a written change was given, also from a rider.
func highTime(r *rig) {
	op := fresh(1, "817")
	if high := r.ask(wishOf(op)).High; !high.IsZero() {
		r.Fatalf("a new journal has seen %v", high)
	}
	if _, err := r.DigestKey(ctx, []byte("0123456789abcdef")); err != nil { // a commit without a time
		r.Fatal(err)
	}
	r.reopen()
	if high := r.ask(wishOf(op)).High; !high.IsZero() {
		r.Fatalf("after a commit without a time the journal has seen %v", high)
	}
	r.register(op)
	back := fresh(2, "818")
	back.Registered = at(-500)
	r.register(back)
	r.reopen()
	if high := r.ask(wishOf(op)).High; !high.Equal(at(1)) {
		r.Fatalf("high time %v, want %v", high, at(1))
	}
	r.Later(at(7), op.Key, changed(func(op *journal.Operation) { op.CallerLost = true }))
	r.must(r.Flush(ctx))
	r.reopen()
	if high := r.ask(wishOf(op)).High; !high.Equal(at(7)) {
		r.Fatalf("high time %v after a rider, want %v", high, at(7))
	}
	far := time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)
	r.must(r.DecideByKey(ctx, far, op.Key, changed(func(op *journal.Operation) { op.Due = far })))
	if due, ok, err := r.NextDue(ctx); err != nil || !ok || due.Year() < 2262 {
		r.Errorf("a time far away is due at %v, %v, %v", due, ok, err)
	}
	if high := r.ask(wishOf(op)).High; high.Year() < 2262 {
		r.Errorf("high time %v, want at least the year 2262", high)
	}
}

// copies: what decide was shown and what Get returned may be changed without changing the journal.
func copies(r *rig) {
	op := fresh(1, "817")
	claim(&op)
	op.Status, op.Epoch, op.AttemptCount, op.Attempts, op.Due, op.FirstSent = journal.Pending, 0, 0, nil, time.Time{}, time.Time{}
	op.Flags = []journal.Flag{{At: at(1), What: "one"}}
	op.Wait = &journal.Wait{Reason: "approval", Since: at(1)}
	r.register(op)
	spoil := func(op *journal.Operation) {
		op.Flags[0].What, op.Wait.Reason, op.Status = "two", "spoiled", journal.Unknown
	}
	got := r.get(op.Key)
	spoil(&got)
	k := r.ask(wishOf(op))
	spoil(&k.Unheard[0])
	spoil(&k.Recent[0])
	spoil(k.Last)
	r.wants(r.DecideByKey(ctx, at(1), op.Key, func(k journal.Known) (journal.Change, error) {
		spoil(k.Operation)
		return journal.Change{}, errRefused
	}), errRefused)
	if got := r.get(op.Key); got.Flags[0].What != "one" || got.Wait.Reason != "approval" || got.Status != journal.Pending {
		r.Errorf("a copy was the original: %+v", got)
	}
}

func digestKey(r *rig) {
	first, err := r.DigestKey(ctx, []byte("0123456789abcdef"))
	r.must(err)
	r.reopen()
	second, err := r.DigestKey(ctx, []byte("fedcba9876543210"))
	r.must(err)
	if string(first) != "0123456789abcdef" || r.subject.Reopen != nil && string(second) != string(first) {
		r.Errorf("digest keys %q, %q", first, second)
	}
}
