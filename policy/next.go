package policy

import (
	"slices"
	"time"

	"notwice/journal"
)

// atLeastHourly bounds the wait between two look-ups, also of an operation that waits for a person.
const atLeastHourly = time.Hour

// OnTime decides what is due for an operation: the end of a lease, a look-up, a retry, the queue of a person. urgent means
// that somebody asked for a look now; it overrides the back-off and nothing else.
func OnTime(op *journal.Operation, p Policy, now Now, urgent bool) Decision {
	if urgent && op.Status == journal.Unknown && !now.leaseOverLook(op) {
		return Decision{Do: Later, Operation: op, Until: op.Looking}
	}
	if urgent && op.Status == journal.Unknown {
		o := op.Clone()
		o.Due = now.Wall
		return next(&o, p, now)
	}
	return next(op, p, now)
}

// leaseOverLook reports whether nobody is looking the operation up.
func (n Now) leaseOverLook(op *journal.Operation) bool {
	return op.Looking.IsZero() || !n.Wall.Before(op.Looking) || op.Looking.Sub(n.Wall) > atLeastHourly
}

// next is the next step of an operation by itself.
func next(op *journal.Operation, p Policy, now Now) Decision {
	if q := op.Question; q != nil && !now.yet(q.Expires) {
		return questionOver(op, now)
	}
	switch op.Status {
	case journal.InProgress:
		return nextInProgress(op, p, now)
	case journal.Unknown:
		return nextUnknown(op, p, now)
	case journal.Pending:
		return nextPending(op, p, now)
	}
	return Decision{Do: laterOrAnswer(op.Due), Operation: op, Until: op.Due}
}

// questionOver forgets a question that nobody has answered in its day, and what it would have sent.
func questionOver(op *journal.Operation, now Now) Decision {
	o := op.Clone()
	d := Decision{Operation: &o}
	if o.Due.Equal(o.Question.Expires) && (o.Status.Final() || o.Status == journal.Pending) { // nothing else was due
		o.Due = time.Time{}
	}
	d.event(now, "question_over", o.Question.Kind, "nobody answered")
	o.Question = nil
	return d.write(laterOrAnswer(o.Due)).until(o.Due)
}

func nextInProgress(op *journal.Operation, p Policy, now Now) Decision {
	a := op.Attempt(op.Epoch)
	if !now.leaseOver(*a) {
		return Decision{Do: Join, Operation: op, Until: now.Wall.Add(a.Length() - (now.Up - a.Up))}
	}
	next := op.Clone()
	d := Decision{Operation: &next}
	a = next.Attempt(next.Epoch)
	a.End(journal.OutcomeUnknown, "lease_over", now.Moment)
	becomeUnknown(&d, p, now, "lease_over", 0)
	return d.write(Later).until(next.Due)
}

func (d Decision) until(t time.Time) Decision {
	d.Until = t
	return d
}

// becomeUnknown marks the operation unknown and says when to look.
func becomeUnknown(d *Decision, p Policy, now Now, reason string, retryAfter time.Duration) {
	op := d.Operation
	op.Status, op.Reason = journal.Unknown, reason
	op.Looks, op.Misses, op.Looking = 0, 0, time.Time{}
	if retryAfter > 0 {
		op.NotBefore = now.Wall.Add(retryAfter)
	}
	d.event(now, "moved", reason, "")
	if p.AskOnTimeout {
		waitFor(d, now, "unresolved", "at_once")
	}
	schedule(op, p, now)
}

// waitFor marks the operation as waiting for a person; an earlier mark of another reason is replaced, its time kept.
func waitFor(d *Decision, now Now, reason, note string, candidates ...journal.Candidate) {
	op := d.Operation
	if op.Patience != nil && op.Patience.Reason == reason && now.yet(op.Patience.Until) {
		return // a person said that it can wait
	}
	since := now.Wall
	if op.Wait != nil {
		if op.Wait.Reason == reason && slices.EqualFunc(candidates, op.Wait.Candidates, sameCandidate) {
			return
		}
		since = op.Wait.Since
	}
	op.Wait = &journal.Wait{Reason: reason, Since: since, Note: note, Candidates: candidates}
	d.event(now, "waits", reason, note)
}

func sameCandidate(a, b journal.Candidate) bool {
	return a.ID == b.ID && a.State == b.State && a.Title == b.Title && slices.Equal(a.Differs, b.Differs) && a.Created.Equal(b.Created)
}

// attemptsLeft reports whether one more attempt is allowed. Attempts that never left this machine do not count.
func attemptsLeft(op *journal.Operation, p Policy) bool {
	n := 0
	for _, a := range op.Attempts {
		if a.Outcome != journal.NotSent {
			n++
		}
	}
	return n < p.MaxAttempts
}

// first is the moment of the first attempt that may have been executed.
func first(op *journal.Operation) journal.Moment {
	return journal.Moment{Wall: op.FirstSent, Up: op.FirstUp, Boot: op.FirstIn}
}

// unconfirmed is how long an operation may have been without a confirmed outcome: since its first attempt, or since a person
// let it go again.
func unconfirmed(op *journal.Operation, now Now) time.Duration {
	since := now.likely(first(op))
	if op.Ruling != nil {
		since = min(since, now.sinceWall(op.Ruling.At))
	}
	return since
}

// resendable reports whether an unknown operation may be sent again under its key without knowing what became of it: the
// provider de-duplicates, and the new attempt ends inside its window, counted from the first attempt.
func resendable(op *journal.Operation, p Policy, now Now) bool {
	if now.yet(op.NotBefore) || !p.deduplicates() || p.Resend != "same_key" || op.Wait != nil || op.NeedsCaller || p.AskOnTimeout || !now.Wall.Before(op.SendUntil) || now.Behind() {
		return false
	}
	return attemptsLeft(op, p) && sameAccount(op, p) && (p.DedupWindow.Forever || now.AtMost(first(op))+p.Lease() <= p.DedupWindow.For)
}

// sameAccount reports whether the secrets of today are those that every attempt used, or a person says that they open the
// same account. Else a look-up may be blind to what was done, and a repeated key may be a new one.
func sameAccount(op *journal.Operation, p Policy) bool {
	for _, a := range op.Attempts {
		if !a.Undone && a.Credential != p.Credential && !slices.Contains(op.SameAccounts, p.Credential) {
			return false
		}
	}
	return true
}

// looked reports whether the look-up has said all that it can: its window is over and it missed as often as it must.
func looked(op *journal.Operation, p Policy, now Now) bool {
	return p.Lookup == nil || op.Misses >= p.Lookup.Misses && windowOver(op, p, now)
}

// windowOver reports whether the visibility window has surely passed since the end of every attempt.
func windowOver(op *journal.Operation, p Policy, now Now) bool {
	for _, a := range op.Attempts {
		if a.Undone {
			continue
		}
		if now.AtLeast(a.Begun()) < a.Length()+p.Lookup.Visibility || now.Wall.Before(a.Latest().Add(p.Lookup.Visibility)) {
			return false
		}
		if !a.Ended.IsZero() && now.AtLeast(a.Over()) < p.Lookup.Visibility {
			return false
		}
	}
	return true
}

func nextUnknown(op *journal.Operation, p Policy, now Now) Decision {
	if !now.leaseOverLook(op) {
		return Decision{Do: Join, Operation: op, Until: op.Looking}
	}
	o := op.Clone()
	d := Decision{Operation: &o}
	if o.Wait == nil && unconfirmed(&o, now) >= p.UnknownAfter {
		waitFor(&d, now, "unresolved", p.UnknownAfter.String())
	}
	if o.Wait == nil && p.deduplicates() && p.Resend == "same_key" && !sameAccount(&o, p) {
		waitFor(&d, now, "account", "")
	}
	marked := op.Wait == nil && o.Wait != nil // not where a person said that it can wait: then it is looked up as before
	if marked {
		schedule(&o, p, now)
	}
	if o.Due.IsZero() || now.yet(o.Due) {
		if marked {
			return d.write(Later).until(o.Due)
		}
		return Decision{Do: laterOrAnswer(o.Due), Operation: op, Until: o.Due}
	}
	if resendable(&o, p, now) && looked(&o, p, now) {
		return claim(d, p, now)
	}
	if p.Lookup == nil {
		before := o.Due
		schedule(&o, p, now)
		if marked || !o.Due.Equal(before) {
			return d.write(laterOrAnswer(o.Due)).until(o.Due)
		}
		return Decision{Do: laterOrAnswer(op.Due), Operation: op, Until: op.Due}
	}
	o.Looking = now.Wall.Add(p.Lookup.Deadline + p.Lookup.Deadline/10)
	o.Due = o.Looking
	return d.write(LookUp)
}

func laterOrAnswer(due time.Time) Do {
	if due.IsZero() {
		return Answer
	}
	return Later
}

func nextPending(op *journal.Operation, p Policy, now Now) Decision {
	if op.Wait != nil || op.Due.IsZero() || op.Due.Equal(idle(op)) {
		return Decision{Do: Answer, Operation: op}
	}
	if now.yet(op.Due) || now.yet(op.NotBefore) {
		return Decision{Do: Later, Operation: op, Until: later(op.Due, op.NotBefore)}
	}
	o := op.Clone()
	d := Decision{Operation: &o}
	switch {
	case !attemptsLeft(&o, p):
		o.Due = idle(&o)
		waitFor(&d, now, "attempts", itoa(len(o.Attempts)))
		return d.write(Answer)
	case o.Released && !o.NeedsCaller && now.Wall.Before(o.SendUntil) && !now.Behind():
		return claim(d, p, now)
	}
	o.Due, o.Released, o.Rests, o.Counted = idle(&o), false, true, nil
	d.event(now, "rests", "send_within", "the time to send by itself is over")
	return d.write(Answer)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// schedule sets when an unknown operation is worked on next.
func schedule(op *journal.Operation, p Policy, now Now) {
	op.Due = time.Time{}
	sooner := func(t time.Time) {
		if now.yet(t) && (op.Due.IsZero() || t.Before(op.Due)) {
			op.Due = t
		}
	}
	if p.Lookup != nil {
		wait := min(p.Lookup.Backoff.After(op.Looks+1), atLeastHourly)
		sooner(now.Wall.Add(wait))
		if looked(op, p, now) && resendable(op, p, now) {
			sooner(now.Wall.Add(p.Backoff.After(op.Executable())))
		}
		for _, a := range op.Attempts { // right when a miss begins to count
			if !a.Undone {
				sooner(a.Latest().Add(p.Lookup.Visibility))
			}
		}
	} else if resendable(op, p, now) {
		sooner(now.Wall.Add(p.Backoff.After(op.Executable())))
	}
	if now.yet(op.NotBefore) { // the provider asked to wait with sending; looking goes on
		sooner(op.NotBefore)
	}
	if op.Patience != nil {
		sooner(op.Patience.Until)
	}
	if op.Wait == nil {
		sooner(op.FirstSent.Add(p.UnknownAfter))
		if op.Ruling != nil {
			sooner(op.Ruling.At.Add(p.UnknownAfter))
		}
		if op.Due.IsZero() {
			op.Due = now.Wall.Add(time.Second)
		}
	}
}
