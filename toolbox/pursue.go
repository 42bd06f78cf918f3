package toolbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"notwice/journal"
	"notwice/policy"
)

// Polling of an attempt that another process makes.
const (
	pollFirst = 20 * time.Millisecond
	pollMax   = 250 * time.Millisecond
)

// pursue follows a decision until there is something final to tell, nothing more to do, or no more patience. The end of an
// attempt that this call started is always awaited.
func (t *Toolbox) pursue(ctx context.Context, r prepared, d policy.Decision) (Result, error) {
	repeat, tries := d.Repeat, 0
	var reworded []string // this call is told an earlier one's outcome, which it differs from
	if d.Repeat && d.Do != policy.Conflict {
		reworded = d.Differs
	}
	patience := t.patience(r.begun, r.call.Wait)
	for {
		op := *d.Operation
		var err error
		switch d.Do {
		case policy.Send: // 6 to 8
			repeat = false // its own attempt, even if an earlier one left nothing
			f := t.launch(op, r.tool, r.policy, r.volatile)
			if err = t.clock.Wait(ctx, time.Time{}, f.done); err == nil && f.err != nil {
				return Result{}, f.unrecorded(op)
			}
			if tries++; tries == 1 { // patience counts from the end of the first attempt, not of each one
				patience = t.patience(t.clock.Now(), r.call.Wait)
			}
		case policy.Join:
			if patience.over() {
				return t.tell(op, repeat).reworded(reworded), nil
			}
			err = t.join(ctx, op, patience.atMost(d.Until))
		case policy.LookUp: // 9: within the caller's patience; else the reconciler does it
			err = t.look(ctx, op)
		case policy.Later:
			if d.Until.IsZero() || !patience.lasts(d.Until) || patience.over() {
				return t.tell(op, repeat).reworded(reworded), nil
			}
			err = t.clock.Wait(ctx, d.Until, nil)
		case policy.Conflict:
			return t.tellConflict(op, d.Differs), nil
		case policy.Ask:
			return t.tellOld(op), nil
		default: // 10: tell what the journal holds, no more
			wait, again := t.again(&op, r, tries, patience)
			if !again || reworded != nil { // what rests unsent goes only with an equal call
				return t.tell(op, repeat).reworded(reworded), nil
			}
			err = t.clock.Wait(ctx, wait, nil)
		}
		if err != nil {
			return t.abandoned(ctx, op, err)
		}
		if d, err = t.nextStep(ctx, op.Key, r, d.Do == policy.Answer); err != nil {
			return Result{}, err
		}
	}
}

// again says when a call that is still waiting tries an operation again that did not leave this machine.
func (t *Toolbox) again(op *journal.Operation, r prepared, tries int, patience patience) (when time.Time, ok bool) {
	if op.Status != journal.Pending || op.Wait != nil {
		return time.Time{}, false
	}
	if tries == 0 { // it turned out to be unsent while this call looked: the call goes on with it
		when = later(t.clock.Now().Wall, op.NotBefore)
		return when, patience.lasts(when) && !patience.over()
	}
	if slices.Contains([]string{"authentication", "needs_caller", "no_such_tool"}, op.Reason) { // this call cannot change it
		return time.Time{}, false
	}
	when = later(t.clock.Now().Wall.Add(r.policy.Backoff.After(tries)), op.NotBefore)
	return when, patience.lasts(when) && !patience.over()
}

// nextStep reads the operation again and decides. caller is true when the one who called goes on with an unsent operation;
// by itself it would rest.
func (t *Toolbox) nextStep(ctx context.Context, key journal.Key, r prepared, caller bool) (policy.Decision, error) {
	var d policy.Decision
	hold := r.hold()
	if r.tool != nil { // the secrets may have been changed while the call waited
		r.policy.Credential = t.credential(r.tool)
	}
	err := t.journal.DecideByKey(ctx, t.clock.Now().Wall, key, func(k journal.Known) (journal.Change, error) {
		if caller {
			d = policy.OnCaller(k, hold, r.policy, t.now(k))
		} else {
			d = policy.OnTime(k.Operation, r.policy, t.now(k), false)
		}
		return d.Change, nil
	})
	if err != nil {
		return d, fmt.Errorf("operation %s: %w", key, err)
	}
	t.told(d)
	return d, nil
}

// join waits for an attempt that somebody else makes: in this process by its end, in another by reading the journal.
func (t *Toolbox) join(ctx context.Context, op journal.Operation, patience patience) error {
	if f := t.flight(op.Key); f != nil && f.epoch == op.Epoch {
		return t.clock.Wait(ctx, patience.end(), f.done)
	}
	for wait := pollFirst; ; wait = min(2*wait, pollMax) {
		if patience.over() {
			return nil
		}
		if err := t.clock.Wait(ctx, earlier(t.clock.Now().Wall.Add(wait), patience.end()), nil); err != nil {
			return err
		}
		fresh, err := t.journal.Get(ctx, op.Key)
		if err != nil {
			return err
		}
		if fresh.Status != op.Status || fresh.Epoch != op.Epoch || fresh.Looks != op.Looks {
			return nil
		}
	}
}

// abandoned notes that the caller went away, so that an equal wish in other words is told the outcome first.
func (t *Toolbox) abandoned(ctx context.Context, op journal.Operation, err error) (Result, error) {
	if ctx.Err() == nil {
		return Result{}, err
	}
	t.note(op.Key, func(o *journal.Operation, now time.Time) string {
		if o.CallerLost || !o.Open() {
			return ""
		}
		o.CallerLost = true
		return "caller_lost"
	})
	return Result{}, fmt.Errorf("the caller stopped waiting for operation %s: %w", op.Key, ctx.Err())
}

// note changes an operation with the next commit, or after a second of idleness.
func (t *Toolbox) note(key journal.Key, change func(*journal.Operation, time.Time) (what string)) {
	now := t.clock.Now().Wall
	t.journal.Later(now, key, func(k journal.Known) (journal.Change, error) {
		op := k.Operation
		what := change(op, now)
		if what == "" {
			return journal.Change{}, nil
		}
		event := journal.Event{At: now, What: what, Status: op.Status, Epoch: op.Epoch}
		return journal.Change{Operation: op, Events: []journal.Event{event}}, nil
	})
	t.mu.Lock()
	scheduled := t.flush
	t.flush = true
	t.mu.Unlock()
	if scheduled {
		return
	}
	t.clock.Go(func() {
		t.clock.Wait(context.Background(), now.Add(time.Second), nil)
		t.mu.Lock()
		t.flush = false
		t.mu.Unlock()
		t.journal.Flush(context.Background()) // lost if it fails: an answer is then told once more
	})
}

// patience is how long a caller waits, by the machine's uptime: a wall clock that is set neither stretches nor ends it.
type patience struct {
	clock Clock
	until time.Duration
}

func (t *Toolbox) patience(from journal.Moment, wait time.Duration) patience {
	return patience{t.clock, from.Up + wait}
}

func (p patience) left() time.Duration { return p.until - p.clock.Now().Up }

func (p patience) over() bool { return p.left() <= 0 }

// end is when it will be over, by the wall clock as it stands.
func (p patience) end() time.Time {
	now := p.clock.Now()
	return now.Wall.Add(p.until - now.Up)
}

// lasts reports whether a time of the wall clock comes while there is patience.
func (p patience) lasts(t time.Time) bool { return !t.After(p.end()) }

// atMost is the same patience, or less if that time comes first.
func (p patience) atMost(t time.Time) patience {
	now := p.clock.Now()
	p.until = min(p.until, now.Up+t.Sub(now.Wall))
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
