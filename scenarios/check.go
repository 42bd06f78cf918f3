package scenarios

import (
	"fmt"
	"slices"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
)

// check holds facts against the invariants of DESIGN §11 and lists what is broken, each with the name of its rule. It knows
// nothing of policy or toolbox, and has its own table of legal moves. Stories and canaries enter here.
//
// Checked are S1 to S16 as far as they show here, S20, S21 and S22. S17 needs a clock that is wrong and belongs to the simulation,
// S18 longer time, S19 an older file.
func (f *facts) check() []string {
	c := checker{facts: f}
	for _, what := range f.unread {
		c.say("S16: %s", what)
	}
	c.writesAreJournaled()
	c.names()
	c.kept()
	c.inventedKeys()
	c.answersAreTrue()
	for _, op := range f.ops {
		events := f.histories[op.Key]
		if len(events) == 0 {
			c.say("S2: operation %s has no history", op.Number)
			continue
		}
		c.oneEffect(op)
		c.sends(op, events)
		c.final(op)
		c.history(op, events)
		c.resends(op, events)
		c.sentAfterEffect(op, events)
		c.ambiguity(op, events)
		c.resultKept(op)
		c.basis(op, events)
		c.rulings(op, events)
	}
	c.openKin()
	c.sequels()
	return c.broken
}

type checker struct {
	*facts
	broken []string
}

func (c *checker) say(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

// oneEffect is S1: effects per intent ≤ 1. Two effects of one request are the provider's own doing, and are not ours.
func (c *checker) oneEffect(op journal.Operation) {
	requests := map[int]bool{}
	for _, e := range c.effectsOf(op) {
		requests[e.Request] = true
	}
	if len(requests) > 1 {
		c.say("S1: operation %s (%s) took effect by %d requests", op.Number, op.Tool, len(requests))
	}
}

// writesAreJournaled is S2 over all operations: every write at the provider belongs to an attempt that the journal knows.
func (c *checker) writesAreJournaled() {
	attempts, writes := 0, 0
	for _, op := range c.ops {
		attempts += op.AttemptCount
	}
	for _, r := range c.requests {
		if !isWrite(r) {
			continue
		}
		writes++
		known := slices.ContainsFunc(c.ops, func(op journal.Operation) bool { return isKeyOf(r.Key, op) })
		if r.Key != "" && !known {
			c.strangeKey(r)
		}
	}
	if writes > attempts {
		c.say("S2: the provider received %d writes, the journal knows %d attempts", writes, attempts)
	}
}

// strangeKey is a write under a key that nobody minted: S3 where it sends an operation's request, S20 where a person had let that go
// again, else S2.
func (c *checker) strangeKey(r fakeprovider.RequestSeen) {
	for _, op := range c.ops {
		for _, mine := range c.writesOf(op) {
			if mine.N == r.N || mine.Kind != r.Kind || string(mine.Body) != string(r.Body) {
				continue
			}
			rule := "S3"
			if slices.ContainsFunc(c.histories[op.Key], func(e journal.Event) bool { return e.What == "ruled" }) {
				rule = "S20"
			}
			c.say("%s: request %d sends operation %s under another key, %s", rule, r.N, op.Number, r.Key)
			return
		}
	}
	c.say("S2: request %d bears the key %s, which the journal does not know", r.N, r.Key)
}

// sends looks at the writes that bear one operation's key. S2: none before its claim, and none beyond its attempts; S4: all
// with one body; S11: none once it is final. Within a step virtual time may stand still, so S11 counts from step to step too.
func (c *checker) sends(op journal.Operation, events []journal.Event) {
	writes := c.writesOf(op)
	if len(writes) > op.AttemptCount {
		c.say("S2: %d writes bear the key of operation %s, which made %d attempts", len(writes), op.Number, op.AttemptCount)
	}
	claimed := slices.IndexFunc(events, func(e journal.Event) bool { return e.What == "claimed" })
	final, ended := finalSince(events)
	for i, r := range writes {
		if claimed < 0 || r.At.Before(events[claimed].At) {
			c.say("S2: request %d of operation %s was sent before it was claimed", r.N, op.Number)
		}
		if i > 0 && string(r.Body) != string(writes[0].Body) {
			c.say("S4: operation %s was sent with two bodies, in requests %d and %d", op.Number, writes[0].N, r.N)
		}
		if ended && r.At.After(final) {
			c.say("S11: operation %s was final when request %d bore its key", op.Number, r.N)
		}
	}
	if old, was := c.earlier(op.Key); was && old.Status.Final() && len(writes) > len(c.before.writesOf(old)) {
		c.say("S11: operation %s was final, and another request bore its key", op.Number)
	}
}

// earlier is an operation as it was after the step before.
func (c *checker) earlier(key journal.Key) (journal.Operation, bool) {
	if c.before == nil {
		return journal.Operation{}, false
	}
	i := slices.IndexFunc(c.before.ops, func(op journal.Operation) bool { return op.Key == key })
	if i < 0 {
		return journal.Operation{}, false
	}
	return c.before.ops[i], true
}

// names is S3, one key per intent and one intent per key, and S22: an external id belongs to one operation.
func (c *checker) names() {
	intents, keys, numbers, owners := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	once := func(taken map[string]string, name string, op journal.Operation, rule string) {
		if other, twice := taken[name]; twice {
			c.say(rule, other, op.Number)
		}
		taken[name] = op.Number
	}
	for _, op := range c.ops {
		once(intents, string(op.Intent), op, "S3: one intent has the operations %s and %s")
		once(keys, string(op.Key), op, "S3: one key has the operations %s and %s")
		once(numbers, op.Number, op, "S3: one number has the operations %s and %s")
		if op.ExternalID != "" {
			once(owners, op.Account+" "+op.ExternalID, op, "S22: one external id belongs to %s and %s")
		}
	}
}

// kept is S15 and S4 over time: what was acknowledged a step ago is still there, and what names it has not changed.
func (c *checker) kept() {
	if c.before == nil {
		return
	}
	for _, old := range c.before.ops {
		i := slices.IndexFunc(c.ops, func(op journal.Operation) bool { return op.Key == old.Key })
		if i < 0 {
			c.say("S15: operation %s is gone", old.Number)
			continue
		}
		if c.ops[i].RequestHash != old.RequestHash || c.ops[i].Intent != old.Intent {
			c.say("S4: operation %s has become another request", old.Number)
		}
		was, is := c.before.histories[old.Key], c.histories[old.Key]
		if len(is) < len(was) || !slices.EqualFunc(was, is[:min(len(was), len(is))], sameEvent) {
			c.say("S15: the history of operation %s was rewritten", old.Number)
		}
	}
}

func sameEvent(a, b journal.Event) bool {
	at := a.At.Equal(b.At)
	a.At = b.At // a zone that was spelled otherwise is no difference
	return at && a == b
}

// final is S7 and S8. Both speak of evidence other than a person's, signs and a wrapped tool's error, and of operations without
// a known contradiction.
func (c *checker) final(op journal.Operation) {
	beyond := []journal.Evidence{journal.Person, journal.Heuristic, journal.UpstreamError}
	if slices.Contains(beyond, op.Evidence) || len(op.Flags) > 0 {
		return
	}
	switch op.Status {
	case journal.FailedFinal:
		if mine := c.effectsOf(op); len(mine) > 0 {
			c.say("S7: operation %s is failed_final, yet %s exists", op.Number, mine[0].ID)
		}
	case journal.Succeeded:
		c.succeeded(op)
	}
}

// succeeded is S8: exactly one effect with that id, and with the parameters that were sent under that key.
func (c *checker) succeeded(op journal.Operation) {
	var found []map[string]any
	for _, e := range c.effects {
		if e.ID != op.ExternalID {
			continue
		}
		fields := map[string]any{}
		for name, text := range e.Fields {
			fields[name], _ = canonical.Parse(text)
		}
		found = append(found, fields)
	}
	if len(found) != 1 {
		c.say("S8: operation %s is succeeded as %q, of which the provider has %d", op.Number, op.ExternalID, len(found))
		return
	}
	writes := c.writesOf(op)
	if len(writes) == 0 {
		return
	}
	sent := fieldsOf(writes[0])
	for name, value := range found[0] {
		if asked, both := sent[name]; both && !equalValues(asked, value) {
			c.say("S8: operation %s is succeeded as %s, whose %s is not what was sent", op.Number, op.ExternalID, name)
		}
	}
}

func equalValues(a, b any) bool {
	x, errX := canonical.Plain(a)
	y, errY := canonical.Plain(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// openKin is S14: one open operation per action, account and identity, whatever else the request says. Where no field is
// declared as identity, the whole request is the identity.
func (c *checker) openKin() {
	open := map[string]string{}
	for _, op := range c.ops {
		if !op.Open() {
			continue
		}
		place := op.Account + " " + op.Tool + " " + string(op.Kin)
		if !identified(op) {
			place += " " + string(op.RequestHash)
		}
		if other, twice := open[place]; twice {
			c.say("S14: %s and %s are open at once", other, op.Number)
		}
		open[place] = op.Number
	}
}

// sequels is S14 over time: what declared identity calls one wish is done again only with a person's permit, or after an end
// that had no effect.
func (c *checker) sequels() {
	permitted := map[string]bool{}
	for _, op := range c.ops {
		given, used := 0, 0
		for _, e := range c.histories[op.Key] {
			switch {
			case e.What == "permit_used":
				permitted[e.Note], used = true, used+1
			case e.What == "ruled" && e.Reason == "again":
				given++
			}
		}
		if used > given {
			c.say("S14: leave to repeat operation %s was given %d times and used %d times", op.Number, given, used)
		}
	}
	for _, op := range c.ops {
		replaces := op.Ruling != nil && op.Ruling.Decision == "replace" // a person let it go instead of another
		if op.Seq == 1 || !identified(op) || permitted[string(op.Key)] || replaces {
			continue
		}
		failed := slices.ContainsFunc(c.ops, func(other journal.Operation) bool {
			return other.Kin == op.Kin && other.Scope == op.Scope && other.Seq < op.Seq && other.Status == journal.FailedFinal
		})
		if !failed {
			c.say("S14: operation %s repeats a wish without a permit", op.Number)
		}
	}
}
