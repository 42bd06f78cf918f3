package scenarios

import (
	"context"
	"slices"
	"time"

	"notwice/journal"
	"notwice/toolbox"
)

// simFacts is what the simulation saw itself, beside journal and ledger.
type simFacts struct {
	answers int
	stamps  map[journal.Key][]time.Duration // when each event was really written
}

// stamp notes when events were really written: a clock on the wall that is set cannot be compared with the provider's.
func (w *simWorld) stamp(key journal.Key, events int) {
	for range events {
		w.facts.stamps[key] = append(w.facts.stamps[key], w.now)
	}
}

// really are the events of an operation at the times when they happened.
func (f simFacts) really(key journal.Key, events []journal.Event) []journal.Event {
	if len(f.stamps[key]) != len(events) {
		return events
	}
	for i := range events {
		events[i].At = Epoch.Add(f.stamps[key][i])
	}
	return events
}

// committed looks at a change that has become durable.
func (w *simWorld) committed(p *process, before *journal.Operation, c journal.Change) {
	op := c.Operation
	was := journal.Status("")
	if before != nil {
		was = before.Status
	}
	w.stamp(op.Key, len(c.Events))
	if c.Other != nil {
		w.stamp(c.Other.Operation.Key, len(c.Other.Events))
	}
	w.noteText(string(op.Status))
	w.note(uint64(op.Epoch), uint64(len(c.Events)))
	if was != op.Status {
		w.saw("move " + string(was) + " → " + string(op.Status))
	}
	for _, e := range c.Events {
		w.tell("journal", "process %d: %s is %s: %s %s %s", p.n, op.Number, e.Status, e.What, e.Outcome, e.Reason)
		if e.What == "late_outcome" {
			w.saw("late answer")
		}
		if e.Reason == "lease_over" && w.sending[op.Key] > 0 {
			w.saw("lease over while its holder lives")
		}
	}
}

// received looks at an answer that came back to the product.
func (w *simWorld) received(p *process, key journal.Key, attempt int, a toolbox.Answer) {
	w.noteText(string(a.Outcome))
}

// answered looks at what a caller was told.
func (w *simWorld) answered(p *process, c toolbox.Call, r toolbox.Result) {
	w.facts.answers++
	w.noteText(string(r.Word))
	w.saw("word " + string(r.Word))
	w.tell("caller", "process %d answers %s", p.n, r.Message)
}

// settle lets faults stop and due work be done, until every operation is final, rests unsent or waits for a person (L1).
func (w *simWorld) settle() {
	w.settling, w.offset = true, 0
	w.timers = slices.DeleteFunc(w.timers, func(a alarm) bool { return a.at > w.now+time.Minute })
	w.run(w.now + time.Minute) // who is down comes back, who stands still goes on
	for _, p := range w.procs {
		if p != nil {
			p.stalled = 0
		}
	}
	w.run(w.now + 20*time.Minute) // what callers began comes to its end
	for range 400 {
		p := w.procs[0]
		w.start(p, "settle", p.work)
		w.run(w.now + time.Minute)
		if !w.restless() {
			return
		}
		due, ok, err := w.store.NextDue(context.Background())
		pause := time.Minute
		if err == nil && ok {
			pause = min(max(due.Sub(w.wall()), time.Second), 24*time.Hour)
		}
		w.run(w.now + pause)
	}
	for _, op := range w.operations() {
		if !atRest(op) {
			w.breaks("L1: operation %s (%s) is %s and comes to no end", op.Number, op.Tool, op.Status)
		}
	}
}

func (w *simWorld) restless() bool {
	return slices.ContainsFunc(w.operations(), func(op journal.Operation) bool { return !atRest(op) })
}

func (w *simWorld) operations() []journal.Operation {
	ops, _, err := w.store.List(context.Background(), journal.Query{Limit: 10000})
	if err != nil {
		w.breaks("S16: the journal cannot be read: %v", err)
	}
	return ops
}

// judge holds the history against the invariants.
func (w *simWorld) judge() {
	f := &facts{histories: map[journal.Key][]journal.Event{}, ops: w.operations(), requests: w.core.Requests().List, effects: w.ledger().effects}
	for _, op := range f.ops {
		events, err := w.store.History(context.Background(), op.Key)
		if err != nil {
			f.unread = append(f.unread, err.Error())
		}
		f.histories[op.Key] = w.facts.really(op.Key, events)
		w.saw("state " + string(op.Status))
	}
	for _, what := range f.check() {
		w.breaks("%s", what)
	}
	for _, p := range w.panics {
		w.breaks("%s", p)
	}
	if len(w.workers) > 0 {
		w.breaks("L1: %d workers never came to their end, the first of them %s", len(w.workers), w.workers[0].name)
	}
}
