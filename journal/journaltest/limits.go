package journaltest

import (
	"reflect"
	"sync"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

func counted(day, amount string) *journal.Counted {
	return &journal.Counted{Day: day, Sums: map[string]canonical.Number{"RUB": canonical.Number(amount)}}
}

// spent: what counts against a tool's limits is what its operations say, at every time.
func spent(r *rig) {
	a, b := fresh(1, "817"), fresh(2, "818")
	a.Counted, b.Counted = counted("2026-03-01", "490000"), counted("2026-03-01", "9007199254740993")
	r.register(a)
	r.register(b)
	see := func(day string, count int, sum string) {
		r.Helper()
		var want journal.Spent
		if want.Count = count; sum != "" {
			want.Sums = map[string]canonical.Number{"RUB": canonical.Number(sum)}
		}
		r.must(r.DecideByIntent(ctx, at(0), wishOf(a), func(k journal.Known) (journal.Change, error) {
			if got := k.Spent("create_payment", day); got.Count != count || len(got.Sums)+len(want.Sums) > 0 && !reflect.DeepEqual(got.Sums, want.Sums) {
				r.Errorf("%s: spent %+v, want %+v", day, got, want)
			}
			if other := k.Spent("send_email", day); other.Count != 0 {
				r.Errorf("another tool has spent %+v", other)
			}
			return journal.Change{}, nil
		}))
	}
	see("2026-03-01", 2, "9007199255230993")
	r.reopen()
	r.must(r.change(a.Key, func(op *journal.Operation) { op.Counted = nil }))
	see("2026-03-01", 1, "9007199254740993")
	r.must(r.change(a.Key, func(op *journal.Operation) { op.Counted = counted("2026-03-02", "100") }))
	r.must(r.change(b.Key, func(op *journal.Operation) { op.Counted = counted("2026-03-02", "200") }))
	r.reopen()
	see("2026-03-01", 0, "")
	see("2026-03-02", 2, "300")
	r.must(r.DecideByKey(ctx, at(1), a.Key, func(k journal.Known) (journal.Change, error) {
		if got := k.Spent("create_payment", "2026-03-02"); got.Count != 2 {
			r.Errorf("by key: spent %+v", got)
		}
		return journal.Change{}, nil
	}))
}

// spentByMany: the limit is read and counted in one transaction, so it holds under any number of callers.
func spentByMany(r *rig) {
	const limit = 10
	var wg sync.WaitGroup
	for n := 1; n <= 32; n++ {
		wg.Go(func() {
			op := fresh(n, string(keyOf(n)))
			err := r.DecideByIntent(ctx, at(n), wishOf(op), func(k journal.Known) (journal.Change, error) {
				c := op.Clone()
				if k.Spent(op.Tool, "2026-03-01").Count < limit {
					c.Counted = &journal.Counted{Day: "2026-03-01"}
				}
				return journal.Change{Operation: &c}, nil
			})
			if err != nil {
				r.Errorf("register: %v", err)
			}
		})
	}
	wg.Wait()
	found, _, err := r.List(ctx, journal.Query{Limit: 100})
	r.must(err)
	n := 0
	for _, op := range found {
		if op.Counted != nil {
			n++
		}
	}
	if n != limit || len(found) != 32 {
		r.Errorf("%d of %d operations count, want %d of 32", n, len(found), limit)
	}
}

// twoAtOnce: two operations move together or not at all.
func twoAtOnce(r *rig) {
	old := r.register(fresh(1, "817"))
	next := fresh(2, "817")
	replace := func(spoil func(*journal.Operation)) error {
		return r.DecideByIntent(ctx, at(9), wishOf(next), func(k journal.Known) (journal.Change, error) {
			o, n := k.Unheard[0], next.Clone()
			o.Status, o.Evidence, o.Ended = journal.FailedFinal, journal.Person, at(9)
			spoil(&n)
			return journal.Change{Operation: &n, Events: []journal.Event{{At: at(9), What: "registered"}},
				Other: &journal.Record{Operation: &o, Events: []journal.Event{{At: at(9), What: "ruled", By: "ada", Shown: "817"}}}}, nil
		})
	}
	r.wants(replace(func(n *journal.Operation) { n.Intent = old.Intent }), journal.ErrInvariant)
	r.reopen()
	if got := r.get(old.Key); got.Status != journal.Pending {
		r.Errorf("a refused change left %s", got.Status)
	}
	if events, _ := r.History(ctx, old.Key); len(events) != 1 {
		r.Errorf("a refused change left %d events", len(events))
	}
	r.must(replace(func(*journal.Operation) {}))
	r.reopen()
	r.same("unheard", keysOf(r.ask(wishOf(next)).Unheard), 2)
	if got := r.get(old.Key); got.Status != journal.FailedFinal {
		r.Errorf("the replaced one is %s", got.Status)
	}
	events, err := r.History(ctx, old.Key)
	r.must(err)
	if last := events[len(events)-1]; last.What != "ruled" || last.By != "ada" || last.Shown != "817" {
		r.Errorf("the history ends with %+v", last)
	}
}

// declare: under another declaration the same operations are found in other places, open and final ones.
func declare(r *rig) {
	under := func(op journal.Operation, declared string) journal.Wish {
		w := wishOf(op)
		w.Tool, w.Declared = op.Tool, declared
		return w
	}
	register := func(op journal.Operation) {
		r.Helper()
		r.must(r.DecideByIntent(ctx, op.Registered, under(op, "old"), func(journal.Known) (journal.Change, error) {
			c := op.Clone()
			return journal.Change{Operation: &c}, nil
		}))
	}
	open, final, foreign := fresh(1, "817 a"), fresh(2, "817 b"), fresh(3, "817 a")
	foreign.Tool, foreign.Kin = "send_email", hash("kin", "mail")
	final.Status, final.Evidence, final.Ended = journal.FailedFinal, journal.Response, at(2)
	register(open)
	register(final)
	register(foreign)
	r.reopen()
	merged := fresh(9, "817")
	merged.Scope = `["task","t"]`
	err := r.DecideByIntent(ctx, at(9), under(merged, "new"), func(journal.Known) (journal.Change, error) {
		r.Error("decide was asked under a declaration that the indexes do not know")
		return journal.Change{}, nil
	})
	r.wants(err, journal.ErrDeclared)
	r.wants(r.Declare(ctx, at(9), "create_payment", "new", func(journal.Operation) (journal.Place, error) { return journal.Place{}, errRefused }), errRefused)
	r.same("refused: unheard", keysOf(r.ask(under(open, "old")).Unheard), 1)
	r.must(r.Declare(ctx, at(9), "create_payment", "new", func(op journal.Operation) (journal.Place, error) {
		return journal.Place{Kin: merged.Kin, Scope: merged.Scope}, nil
	}))
	r.reopen()
	k := r.ask(under(merged, "new"))
	r.same("unheard", keysOf(k.Unheard), 1, 2) // in a task's scope the final one has not been heard
	r.same("recent", keysOf(k.Recent), 2, 1)
	r.same("last", keyIn(k.Last), 2)
	if got := r.get(open.Key); got.Intent != open.Intent || got.Kin != merged.Kin {
		r.Errorf("the operation is %+v", got)
	}
	r.same("the other tool", keysOf(r.ask(under(foreign, "old")).Unheard), 3)
	r.wants(r.DecideByIntent(ctx, at(9), under(open, "old"), func(journal.Known) (journal.Change, error) { return journal.Change{}, nil }), journal.ErrDeclared)
}

// question: what only a person can let through stands in the queue, with a time at which it is over.
func question(r *rig) {
	op := r.register(fresh(1, "817"))
	r.must(r.change(op.Key, claim))
	r.must(r.change(op.Key, succeed("pay_1")))
	r.must(r.change(op.Key, func(op *journal.Operation) {
		op.Question = &journal.Question{Kind: "conflict", At: at(90), Expires: at(900), RequestHash: hash("other"), Args: canonical.Raw(`{"order_id":"817"}`)}
		op.Due = at(900)
	}))
	r.reopen()
	found, err := r.Review(ctx, 10)
	r.must(err)
	r.same("review", keysOf(found), 1)
	keys, err := r.Due(ctx, at(900), 10)
	r.must(err)
	r.same("due", keys, 1)
	r.wants(r.change(op.Key, func(op *journal.Operation) { op.Question = nil }), journal.ErrInvariant) // final, yet due
	r.must(r.change(op.Key, func(op *journal.Operation) { op.Question, op.Due = nil, time.Time{} }))
	found, err = r.Review(ctx, 10)
	r.must(err)
	r.same("review", keysOf(found))
}
