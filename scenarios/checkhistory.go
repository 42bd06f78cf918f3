package scenarios

import (
	"slices"

	"notwice/journal"
)

// moves are the legal changes of state (DESIGN §8), written down a second time so that one mistake cannot hide in both
// places. An operation may always stay as it is; the one move between final states is a proof that takes the place of a
// person's ruling.
var moves = map[journal.Status][]journal.Status{
	journal.Pending:    {journal.InProgress, journal.Succeeded, journal.FailedFinal},
	journal.InProgress: {journal.Pending, journal.Unknown, journal.Succeeded, journal.FailedFinal},
	journal.Unknown:    {journal.Pending, journal.InProgress, journal.Succeeded, journal.FailedFinal},
}

// history walks along an operation's events. S5: each state follows from the one before by a legal move, and only what claims
// or moves changes it; S10: one live attempt, whose epoch no other can overwrite; S15: the record stands where its history
// ends.
func (c *checker) history(op journal.Operation, events []journal.Event) {
	if first := events[0]; first.What != "registered" || first.Status != journal.Pending {
		c.say("S5: operation %s begins with %s in the state %s", op.Number, first.What, first.Status)
	}
	for i := 1; i < len(events); i++ {
		c.move(op, events[:i], events[i])
	}
	c.claims(op, events)
	if last := events[len(events)-1]; last.Status != op.Status {
		c.say("S15: operation %s is %s, its history ends with %s", op.Number, op.Status, last.Status)
	}
}

// move is S5 for one event after others.
func (c *checker) move(op journal.Operation, earlier []journal.Event, e journal.Event) {
	from := earlier[len(earlier)-1].Status
	claims, settles := e.What == "claimed", e.What == "moved"
	switch {
	case from == e.Status && claims && from == journal.InProgress:
		// two claims in a row are S10's
	case from == e.Status:
		if claims {
			c.say("S5: operation %s was claimed and is %s", op.Number, e.Status)
		}
	case from.Final() && e.Status.Final():
		if !settles || evidenceAt(earlier) != journal.Person || e.Evidence == journal.Person {
			c.say("S5: operation %s was %s and became %s without a proof against a person's word", op.Number, from, e.Status)
		}
	case !slices.Contains(moves[from], e.Status):
		c.say("S5: operation %s was %s and became %s", op.Number, from, e.Status)
	case claims != (e.Status == journal.InProgress) || !claims && !settles:
		c.say("S5: operation %s became %s by %s", op.Number, e.Status, e.What)
	}
}

// evidenceAt is the evidence of the last end in a history.
func evidenceAt(events []journal.Event) (last journal.Evidence) {
	for _, e := range events {
		if e.What == "moved" && e.Status.Final() {
			last = e.Evidence
		}
	}
	return last
}

// claims is S10: a claim comes only when the attempt before it has ended, each has a higher epoch than the last, and only the
// latest one's outcome counts as the live one.
func (c *checker) claims(op journal.Operation, events []journal.Event) {
	running, epoch := 0, 0
	for _, e := range events {
		switch e.What {
		case "claimed":
			if running != 0 {
				c.say("S10: operation %s was claimed for attempt %d while attempt %d was under way", op.Number, e.Attempt, running)
			}
			if e.Epoch <= epoch {
				c.say("S10: operation %s was claimed under epoch %d after epoch %d", op.Number, e.Epoch, epoch)
			}
			running, epoch = e.Attempt, e.Epoch
		case "outcome":
			if e.Epoch != epoch || running == 0 {
				c.say("S10: operation %s took the outcome of epoch %d, whose attempt was over", op.Number, e.Epoch)
			}
			running = 0
		case "moved":
			running = 0
		}
	}
}

// ends says what can stand under each final state: the outcome of an attempt, and the rulings.
var ends = map[journal.Status]struct {
	outcome journal.Outcome
	rulings []string
}{
	journal.Succeeded:   {journal.Applied, []string{"happened"}},
	journal.FailedFinal: {journal.Rejected, []string{"close", "decline", "replace", "stop"}},
}

// basis is S6: what is not definite means unknown. A final state rests on what the history shows before it: a definite outcome,
// a look-up that found something, or a ruling that ends. What a wrapped tool calls an error is outside.
func (c *checker) basis(op journal.Operation, events []journal.Event) {
	for i, e := range events {
		if e.What != "moved" || !e.Status.Final() || e.Evidence == journal.UpstreamError {
			continue
		}
		end := ends[e.Status]
		rests := slices.ContainsFunc(events[:i], func(b journal.Event) bool {
			found, ended := b.What == "look_up" && b.Reason == "found", b.What == "ruled" && slices.Contains(end.rulings, b.Reason)
			return b.Outcome == end.outcome || found || ended
		})
		if !rests {
			c.say("S6: operation %s became %s, and nothing definite was seen before", op.Number, e.Status)
		}
	}
}

// rulings is S20: one ruling per episode. What a ruling settles is over, so another one right behind it decides the same thing
// twice; so does the same ruling given twice. A person may wait and then decide, wait longer, or give leave once more.
func (c *checker) rulings(op journal.Operation, events []journal.Event) {
	settles := []string{"happened", "resend", "close", "approve", "decline", "replace", "stop"}
	for i, e := range events {
		if e.What != "ruled" {
			continue
		}
		if e.By == "" {
			c.say("S20: nobody ruled %s of operation %s", e.Reason, op.Number)
		}
		if i == 0 || events[i-1].What != "ruled" {
			continue
		}
		first := events[i-1].Reason
		if slices.Contains(settles, first) || first == e.Reason && first != "again" && first != "wait" {
			c.say("S20: operation %s was ruled %s and %s in one episode", op.Number, first, e.Reason)
		}
	}
}
