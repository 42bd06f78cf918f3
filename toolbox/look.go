package toolbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"notwice/journal"
	"notwice/policy"
)

// look asks the provider about an operation that was marked as being looked at, and records what that means. A crash
// before the record leaves the mark, which runs out.
func (t *Toolbox) look(ctx context.Context, op journal.Operation) error {
	tl, p := t.toolOf(&op)
	if err := t.elsewhere(&op); err != nil {
		return err
	}
	seen := policy.Look{Begun: t.clock.Now()}
	sighting := t.sight(tl, p, op)
	seen.Failed, seen.AllPages, seen.Known = sighting.Failed, sighting.AllPages, sighting.Known
	for _, m := range sighting.Found {
		if len(m.ID) > 1024 { // no id that a record could hold: a person is shown the rest
			m.ID = ""
		}
		seen.Found = append(seen.Found, policy.Found{Candidate: m.Candidate, Match: policy.Match(m.By), Undated: m.Undated, Result: m.Result})
	}
	var d policy.Decision
	err := t.journal.DecideByKey(context.WithoutCancel(ctx), t.clock.Now().Wall, op.Key, func(k journal.Known) (journal.Change, error) {
		owned := func(id string) bool {
			owner, ok := k.Owner(op.Account, id)
			return ok && id != "" && owner != op.Key
		}
		d = policy.OnLook(k.Operation, seen, owned, p, t.now(k))
		return d.Change, nil
	})
	if err != nil {
		return fmt.Errorf("look-up of operation %s: %w", op.Key, err)
	}
	t.told(d)
	return ctx.Err()
}

func (t *Toolbox) sight(tl *tool, p policy.Policy, op journal.Operation) Sighting {
	if tl == nil {
		return Sighting{Failed: "no_such_tool"}
	}
	lookuper, ok := tl.Tool.(Lookuper)
	if !ok || p.Lookup == nil {
		return Sighting{Failed: "no_look_up"}
	}
	r, err := t.requestOf(&op)
	if err != nil {
		return Sighting{Failed: "request_unreadable"}
	}
	var known *Request
	if !p.Lookup.TrustEmpty { // an empty answer must show that the query finds what is there
		if known, err = t.knownObject(&op); err != nil {
			return Sighting{Failed: "journal"}
		}
	}
	ctx, cancel := t.clock.Deadline(context.Background(), t.clock.Now().Wall.Add(p.Lookup.Deadline))
	defer cancel()
	return t.wire.Lookup(ctx, lookuper, r, known)
}

// knownObject is the newest finished operation of the same tool and account: the same query must find it.
func (t *Toolbox) knownObject(op *journal.Operation) (*Request, error) {
	done, _, err := t.journal.List(context.Background(), journal.Query{Tool: op.Tool, Statuses: []journal.Status{journal.Succeeded}, Limit: 20})
	if err != nil {
		return nil, err
	}
	for i := range done {
		if done[i].Account == op.Account && done[i].ExternalID != "" && done[i].Key != op.Key {
			r, err := t.requestOf(&done[i])
			return &r, err
		}
	}
	return nil, nil
}

// Step does the next thing that is due for one operation, until nothing is due now. urgent looks at once, whatever the
// back-off.
func (t *Toolbox) Step(ctx context.Context, key journal.Key, urgent bool) (journal.Operation, error) {
	for {
		var d policy.Decision
		var p policy.Policy
		err := t.journal.DecideByKey(ctx, t.clock.Now().Wall, key, func(k journal.Known) (journal.Change, error) {
			if err := t.elsewhere(k.Operation); err != nil {
				return journal.Change{}, err
			}
			_, p = t.toolOf(k.Operation)
			d = policy.OnTime(k.Operation, p, t.now(k), urgent)
			return d.Change, nil
		})
		if err != nil {
			return journal.Operation{}, fmt.Errorf("operation %s: %w", key, err)
		}
		t.told(d)
		op := *d.Operation
		moved := d.Change.Operation != nil && d.Do == policy.Later
		wasOpen := moved && op.Status == journal.Unknown && urgent && op.Looks == 0
		stillDue := moved && !d.Until.IsZero() && !d.Until.After(t.clock.Now().Wall)
		switch d.Do {
		case policy.Send:
			tl, _ := t.toolOf(&op)
			f := t.launch(op, tl, p, nil)
			if err := t.clock.Wait(ctx, time.Time{}, f.done); err != nil {
				return op, err
			}
			if f.err != nil {
				return op, f.unrecorded(op)
			}
		case policy.LookUp:
			if err := t.look(ctx, op); err != nil {
				return op, err
			}
			urgent = false
		default:
			if !wasOpen && !stillDue { // a lease that ran out just now: an urgent caller wants the look as well
				return op, nil
			}
		}
	}
}

// LookNow asks the provider about an unknown operation, and sends nothing whatever it says.
func (t *Toolbox) LookNow(ctx context.Context, key journal.Key) (op journal.Operation, err error) {
	var d policy.Decision
	err = t.journal.DecideByKey(ctx, t.clock.Now().Wall, key, func(k journal.Known) (journal.Change, error) {
		if err := t.elsewhere(k.Operation); err != nil {
			return journal.Change{}, err
		}
		_, p := t.toolOf(k.Operation)
		if d = policy.OnTime(k.Operation, p, t.now(k), true); d.Do == policy.Send { // it is its time to go, but not from here
			d = policy.Decision{Do: policy.Answer, Operation: k.Operation}
		}
		return d.Change, nil
	})
	if err == nil && d.Do == policy.LookUp {
		t.told(d)
		err = t.look(ctx, *d.Operation)
	}
	if err != nil {
		return op, err
	}
	return t.journal.Get(ctx, key)
}

// Tidy moves on what needs nobody outside: leases that ran out, questions and marks whose time has come. It neither sends nor
// looks up, so that a command without a provider shows the present.
func (t *Toolbox) Tidy(ctx context.Context, limit int) error {
	keys, err := t.journal.Due(ctx, t.clock.Now().Wall, limit)
	if err != nil {
		return err
	}
	for _, key := range keys {
		var d policy.Decision
		err := t.journal.DecideByKey(ctx, t.clock.Now().Wall, key, func(k journal.Known) (journal.Change, error) {
			_, p := t.toolOf(k.Operation)
			if d = policy.OnTime(k.Operation, p, t.now(k), false); d.Do == policy.Send || d.Do == policy.LookUp {
				d = policy.Decision{Operation: k.Operation}
			}
			return d.Change, nil
		})
		if err != nil {
			return err
		}
		t.told(d)
	}
	return nil
}

// foreignDue is how many due operations of other providers do not keep this process from its own.
const foreignDue = 1000

// Due does what is due now, at most limit operations, and returns how many it worked on. Errors of single operations are
// returned together; the others are still done.
func (t *Toolbox) Due(ctx context.Context, limit int) (done int, err error) {
	keys, err := t.journal.Due(ctx, t.clock.Now().Wall, limit+foreignDue)
	if err != nil {
		return 0, err
	}
	var failed error
	for _, key := range keys {
		if ctx.Err() != nil || done == limit {
			return done, ctx.Err()
		}
		_, err := t.Step(ctx, key, false)
		if errors.Is(err, ErrElsewhere) { // somebody who speaks to its provider does it
			continue
		}
		if err != nil && failed == nil {
			failed = err
		}
		done++
	}
	return done, failed
}

// Stop ends an operation that nothing has sent, because a person says so.
func (t *Toolbox) Stop(ctx context.Context, key journal.Key, who, why string) (op journal.Operation, stopped bool, err error) {
	err = t.journal.DecideByKey(ctx, t.clock.Now().Wall, key, func(k journal.Known) (journal.Change, error) {
		var d policy.Decision
		d, stopped = policy.OnStop(k.Operation, who, why, t.now(k))
		op = *d.Operation
		return d.Change, nil
	})
	return op, stopped, err
}
