package journaltest

import (
	"errors"
	"time"

	"notwice/journal"
)

var errRefused = errors.New("refused by decide")

// moves: every legal move is stored, and seen by the next transaction.
func moves(r *rig) {
	k := r.register(fresh(1, "817")).Key
	absent := func(op *journal.Operation) {
		op.Status, op.Due, op.Rests = journal.Pending, time.Time{}, true
		for i := range op.Attempts {
			op.Attempts[i].Undone = true
		}
	}
	failed := func(op *journal.Operation) {
		op.Status, op.Evidence, op.Ended, op.Due = journal.FailedFinal, journal.Person, at(80), time.Time{}
	}
	for _, step := range []struct {
		do   func(*journal.Operation)
		want journal.Status
	}{
		{claim, journal.InProgress}, {lose, journal.Unknown}, {absent, journal.Pending},
		{func(op *journal.Operation) { op.Rests = false; claim(op) }, journal.InProgress}, {lose, journal.Unknown},
		{claim, journal.InProgress}, {lose, journal.Unknown}, {failed, journal.FailedFinal},
		{succeed("pay_1"), journal.Succeeded}, // proof takes the place of a person's ruling
	} {
		r.must(r.change(k, step.do))
		if got := r.get(k); got.Status != step.want {
			r.Fatalf("status %s, want %s", got.Status, step.want)
		}
	}
	r.reopen()
	if got := r.get(k); got.Status != journal.Succeeded || got.ExternalID != "pay_1" || got.AttemptCount != 3 {
		r.Errorf("after a restart: %+v", got)
	}
}

// illegalMoves: each is ErrInvariant and leaves record and history as they were (S5).
func illegalMoves(r *rig) {
	k := r.register(fresh(1, "817")).Key
	r.must(r.change(k, claim))
	r.must(r.change(k, succeed("pay_1")))
	other := r.register(fresh(2, "818")).Key
	r.must(r.change(other, claim))
	for name, illegal := range map[string]struct {
		key journal.Key
		do  func(*journal.Operation)
	}{
		"final to pending":     {k, func(op *journal.Operation) { op.Status, op.Ended = journal.Pending, time.Time{} }},
		"final to in progress": {k, func(op *journal.Operation) { claim(op); op.Ended = time.Time{} }},
		"succeeded to failed":  {k, func(op *journal.Operation) { op.Status = journal.FailedFinal }},
		"another id":           {k, func(op *journal.Operation) { op.ExternalID = "pay_9" }},
		"final without end":    {k, func(op *journal.Operation) { op.Ended = time.Time{} }},
		"final that is due":    {k, func(op *journal.Operation) { op.Due = at(1) }},
		"another hash":         {k, func(op *journal.Operation) { op.RequestHash = hash("other") }},
		"another kin":          {k, func(op *journal.Operation) { op.Kin = hash("other") }},
		"another scope":        {k, func(op *journal.Operation) { op.Scope = `["task","x"]` }},
		"another account":      {k, func(op *journal.Operation) { op.Account = "x" }},
		"a claim of a claim":   {other, func(op *journal.Operation) { op.Epoch++; op.AttemptCount++ }},
		"pending, yet sent":    {other, func(op *journal.Operation) { op.Status = journal.Pending }},
		"no such state":        {other, func(op *journal.Operation) { op.Status = "done" }},
		"the first moved":      {other, func(op *journal.Operation) { op.FirstSent = at(1) }},
	} {
		before := r.get(illegal.key)
		if err := r.change(illegal.key, illegal.do); !errors.Is(err, journal.ErrInvariant) {
			r.Errorf("%s: %v", name, err)
		}
		if after := r.get(illegal.key); after.Status != before.Status || after.ExternalID != before.ExternalID || after.Epoch != before.Epoch {
			r.Errorf("%s: the record changed to %+v", name, after)
		}
		if events, _ := r.History(ctx, illegal.key); len(events) > 3 {
			r.Errorf("%s: the history grew to %d", name, len(events))
		}
	}
}

// decideErrors: an error of decide is returned and writes nothing, no indexes and no time either.
func decideErrors(r *rig) {
	op := fresh(1, "817")
	r.wants(r.DecideByIntent(ctx, at(500), wishOf(op), func(journal.Known) (journal.Change, error) {
		return journal.Change{Operation: &op}, errRefused
	}), errRefused)
	_, err := r.Get(ctx, op.Key)
	r.wants(err, journal.ErrNotFound)
	k := r.ask(wishOf(op))
	if len(k.Unheard)+len(k.Recent) > 0 || k.Last != nil || !k.High.IsZero() || k.TaskSeq != 0 {
		r.Errorf("something was written: %+v", k)
	}
	r.register(op)
	r.wants(r.DecideByKey(ctx, at(500), op.Key, func(k journal.Known) (journal.Change, error) {
		claim(k.Operation)
		return journal.Change{Operation: k.Operation}, errRefused
	}), errRefused)
	if got := r.get(op.Key); got.Status != journal.Pending || got.Epoch != 0 {
		r.Errorf("something was written: %+v", got)
	}
}

func notFound(r *rig) {
	r.register(fresh(1, "817"))
	asked := false
	r.wants(r.DecideByKey(ctx, at(1), keyOf(2), func(journal.Known) (journal.Change, error) {
		asked = true
		return journal.Change{}, nil
	}), journal.ErrNotFound)
	if asked {
		r.Error("decide was asked about nothing")
	}
	_, err := r.Get(ctx, keyOf(2))
	r.wants(err, journal.ErrNotFound)
	_, err = r.History(ctx, keyOf(2))
	r.wants(err, journal.ErrNotFound)
	_, err = r.History(ctx, keyOf(1)[:20]) // a beginning is not the key
	r.wants(err, journal.ErrNotFound)
}

// externalID: it belongs to one operation of an account (S22), and follows it when proof replaces a ruling.
func externalID(r *rig) {
	a, b, c := fresh(1, "817"), fresh(2, "818"), fresh(3, "819")
	c.Account = "globex@fake"
	for _, op := range []journal.Operation{a, b, c} {
		r.register(op)
		r.must(r.change(op.Key, claim))
	}
	r.must(r.change(a.Key, succeed("pay_1")))
	r.wants(r.change(b.Key, succeed("pay_1")), journal.ErrExternalIDTaken)
	if got := r.get(b.Key); got.Status != journal.InProgress {
		r.Errorf("refused, yet %s", got.Status)
	}
	r.must(r.change(c.Key, succeed("pay_1"))) // another account
	r.must(r.change(a.Key, func(op *journal.Operation) { op.Delivered = at(90) }))
	r.reopen()
	owner := func(id string) (key journal.Key, ok bool) {
		r.must(r.DecideByKey(ctx, at(1), b.Key, func(k journal.Known) (journal.Change, error) {
			key, ok = k.Owner(a.Account, id)
			return journal.Change{}, nil
		}))
		return key, ok
	}
	if key, ok := owner("pay_1"); !ok || key != a.Key {
		r.Errorf("owner %s %v, want %s", key, ok, a.Key)
	}
	if key, ok := owner("pay_2"); ok {
		r.Errorf("pay_2 belongs to %q", key)
	}
	r.must(r.change(b.Key, func(op *journal.Operation) { succeed("pay_2")(op); op.Evidence = journal.Person }))
	r.must(r.change(b.Key, func(op *journal.Operation) { op.ExternalID, op.Evidence = "pay_3", journal.LookupByKey }))
	if key, ok := owner("pay_2"); ok {
		r.Errorf("pay_2 still belongs to %q", key)
	}
	if key, ok := owner("pay_3"); !ok || key != b.Key {
		r.Errorf("pay_3 belongs to %q %v", key, ok)
	}
}
