package scenarios

import (
	"context"
	"fmt"

	"notwice/fakeprovider"
	"notwice/journal"
)

// check holds the ledger, the journal and its histories against the invariants of DESIGN §11. It knows nothing of policy
// or toolbox.
func (w *world) check() (broken []string) {
	ops, err := w.operations()
	if err != nil {
		return []string{"S16: the journal cannot be read: " + err.Error()}
	}
	effects, err := w.fake.Core().Effects(w.clock.Now())
	if err != nil {
		return []string{"the ledger cannot be read: " + err.Error()}
	}
	c := checker{ops: ops, effects: effects, requests: w.fake.Core().Requests()}
	c.effectsPerIntent()
	c.requestsPerAttempt()
	c.onePerKin()
	c.externalIDs()
	c.finals()
	permitted := map[string]bool{}
	for _, op := range ops {
		history, err := w.store.History(context.Background(), op.Key)
		if err != nil {
			c.say("S16: history of %s: %v", op.Number, err)
			continue
		}
		c.history(op, history)
		c.rulings(op, history)
		for _, e := range history {
			if e.What == "permit_used" {
				permitted[e.Note] = true
			}
		}
	}
	c.sequels(permitted)
	return c.broken
}

// S20: one ruling per episode. Between two decisions about an operation something else happened to it.
func (c *checker) rulings(op journal.Operation, events []journal.Event) {
	for i, e := range events {
		if e.What == "ruled" && i > 0 && events[i-1].What == "ruled" && (e.Reason != "again" || events[i-1].Reason != "again") {
			c.say("S20: operation %s was ruled %s and %s in one episode", op.Number, events[i-1].Reason, e.Reason)
		}
		if e.What == "ruled" && e.By == "" {
			c.say("S20: nobody ruled %s of operation %s", e.Reason, op.Number)
		}
	}
}

// S14, over time: what declared identity calls one wish is done again only with a person's permit, or after an end that had no
// effect.
func (c *checker) sequels(permitted map[string]bool) {
	for _, op := range c.ops {
		declared := false
		for _, f := range op.Fields {
			declared = declared || f.Role == "identity"
		}
		if op.Seq == 1 || !declared || permitted[string(op.Key)] {
			continue
		}
		ended := false
		for _, other := range c.ops {
			ended = ended || other.Kin == op.Kin && other.Scope == op.Scope && other.Seq < op.Seq && other.Status == journal.FailedFinal
		}
		if !ended {
			c.say("S14: operation %s repeats a wish without a permit", op.Number)
		}
	}
}

type checker struct {
	ops      []journal.Operation
	effects  []fakeprovider.Effect
	requests fakeprovider.Requests
	broken   []string
}

func (c *checker) say(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

// of are the effects that bear an operation's key or number.
func (c *checker) of(op journal.Operation) (mine []fakeprovider.Effect) {
	for _, e := range c.effects {
		if e.Key == string(op.Key) || e.Number == op.Number || e.Reference == op.Number {
			mine = append(mine, e)
		}
	}
	return mine
}

// S1: effects per intent ≤ 1. Two effects of one request are the provider's own doing, and are not ours.
func (c *checker) effectsPerIntent() {
	for _, op := range c.ops {
		requests := map[int]bool{}
		for _, e := range c.of(op) {
			requests[e.Request] = true
		}
		if len(requests) > 1 {
			c.say("S1: operation %s (%s) took effect by %d requests", op.Number, op.Tool, len(requests))
		}
	}
}

// S2 and S1: every request at the provider belongs to a journaled attempt, and no attempt made two; S4: equal keys bear
// equal bodies.
func (c *checker) requestsPerAttempt() {
	attempts := 0
	known := map[string]bool{}
	for _, op := range c.ops {
		attempts += op.AttemptCount
		known[string(op.Key)] = true
	}
	if c.requests.Writes > attempts {
		c.say("S2: the provider received %d writes, the journal knows %d attempts", c.requests.Writes, attempts)
	}
	bodies := map[string]string{}
	for _, r := range c.requests.List {
		if r.Key == "" || r.Method != "POST" {
			continue
		}
		if !known[r.Key] {
			c.say("S2: request %d bears the key %s, which the journal does not know", r.N, r.Key)
		}
		body := string(r.Body)
		if before, again := bodies[r.Key]; again && before != body {
			c.say("S4: the key %s was sent with two bodies", r.Key)
		}
		bodies[r.Key] = body
	}
}

// S14: one open operation per action, account and identity; S3: one key per intent.
func (c *checker) onePerKin() {
	open, intents := map[string]string{}, map[string]string{}
	for _, op := range c.ops {
		if other, twice := intents[string(op.Intent)]; twice {
			c.say("S3: one intent has the operations %s and %s", other, op.Number)
		}
		intents[string(op.Intent)] = op.Number
		if !op.Open() {
			continue
		}
		place := op.Account + " " + op.Tool + " " + string(op.Kin) + " " + string(op.RequestHash)
		if other, twice := open[place]; twice {
			c.say("S14: %s and %s are open at once", other, op.Number)
		}
		open[place] = op.Number
	}
}

// S22: an external id belongs to one operation.
func (c *checker) externalIDs() {
	owners := map[string]string{}
	for _, op := range c.ops {
		if op.ExternalID == "" {
			continue
		}
		place := op.Account + " " + op.ExternalID
		if other, twice := owners[place]; twice {
			c.say("S22: %s belongs to %s and %s", op.ExternalID, other, op.Number)
		}
		owners[place] = op.Number
	}
}

// S7: failed_final ⇒ no effect; S8: succeeded ⇒ exactly one effect, with that id. Both speak of evidence other than a
// person's, signs and a wrapped tool's error, and of operations without a known contradiction.
func (c *checker) finals() {
	ids := map[string]bool{}
	for _, e := range c.effects {
		ids[e.ID] = true
	}
	for _, op := range c.ops {
		if op.Evidence == journal.Person || op.Evidence == journal.Heuristic || op.Evidence == journal.UpstreamError || len(op.Flags) > 0 {
			continue
		}
		switch op.Status {
		case journal.FailedFinal:
			if mine := c.of(op); len(mine) > 0 {
				c.say("S7: operation %s is failed_final, yet %s exists", op.Number, mine[0].ID)
			}
		case journal.Succeeded:
			if !ids[op.ExternalID] {
				c.say("S8: operation %s is succeeded as %q, which the provider does not have", op.Number, op.ExternalID)
			}
		}
	}
}

// S5 and S10 along a history: every event follows from the one before, and a claim comes only when the attempt before it
// has ended.
func (c *checker) history(op journal.Operation, events []journal.Event) {
	if len(events) == 0 {
		c.say("S2: operation %s has no history", op.Number)
		return
	}
	if last := events[len(events)-1]; last.Status != op.Status && last.What != "outcome" && last.What != "late_outcome" && last.What != "look_up" {
		c.say("S15: operation %s is %s, its history ends with %s", op.Number, op.Status, last.Status)
	}
	running := 0
	for _, e := range events {
		switch {
		case e.What == "claimed" && running != 0:
			c.say("S10: operation %s was claimed for attempt %d while attempt %d was under way", op.Number, e.Attempt, running)
		case e.What == "claimed":
			running = e.Attempt
		case e.What == "outcome" || e.What == "moved":
			running = 0
		}
	}
}
