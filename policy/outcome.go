package policy

import (
	"time"

	"notwice/journal"
)

// OnOutcome stores what an attempt proved (DESIGN §5, "late evidence" of §6). taken reports whether the outcome's external
// id belongs to another operation.
func OnOutcome(op *journal.Operation, out Outcome, taken bool, p Policy, now Now) Decision {
	o := op.Clone()
	d := Decision{Operation: &o}
	if taken && out.Outcome == journal.Applied {
		out.Outcome, out.Reason, out.ExternalID, out.Result, out.Evidence = journal.OutcomeUnknown, "external_id_taken", "", nil, ""
	}
	live := o.Status == journal.InProgress && o.Epoch == out.Epoch
	what := "outcome"
	if !live {
		what = "late_outcome"
	}
	d.Change.Events = append(d.Change.Events, journal.Event{
		At: now.Wall, What: what, Status: o.Status, Epoch: out.Epoch, Attempt: attemptNumber(&o, out.Epoch),
		Outcome: out.Outcome, Evidence: out.Evidence, Reason: out.Reason, ExternalID: out.ExternalID, Note: out.Waits,
	})
	if a := o.Attempt(out.Epoch); a != nil && (a.Outcome == "" || a.Outcome == journal.OutcomeUnknown) {
		a.End(out.Outcome, out.Reason, now.Moment)
		o.Misses = 0 // look-ups before the end of an attempt say nothing
		a.Undone = a.Undone || out.Outcome == journal.NotSent || out.Outcome == journal.Rejected
	}
	switch out.Outcome {
	case journal.Applied:
		return proof{status: journal.Succeeded, evidence: out.Evidence, id: out.ExternalID, out: out}.settle(d, live, p, now)
	case journal.Rejected:
		return onRejected(d, out, live, p, now)
	case journal.NotSent:
		return onNotSent(d, out, live, p, now)
	}
	return onUnknown(d, out, live, p, now)
}

func attemptNumber(op *journal.Operation, epoch int) int {
	if a := op.Attempt(epoch); a != nil {
		return a.N
	}
	return 0
}

// onRejected closes the operation only when the refusal speaks for the key or every other attempt is known not to have
// been executed: a refusal on attempt 2 says nothing about attempt 1. Nor does a late one that speaks for the key end the
// attempt that is under way; its sender still reports, or its lease runs out.
func onRejected(d Decision, out Outcome, live bool, p Policy, now Now) Decision {
	op := d.Operation
	if out.ForKey {
		for i := range op.Attempts {
			a := &op.Attempts[i]
			a.Undone = a.Undone || live || op.Status != journal.InProgress || a.Epoch != op.Epoch
		}
	}
	if op.Executable() == 0 {
		return proof{status: journal.FailedFinal, evidence: refusedBy(op), out: out}.settle(d, live, p, now)
	}
	return stayOpen(d, "rejected_while_another_is_open", out, live, p, now)
}

// refusedBy is the evidence of a refusal: the provider's answer, unless it rests on a person's word that earlier attempts were
// not executed.
func refusedBy(op *journal.Operation) journal.Evidence {
	if op.Vouched {
		return journal.Person
	}
	return journal.Response
}

// stayOpen is for an end that does not settle an operation of which another attempt may have been executed.
func stayOpen(d Decision, reason string, out Outcome, live bool, p Policy, now Now) Decision {
	if live {
		becomeUnknown(&d, p, now, reason, out.RetryAfter)
		return d.write(Later).until(d.Operation.Due)
	}
	return d.write(laterOrAnswer(d.Operation.Due)).until(d.Operation.Due)
}

func onNotSent(d Decision, out Outcome, live bool, p Policy, now Now) Decision {
	op := d.Operation
	if op.Executable() > 0 {
		return stayOpen(d, out.Reason, out, live, p, now)
	}
	if !live && op.Status != journal.Unknown {
		return d.write(Answer)
	}
	for _, a := range op.Attempts {
		if a.Outcome == journal.Rejected { // all others are now known not to have been executed, this one was refused
			return proof{status: journal.FailedFinal, evidence: refusedBy(op), out: Outcome{Reason: a.Reason}}.settle(d, live, p, now)
		}
	}
	unsent(&d, p, now, out)
	return d.write(Answer)
}

// unsent brings an operation back to pending, where it rests: nothing of it left this machine.
func unsent(d *Decision, p Policy, now Now, out Outcome) {
	op := d.Operation
	op.Status, op.Reason, op.Rests, op.Released = journal.Pending, out.Reason, true, false
	op.Due, op.Wait, op.Looking, op.Counted = idle(op), nil, time.Time{}, nil
	op.FirstSent, op.FirstUp, op.FirstIn = time.Time{}, 0, ""
	if out.RetryAfter > 0 {
		op.NotBefore = now.Wall.Add(out.RetryAfter)
	}
	op.Attempts = op.Attempts[len(op.Attempts)-1:] // the others are in the history
	d.event(now, "moved", out.Reason, out.Waits)
}

func onUnknown(d Decision, out Outcome, live bool, p Policy, now Now) Decision {
	if !live {
		return d.write(laterOrAnswer(d.Operation.Due)).until(d.Operation.Due)
	}
	op := d.Operation
	becomeUnknown(&d, p, now, out.Reason, out.RetryAfter)
	switch out.Word {
	case "conflict":
		waitFor(&d, now, "conflict", "")
		schedule(op, p, now)
	case "exists":
		if op.NotBefore.IsZero() {
			op.Due = now.Wall
		}
	}
	return d.write(Later).until(op.Due)
}

// proof is definite evidence about the effect of an operation.
type proof struct {
	status   journal.Status // succeeded or failed_final
	evidence journal.Evidence
	id       string
	out      Outcome
}

// settle lets the proof take effect where it may: it ends what is open and unclaimed by another, takes the place of a
// person's ruling, and is kept as a contradiction where it disagrees with anything else. live means that it comes from the
// attempt that holds the operation, or from a look-up of an unknown one.
func (pr proof) settle(d Decision, live bool, p Policy, now Now) Decision {
	op := d.Operation
	claimed := op.Status == journal.InProgress && !live
	switch {
	case op.Open() && !claimed:
		pr.finish(&d, now)
	case claimed:
		pr.flag(&d, now, "during_retry")
	case op.Status == pr.status && (pr.id == op.ExternalID || pr.id == "" || op.ExternalID == "" && op.Evidence != journal.Person):
		// the same again
	case op.Evidence == journal.Person && op.Status == pr.status: // the person was right; now it is proved
		op.ExternalID = ""
		pr.finish(&d, now)
	case op.Evidence == journal.Person:
		pr.flag(&d, now, "against_ruling")
		op.ExternalID = ""
		pr.finish(&d, now)
	default:
		pr.flag(&d, now, "against_final")
	}
	return d.write(Answer)
}

func (pr proof) finish(d *Decision, now Now) {
	op := d.Operation
	op.Status, op.Evidence, op.Reason = pr.status, pr.evidence, pr.out.Reason
	if pr.id != "" {
		op.ExternalID = pr.id
	}
	op.Result, op.Request = pr.out.Result, nil
	op.Ended, op.Due, op.Looking, op.NotBefore = now.Wall, idle(op), time.Time{}, time.Time{}
	op.Wait, op.Rests, op.Released, op.Patience, op.Permit = nil, false, false, nil, nil
	if op.Status == journal.Succeeded {
		spend(op, now)
	} else if op.Evidence != journal.Person || op.Executable() == 0 { // a person who closes an unknown proves nothing
		op.Counted = nil
	}
	d.Change.Events = append(d.Change.Events, journal.Event{
		At: now.Wall, What: "moved", Status: op.Status, Epoch: op.Epoch, Evidence: op.Evidence, Reason: op.Reason, ExternalID: op.ExternalID,
	})
}

// flag keeps a contradiction until a person has seen it, each once.
func (pr proof) flag(d *Decision, now Now, what string) {
	op := d.Operation
	f := journal.Flag{At: now.Wall, What: what, Was: op.Status, Says: pr.status, ID: pr.id}
	for _, old := range op.Flags {
		if old.What == f.What && old.Was == f.Was && old.Says == f.Says && old.ID == f.ID {
			return
		}
	}
	op.Flags, op.Permit = append(op.Flags, f), nil // leave was given for what was known then
	d.event(now, "flagged", what, pr.id)
}
