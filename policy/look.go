package policy

import (
	"time"

	"notwice/journal"
)

// OnLook decides what the answer of a look-up means (DESIGN §6). owned reports whether an external id belongs to another
// operation.
func OnLook(op *journal.Operation, look Look, owned func(id string) bool, p Policy, now Now) Decision {
	o := op.Clone()
	d := Decision{Operation: &o}
	o.Looking = time.Time{}
	o.Looks++
	found := ours(&o, look.Found, owned, p)
	event := journal.Event{At: now.Wall, What: "look_up", Status: o.Status, Epoch: o.Epoch, Reason: look.reason(found), Note: itoa(len(found)) + " of " + itoa(len(look.Found)) + " found"}
	d.Change.Events = append(d.Change.Events, event)
	switch {
	case look.Failed != "":
		return again(d, p, now)
	case len(found) == 0:
		return missed(d, look, p, now)
	case len(found) > 1:
		return review(d, "candidates", "the look-up found several", found, p, now)
	}
	return one(d, found[0], p, now)
}

func (l Look) reason(found []Found) string {
	switch {
	case l.Failed != "":
		return l.Failed
	case len(found) == 0:
		return "nothing_found"
	}
	return "found"
}

// ours sets aside what is surely not this operation's effect: what belongs to another operation, and what bears neither
// our key nor our number and is dated well before our first attempt.
func ours(op *journal.Operation, found []Found, owned func(string) bool, p Policy) []Found {
	var kept []Found
	for _, f := range found {
		if owned(f.ID) {
			continue
		}
		mine := f.Match == ByKey || f.Match == ByReference
		if !mine && !f.Created.IsZero() && p.Lookup != nil && f.Created.Before(op.FirstSent.Add(-p.Lookup.ClockTolerance)) {
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

func one(d Decision, f Found, p Policy, now Now) Decision {
	op := d.Operation
	certain := f.Match == ByKey || f.Match == ByReference
	if f.Match == ByUnique { // unique, but it could be older than we are
		certain = f.Created.IsZero() || !f.Created.Before(op.FirstSent)
	}
	pr := proof{evidence: journal.LookupByReference, id: f.ID, out: Outcome{Result: f.Result}}
	if f.Match == ByKey {
		pr.evidence = journal.LookupByKey
	}
	live := op.Status == journal.Unknown
	switch {
	case !certain:
		return review(d, "heuristic", "found by signs that another payment could bear too", []Found{f}, p, now)
	case len(f.Differs) > 0:
		return review(d, "candidates", "what was found differs from the request", []Found{f}, p, now)
	case f.ID == "":
		return review(d, "candidates", "what was found bears no id", []Found{f}, p, now)
	case f.State == "completed":
		pr.status = journal.Succeeded
		return pr.settle(d, live, p, now)
	case f.State == "failed":
		pr.status, pr.id, pr.out.Result = journal.FailedFinal, "", nil
		pr.out.Reason = "failed_at_provider"
		return pr.settle(d, live, p, now)
	}
	return again(d, p, now) // still running, or a state that the tool does not name
}

// review asks a person; it never chooses.
func review(d Decision, reason, note string, found []Found, p Policy, now Now) Decision {
	if d.Operation.Status != journal.Unknown {
		return d.write(Answer)
	}
	candidates := make([]journal.Candidate, len(found))
	for i, f := range found {
		candidates[i] = f.Candidate
	}
	d.Operation.Misses = 0
	waitFor(&d, now, reason, note, candidates...)
	return again(d, p, now)
}

// again leaves the operation as it is and says when to look again.
func again(d Decision, p Policy, now Now) Decision {
	op := d.Operation
	if op.Status != journal.Unknown {
		return d.write(laterOrAnswer(op.Due)).until(op.Due)
	}
	schedule(op, p, now)
	return d.write(laterOrAnswer(op.Due)).until(op.Due)
}

// missed counts a look that found nothing. Only one that was begun after the visibility window says anything.
func missed(d Decision, look Look, p Policy, now Now) Decision {
	op := d.Operation
	if op.Status != journal.Unknown {
		return again(d, p, now)
	}
	begun := Now{Moment: look.Begun, High: now.High}
	known := p.Lookup.TrustEmpty || look.Known
	if !look.AllPages || !windowOver(op, p, begun) {
		op.Misses = 0
		return again(d, p, now)
	}
	op.Misses++
	switch {
	case op.Misses < p.Lookup.Misses || !p.Lookup.Complete:
		return again(d, p, now)
	case !known && resendable(op, p, now):
		return again(d, p, now)
	case !known:
		waitFor(&d, now, "unproved_absence", "the look-up finds nothing, and has never found anything of this tool")
		return again(d, p, now)
	case !sameAccount(op, p):
		waitFor(&d, now, "account", "the secrets were changed since it was sent: another account would find nothing either")
		return again(d, p, now)
	case op.Wait != nil && op.Wait.Reason != "unresolved" && op.Wait.Reason != "account" && op.Wait.Reason != "unproved_absence":
		return again(d, p, now)
	}
	return release(d, p, now)
}

// release brings a definitely absent operation back to pending, with the same key, to go by itself while policy allows.
func release(d Decision, p Policy, now Now) Decision {
	op := d.Operation
	for i := range op.Attempts {
		op.Attempts[i].Undone = true
	}
	waited := op.Wait != nil
	op.Status, op.Reason, op.Wait = journal.Pending, "absent", nil
	op.Looking, op.Misses = time.Time{}, 0
	d.event(now, "moved", "absent", "")
	switch {
	case !attemptsLeft(op, p):
		op.Due = idle(op)
		waitFor(&d, now, "attempts", itoa(len(op.Attempts))+" attempts were made")
		return d.write(Answer)
	case p.Resend == "never" || p.AskOnTimeout || waited || !now.Wall.Before(op.SendUntil):
		op.Rests, op.Due, op.Counted = true, idle(op), nil
		return d.write(Answer)
	}
	op.Released = true
	op.Due = later(now.Wall.Add(p.Backoff.After(len(op.Attempts))), op.NotBefore)
	return d.write(Later).until(op.Due)
}
