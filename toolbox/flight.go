package toolbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"notwice/journal"
	"notwice/policy"
)

// errLease says that an attempt may no longer send.
var errLease = errors.New("the lease of the attempt is over")

// flight is an attempt of this process that is under way.
type flight struct {
	epoch int
	done  chan struct{} // closed once the end is recorded, or cannot be
	err   error         // the journal's, when the end could not be recorded; read after done
	said  string        // then: what the provider answered
}

// unrecorded is the error of an attempt whose end the journal could not keep.
func (f *flight) unrecorded(op journal.Operation) error {
	return fmt.Errorf("operation %s: %w (%s): %w", op.Key, ErrUnrecorded, f.said, f.err)
}

// launch makes the attempt that was claimed, beside the caller, who may leave at any time.
func (t *Toolbox) launch(op journal.Operation, tl *tool, p policy.Policy, volatile map[string]any) *flight {
	f := &flight{epoch: op.Epoch, done: make(chan struct{})}
	t.mu.Lock()
	t.flights[op.Key] = f
	t.mu.Unlock()
	t.clock.Go(func() {
		// 6: send. The context is not the caller's.
		out := t.attempt(op, tl, volatile)
		// 8: outcome, external id, result and history together. A crash before this line leaves an unknown.
		f.err = t.settle(op, out, p)
		if f.err != nil {
			f.said = string(out.Outcome)
			t.log(fmt.Sprintf("operation %s (%s): the attempt ended %s %s %s, but the journal could not record it: %v",
				op.Key, op.Tool, out.Outcome, out.Reason, out.ExternalID, f.err))
		}
		t.mu.Lock()
		if t.flights[op.Key] == f {
			delete(t.flights, op.Key)
		}
		t.mu.Unlock()
		close(f.done)
	})
	return f
}

func (t *Toolbox) flight(key journal.Key) *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flights[key]
}

// attempt sends the registered request once and classifies the answer (7).
func (t *Toolbox) attempt(op journal.Operation, tl *tool, volatile map[string]any) policy.Outcome {
	a := op.Attempt(op.Epoch)
	out := policy.Outcome{Epoch: op.Epoch, Outcome: journal.NotSent}
	if tl == nil {
		out.Reason = "no_such_tool"
		return out
	}
	r, err := t.requestOf(&op)
	if err != nil {
		out.Reason = "request_unreadable"
		return out
	}
	r.Volatile, r.Secret = volatile, t.secretsOf(a.Credential)
	r.Before = func() error { return t.mayStillSend(*a) }
	if err := r.Before(); err != nil {
		out.Reason = "lease_over_before_sending"
		return out
	}
	ctx, cancel := t.clock.Deadline(context.Background(), a.Deadline)
	defer cancel()
	answer := t.wire.Send(ctx, tl.Tool, r)
	out.Outcome, out.Word, out.Reason, out.ExternalID = answer.Outcome, answer.Word, answer.Reason, answer.ExternalID
	out.Result, out.RetryAfter, out.ForKey, out.Waits = answer.Result, answer.RetryAfter, answer.ForKey, answer.Waits
	if out.Outcome == journal.Applied || out.Outcome == journal.Rejected {
		out.Evidence = journal.Response
	}
	switch {
	case out.Outcome == journal.Applied && len(out.ExternalID) > 1024:
		out.Outcome, out.Reason, out.ExternalID, out.Evidence = journal.OutcomeUnknown, "external_id_too_long", "", ""
	case out.Outcome == "":
		out.Outcome, out.Reason = journal.OutcomeUnknown, "no_outcome"
	}
	return out
}

// mayStillSend looks at the lease by the wall clock and by the machine's uptime: a sender that was suspended does not send.
func (t *Toolbox) mayStillSend(a journal.Attempt) error {
	now := t.clock.Now()
	if !now.Wall.Before(a.Lease) || now.Up-a.Up >= a.Length() {
		return errLease
	}
	return nil
}

// settleTries are the waits between tries to record an end: what the provider did is worth a few.
var settleTries = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second}

func (t *Toolbox) settle(op journal.Operation, out policy.Outcome, p policy.Policy) error {
	for try := 0; ; try++ {
		var d policy.Decision
		err := t.journal.DecideByKey(context.Background(), t.clock.Now().Wall, op.Key, func(k journal.Known) (journal.Change, error) {
			owner, owned := k.Owner(op.Account, out.ExternalID)
			taken := out.ExternalID != "" && owned && owner != op.Key
			d = policy.OnOutcome(k.Operation, out, taken, p, t.now(k))
			return d.Change, nil
		})
		if err == nil {
			t.told(d)
		}
		if err == nil || try == len(settleTries) || errors.Is(err, journal.ErrClosed) || errors.Is(err, journal.ErrInvariant) || errors.Is(err, journal.ErrDamaged) {
			return err
		}
		t.clock.Wait(context.Background(), t.clock.Now().Wall.Add(settleTries[try]), nil)
	}
}

// Drain waits until no attempt of this process is under way, or ctx ends.
func (t *Toolbox) Drain(ctx context.Context) error {
	for {
		t.mu.Lock()
		var any *flight
		for _, f := range t.flights {
			any = f
			break
		}
		t.mu.Unlock()
		if any == nil {
			return nil
		}
		if err := t.clock.Wait(ctx, time.Time{}, any.done); err != nil {
			return err
		}
	}
}
