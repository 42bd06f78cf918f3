package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"notwice/journal"
)

// callers: 32 at once, each with its own operations, some of which fail after they were decided. Nothing is lost, nothing
// of a failure stays.
func callers(r *rig) {
	const workers, each = 32, 5
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				n := 1 + w*each + i
				op := fresh(n, fmt.Sprint(n))
				if err := r.tryRegister(op); err != nil {
					r.Errorf("register %d: %v", n, err)
				}
				r.Later(at(n), op.Key, changed(deliver))
				if err := r.change(op.Key, claim); err != nil {
					r.Errorf("claim %d: %v", n, err)
				}
				if err := r.change(op.Key, func(op *journal.Operation) { op.Seq++ }); !errors.Is(err, journal.ErrInvariant) {
					r.Errorf("an illegal move of %d: %v", n, err)
				}
				if _, err := r.Get(ctx, op.Key); err != nil {
					r.Errorf("get %d: %v", n, err)
				}
				if err := r.change(op.Key, succeed(fmt.Sprint("pay_", n))); err != nil {
					r.Errorf("settle %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	r.must(r.Flush(ctx))
	r.reopen()
	found, _, err := r.List(ctx, journal.Query{Limit: 1000, Statuses: []journal.Status{journal.Succeeded}})
	r.must(err)
	if len(found) != workers*each {
		r.Errorf("%d operations succeeded, want %d", len(found), workers*each)
	}
	for _, op := range found {
		if !op.CallerLost {
			r.Errorf("the rider of %s was lost", op.Key)
		}
		if events, err := r.History(ctx, op.Key); err != nil || len(events) != 4 {
			r.Errorf("history of %s: %d events, %v", op.Key, len(events), err)
		}
	}
}

// oneWinner: of many that claim one operation, exactly one does (case 125).
func oneWinner(r *rig) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, registered := 0, 0
	for w := range 16 {
		wg.Go(func() {
			op := fresh(w+1, "817")
			op.Intent = hash("intent", "one")
			first := false
			err := r.DecideByIntent(ctx, at(w), wishOf(op), func(k journal.Known) (journal.Change, error) {
				if first = len(k.Unheard) == 0; !first {
					return journal.Change{}, nil
				}
				c := op.Clone()
				return journal.Change{Operation: &c}, nil
			})
			if err != nil {
				r.Errorf("register: %v", err)
			}
			open := r.ask(wishOf(op)).Unheard
			if len(open) != 1 {
				r.Errorf("%d operations are open", len(open))
				return
			}
			err = r.DecideByKey(ctx, at(w), open[0].Key, func(k journal.Known) (journal.Change, error) {
				if k.Operation.Status != journal.Pending {
					return journal.Change{}, errRefused
				}
				claim(k.Operation)
				return journal.Change{Operation: k.Operation}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if first {
				registered++
			}
			if err == nil {
				won++
			} else if !errors.Is(err, errRefused) {
				r.Errorf("claim: %v", err)
			}
		})
	}
	wg.Wait()
	if registered != 1 || won != 1 {
		r.Errorf("registered %d times, claimed %d times", registered, won)
	}
}

// cancel: a context that has ended writes nothing.
func cancel(r *rig) {
	ended, stop := context.WithCancel(ctx)
	stop()
	op := fresh(1, "817")
	r.wants(r.DecideByIntent(ended, at(1), wishOf(op), func(journal.Known) (journal.Change, error) {
		r.Error("decide was asked")
		return journal.Change{Operation: &op}, nil
	}), context.Canceled)
	_, err := r.Get(ended, op.Key)
	r.wants(err, context.Canceled)
	_, err = r.Append(ended, "t", 0, nil)
	r.wants(err, context.Canceled)
	_, err = r.Get(ctx, op.Key)
	r.wants(err, journal.ErrNotFound)
}
