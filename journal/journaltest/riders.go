package journaltest

import (
	"time"

	"notwice/journal"
)

func deliver(op *journal.Operation) { op.CallerLost = true }

// later: it rides on the next commit of anybody, or on Flush.
func later(r *rig) {
	r.register(fresh(1, "817"))
	before := r.Stats().Commits
	r.must(r.Flush(ctx))
	r.Later(at(1), keyOf(1), changed(deliver))
	if got := r.Stats().Commits; got != before {
		r.Errorf("%d commits for a rider that nobody took", got-before)
	}
	r.register(fresh(2, "818"))
	if got := r.Stats().Commits - before; got != 1 {
		r.Errorf("%d commits for a registration and a rider, want 1", got)
	}
	r.reopen()
	if !r.get(keyOf(1)).CallerLost {
		r.Error("the rider did not ride")
	}
	r.Later(at(1), keyOf(2), changed(deliver))
	r.must(r.Flush(ctx))
	r.reopen()
	if !r.get(keyOf(2)).CallerLost {
		r.Error("Flush left the rider behind")
	}
}

// laterFails: a rider that fails is dropped, and hurts neither the commit that it rides on nor the other riders.
func laterFails(r *rig) {
	r.register(fresh(1, "817"))
	r.Later(at(1), keyOf(1), func(journal.Known) (journal.Change, error) { return journal.Change{}, errRefused })
	r.Later(at(1), keyOf(1), changed(func(op *journal.Operation) { op.Status = journal.Succeeded })) // illegal
	r.Later(at(1), keyOf(9), changed(deliver))                                                       // not there
	r.Later(at(1), keyOf(1), func(journal.Known) (journal.Change, error) { return journal.Change{}, nil })
	r.Later(at(1), keyOf(1), changed(deliver))
	r.Later(at(1), keyOf(1), changed(func(op *journal.Operation) { op.Due = time.Time{}; op.Seq = 0 })) // illegal
	r.register(fresh(2, "818"))
	r.must(r.Flush(ctx))
	r.reopen()
	if got := r.get(keyOf(1)); !got.CallerLost || got.Status != journal.Pending {
		r.Errorf("the good rider was lost: %+v", got)
	}
	if events, _ := r.History(ctx, keyOf(1)); len(events) != 2 {
		r.Errorf("%d events, want 2", len(events))
	}
	r.get(keyOf(2))
}

func closeCommitsRiders(r *rig) {
	r.register(fresh(1, "817"))
	r.Later(at(1), keyOf(1), changed(deliver))
	if r.subject.Reopen == nil {
		r.must(r.Close())
		return
	}
	r.reopen()
	if !r.get(keyOf(1)).CallerLost {
		r.Error("Close left the rider behind")
	}
}

func closed(r *rig) {
	r.register(fresh(1, "817"))
	r.must(r.Close())
	r.must(r.Close())
	_, err := r.Get(ctx, keyOf(1))
	r.wants(err, journal.ErrClosed)
	r.wants(r.tryRegister(fresh(2, "818")), journal.ErrClosed)
	_, err = r.Append(ctx, "t", 0, nil)
	r.wants(err, journal.ErrClosed)
	_, _, err = r.List(ctx, journal.Query{})
	r.wants(err, journal.ErrClosed)
	r.Later(at(1), keyOf(1), changed(deliver)) // dropped, no panic
}

// commits: two for an ordinary operation (DESIGN §2), none for what only reads.
func commits(r *rig) {
	before := r.Stats().Commits
	r.must(r.tryRegister(fresh(1, "817")))
	r.must(r.change(keyOf(1), func(op *journal.Operation) { claim(op) }))
	if got := r.Stats().Commits - before; got != 2 {
		r.Errorf("two moves took %d commits", got)
	}
	r.ask(wishOf(fresh(1, "817")))
	r.get(keyOf(1))
	r.wants(r.DecideByKey(ctx, at(1), keyOf(1), func(journal.Known) (journal.Change, error) { return journal.Change{}, errRefused }), errRefused)
	if got := r.Stats().Commits - before; got != 2 {
		r.Errorf("reads took %d commits", got-2)
	}
}
