package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/toolbox"
)

// promise is what a tool's declaration says of its provider, as far as it bears on sending again. Checkers take the world's word
// for it, not the product's decisions.
type promise struct {
	replays  bool          // a repeated key does nothing more
	window   time.Duration // and is known for so long; 0: for ever
	searched bool          // a look-up that finds nothing proves that there is nothing
	visible  time.Duration // so long after the end of an attempt
	misses   int           // and so many times in a row
	deadline time.Duration // of one attempt
	keeps    bool          // the tool keeps something of the answer
}

func promiseOf(f toolbox.Facts) promise {
	p := promise{deadline: time.Duration(f.Deadline), keeps: len(f.Result) > 0}
	if p.deadline == 0 {
		p.deadline = 10 * time.Second
	}
	p.replays = f.Key.Sent() && f.Key.Encode != "number" && !slices.Contains([]string{"", "executes"}, f.OnRepeat) && f.DedupWindow.Known && f.Resend == "same_key"
	if !f.DedupWindow.Forever {
		p.window = f.DedupWindow.For
	}
	if l := f.Lookup; l != nil && l.Complete {
		p.searched, p.visible, p.misses = true, time.Duration(l.Visibility), max(l.Misses, 1)
	}
	return p
}

// sent is an attempt that may have been executed.
type sent struct{ claimed, ended time.Time }

// resends is S9: between two sends of a key stands a definite absence, the proof that the first was not executed, or a provider
// that de-duplicates within its window. It is read from the history, and held against the ledger.
func (c *checker) resends(op journal.Operation, events []journal.Event) {
	p, known := c.promises[op.Tool]
	if !known {
		return
	}
	open := map[int]*sent{} // by epoch
	var first time.Time
	for i, e := range events {
		switch {
		case e.What == "claimed":
			if len(open) > 0 && !(p.replays && (p.window == 0 || e.At.Sub(first) <= p.window)) {
				c.say("S9: operation %s was sent again at %s, and nothing says that attempt 1 to %d were not executed", op.Number, e.At.Format(time.TimeOnly), e.Attempt-1)
			}
			if len(open) == 0 {
				first = e.At
			}
			open[e.Epoch] = &sent{claimed: e.At}
		case e.What == "outcome" || e.What == "late_outcome":
			if e.Outcome == journal.NotSent || e.Outcome == journal.Rejected {
				delete(open, e.Epoch)
			} else if s := open[e.Epoch]; s != nil {
				s.ended = e.At
			}
		case e.What == "ruled" && slices.Contains([]string{"resend", "approve"}, e.Reason):
			clear(open)
		case e.What == "moved" && e.Status == journal.Pending && e.Reason == "absent":
			c.absence(op, p, open, events[:i])
			clear(open)
		}
	}
}

// absence is S9 for a look-up that says "there is none": it must be one that can, late enough, and often enough.
func (c *checker) absence(op journal.Operation, p promise, open map[int]*sent, before []journal.Event) {
	if !p.searched {
		c.say("S9: operation %s was released as absent, and its look-up proves nothing", op.Number)
		return
	}
	misses := 0
	for _, e := range slices.Backward(before) {
		if e.What == "claimed" {
			break
		}
		if e.What != "look_up" || e.Reason != "nothing_found" && e.Reason != "found" { // one that failed says nothing
			continue
		}
		for _, s := range open {
			end := s.ended
			if end.IsZero() {
				end = s.claimed.Add(p.deadline)
			}
			if e.At.Before(end.Add(p.visible)) && misses < p.misses {
				c.say("S9: operation %s was released as absent by a look-up at %s, before its effect had to be visible", op.Number, e.At.Format(time.TimeOnly))
				return
			}
		}
		misses++
	}
	if misses < p.misses {
		c.say("S9: operation %s was released as absent after %d look-ups of %d", op.Number, misses, p.misses)
	}
}

// sentAfterEffect is S9 by the ledger: where keys are not known, nothing is sent once there is an effect, unless a person says so.
func (c *checker) sentAfterEffect(op journal.Operation, events []journal.Event) {
	p, known := c.promises[op.Tool]
	if !known || p.replays || slices.ContainsFunc(events, func(e journal.Event) bool { return e.What == "ruled" }) {
		return
	}
	writes := c.writesOf(op)
	for _, e := range c.effectsOf(op) {
		for _, r := range writes {
			if r.N > e.Request && !r.At.Before(e.CreatedAt) {
				c.say("S9: operation %s was sent again in request %d, and request %d had taken effect", op.Number, r.N, e.Request)
			}
		}
	}
}

// ambiguity is S12: two candidates are a person's to choose between.
func (c *checker) ambiguity(op journal.Operation, events []journal.Event) {
	for i, e := range events[:len(events)-1] {
		var mine, all int
		if e.What != "look_up" {
			continue
		}
		if n, _ := fmt.Sscanf(e.Note, "%d of %d", &mine, &all); n == 2 && mine > 1 && events[i+1].What == "moved" {
			c.say("S12: a look-up of operation %s found %d, and it became %s", op.Number, mine, events[i+1].Status)
		}
	}
}

// inventedKeys is S13: what a model calls a key never leaves.
func (c *checker) inventedKeys() {
	for _, r := range c.requests {
		if isWrite(r) && (r.Key == inventedKey || strings.Contains(string(r.Body), inventedKey)) {
			c.say("S13: request %d bears a key that the model made up", r.N)
		}
	}
}

// answersAreTrue is S21: no answer claims what the journal does not hold, nor a result that the provider does not have.
func (c *checker) answersAreTrue() {
	for _, a := range c.answers {
		events := c.histories[journal.Key(a.key)]
		events = events[:min(a.events, len(events))]
		if !slices.ContainsFunc(events, a.holds) {
			c.say("S21: %s of operation %s was answered, and the journal held nothing of the kind", a.word, a.number)
		}
		isDone := a.word == string(toolbox.Done) || a.word == string(toolbox.AlreadyDone)
		if isDone && a.evidence != string(journal.Person) && !slices.ContainsFunc(c.effects, func(e fakeprovider.Effect) bool { return e.ID == a.externalID }) {
			c.say("S21: %s of operation %s names %q, which the provider does not have", a.word, a.number, a.externalID)
		}
	}
}

// answerSeen is what somebody was told of an operation, and how many events its history had then.
type answerSeen struct {
	key, number, word, evidence, externalID string
	events                                  int
}

func seenOf(r toolbox.Result) answerSeen {
	return answerSeen{key: r.Key, number: r.Number, word: string(r.Word), evidence: r.Evidence, externalID: r.ExternalID, events: math.MaxInt}
}

// holds reports whether an event is what the answer says.
func (a answerSeen) holds(e journal.Event) bool {
	switch toolbox.Word(a.word) {
	case toolbox.Done, toolbox.AlreadyDone:
		return e.Status == journal.Succeeded
	case toolbox.Rejected:
		return e.Status == journal.FailedFinal
	case toolbox.NotSent, toolbox.Queued:
		return e.Status == journal.Pending
	case toolbox.NotConfirmed:
		return e.Status == journal.Unknown || e.Status == journal.InProgress
	case toolbox.WaitsForHuman:
		return e.What == "waits" || e.What == "asked"
	}
	return true // a conflict says nothing of its own call
}

// resultKept is S15 for what an answer brought: the end of an operation and what it was told are one commit.
func (c *checker) resultKept(op journal.Operation) {
	if op.Status == journal.Succeeded && op.Evidence == journal.Response && c.promises[op.Tool].keeps && len(op.Result) == 0 {
		c.say("S15: operation %s is succeeded by an answer, and nothing of the answer is kept", op.Number)
	}
}
