package journaltest

import (
	"time"

	"notwice/journal"
)

// due: the most overdue first, and each only once, however often its time moved.
func due(r *rig) {
	if _, ok, err := r.NextDue(ctx); ok || err != nil {
		r.Fatalf("an empty journal is due: %v %v", ok, err)
	}
	for i, seconds := range []int{30, 10, 20} {
		op := fresh(i+1, "a")
		op.Seq, op.Due = i+1, at(seconds)
		r.register(op)
	}
	r.reopen()
	see := func(until, limit int, want ...int) {
		r.Helper()
		keys, err := r.Due(ctx, at(until), limit)
		r.must(err)
		r.same("due", keys, want...)
	}
	see(9, 10)
	see(10, 10, 2)
	see(100, 10, 2, 3, 1)
	see(100, 2, 2, 3)
	if next, ok, err := r.NextDue(ctx); err != nil || !ok || !next.Equal(at(10)) {
		r.Errorf("next due %v %v %v", next, ok, err)
	}
	r.must(r.change(keyOf(2), func(op *journal.Operation) { op.Due = at(25) }))
	see(100, 10, 3, 2, 1)
	r.must(r.change(keyOf(3), func(op *journal.Operation) { op.Due = time.Time{} }))
	see(100, 10, 2, 1)
	r.must(r.change(keyOf(1), claim))
	r.must(r.change(keyOf(1), succeed("pay_1")))
	see(100, 10, 2)
	ahead := fresh(4, "a") // written under a clock that ran ten years ahead, and was set right
	ahead.Seq, ahead.Due = 4, at(0).AddDate(10, 0, 0)
	r.register(ahead)
	see(100, 10, 2, 4)
	see(0, 10, 4)
	see(100, 1, 2)
	r.must(r.change(keyOf(4), func(op *journal.Operation) { op.Due = at(100).Add(journal.Horizon) }))
	see(99, 10, 2, 4)
	see(100, 10, 2)
}

// review: what waits or is flagged, the longest waiting first.
func review(r *rig) {
	for i, seconds := range []int{30, 10} {
		op := fresh(i+1, "a")
		op.Seq, op.Wait = i+1, &journal.Wait{Reason: "approval", Since: at(seconds)}
		r.register(op)
	}
	flagged := fresh(3, "b")
	flagged.Flags = []journal.Flag{{At: at(20), What: "odd"}}
	r.register(flagged)
	r.register(fresh(4, "c"))
	r.reopen()
	see := func(limit int, want ...int) {
		r.Helper()
		found, err := r.Review(ctx, limit)
		r.must(err)
		r.same("review", keysOf(found), want...)
	}
	see(10, 2, 3, 1)
	see(1, 2)
	r.must(r.change(keyOf(2), func(op *journal.Operation) { op.Wait = nil }))
	r.must(r.change(keyOf(1), func(op *journal.Operation) { op.Flags = []journal.Flag{{At: at(5), What: "odd"}} }))
	see(10, 3, 1) // in review since it waited
	r.must(r.change(keyOf(1), func(op *journal.Operation) { op.Wait = nil }))
	see(10, 1, 3) // since its flag
	r.must(r.change(keyOf(3), func(op *journal.Operation) { op.Flags = nil }))
	see(10, 1)
}

// list: newest first, in pages that never skip or repeat.
func list(r *rig) {
	for i := 1; i <= 7; i++ {
		op := fresh(i, "a")
		op.Seq = i
		if i%2 == 0 {
			op.Tool, op.Task, op.Kin = "send_email", "mail", hash("kin", "mail")
		}
		r.register(op)
	}
	r.must(r.change(keyOf(1), claim))
	r.must(r.change(keyOf(1), succeed("pay_1")))
	r.reopen()
	see := func(q journal.Query, want ...int) journal.Key {
		r.Helper()
		found, next, err := r.List(ctx, q)
		r.must(err)
		r.same("list", keysOf(found), want...)
		return next
	}
	if next := see(journal.Query{}, 7, 6, 5, 4, 3, 2, 1); next != "" {
		r.Errorf("a whole list goes on at %s", next)
	}
	see(journal.Query{Tool: "send_email"}, 6, 4, 2)
	see(journal.Query{Task: "mail", Statuses: []journal.Status{journal.Succeeded}})
	see(journal.Query{Kin: hash("kin", "a")}, 7, 5, 3, 1)
	see(journal.Query{Statuses: []journal.Status{journal.Succeeded, journal.Unknown}}, 1)
	next := see(journal.Query{Limit: 3}, 7, 6, 5)
	next = see(journal.Query{Limit: 3, Before: next}, 4, 3, 2)
	if next = see(journal.Query{Limit: 3, Before: next}, 1); next != "" {
		r.Errorf("the last page goes on at %s", next)
	}
	if next := see(journal.Query{Limit: 7}, 7, 6, 5, 4, 3, 2, 1); next != "" {
		r.Errorf("a page that holds all goes on at %s", next)
	}
	next = see(journal.Query{Tool: "send_email", Limit: 2}, 6, 4)
	see(journal.Query{Tool: "send_email", Limit: 2, Before: next}, 2)
	see(journal.Query{Before: "ffff"}, 7, 6, 5, 4, 3, 2, 1)
	see(journal.Query{Before: "0000"})
}

// find: by key, by number, by a beginning of eight characters; never more than two, each once.
func find(r *rig) {
	for i := 1; i <= 3; i++ {
		r.register(fresh(i, string(rune('a'+i))))
	}
	odd := fresh(4, "odd")
	odd.Number = string(odd.Key)[:9] + "X" // key and number begin alike
	r.register(odd)
	r.reopen()
	see := func(text string, want int) {
		r.Helper()
		found, err := r.Find(ctx, text)
		r.must(err)
		if len(found) != want {
			r.Errorf("%q finds %v, want %d", text, keysOf(found), want)
		}
	}
	see(string(keyOf(2)), 1)
	see("20260301-AAAA000002", 1)
	see(string(keyOf(2))[:8], 1)
	see("20260301-AAAA", 2)
	see(string(keyOf(2))[:7], 0)
	see("0197", 0)
	see("", 0)
	see("20260302", 0)
	see(string(odd.Key)[:8], 1)
}
