package scenarios

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/toolbox"
)

// simFacts is what the simulation saw itself, beside journal and ledger.
type simFacts struct {
	stamps  map[journal.Key][]time.Duration // when each event was really written
	claims  map[claimName]time.Duration     // when an attempt was really claimed
	latest  map[journal.Key]*journal.Operation
	arrived map[string]time.Duration // when a key first reached the provider
	answers []answerSeen
	ends    []attemptEnd
}

type claimName struct {
	key   journal.Key
	epoch int
}

// attemptEnd is an answer that came back to a sender.
type attemptEnd struct {
	by      *process
	key     journal.Key
	attempt int
	at      time.Duration
}

func newSimFacts() simFacts {
	return simFacts{stamps: map[journal.Key][]time.Duration{}, claims: map[claimName]time.Duration{}, latest: map[journal.Key]*journal.Operation{}, arrived: map[string]time.Duration{}}
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
func (w *simWorld) committed(p *process, c journal.Change) {
	op, before := c.Operation, w.facts.latest[c.Operation.Key]
	was := journal.Status("nothing")
	if before != nil {
		was = before.Status
	}
	kept := op.Clone()
	w.facts.latest[op.Key] = &kept
	w.stamp(op.Key, len(c.Events))
	if c.Other != nil {
		w.stamp(c.Other.Operation.Key, len(c.Other.Events))
	}
	w.noteText(string(op.Status))
	w.note(uint64(op.Epoch), uint64(len(c.Events)))
	if was != op.Status {
		w.saw("move " + string(was) + " → " + string(op.Status))
	}
	w.claimed(op, before)
	for _, e := range c.Events {
		w.tell("journal", "process %d: %s is %s: %s %s %s", p.n, op.Number, e.Status, e.What, e.Outcome, e.Reason)
		if e.What == "late_outcome" {
			w.saw("late answer")
		}
		if e.Reason == "lease_over" && w.sending[op.Key] > 0 {
			w.saw("lease over while its holder lives")
		}
		if e.What == "look_up" && e.Reason == "nothing_found" && w.lateEffect(*op) {
			w.saw("late commit after not found")
		}
	}
}

// claimed is S10 and S17 at every instant: an attempt is neither ended by another than its sender nor followed by a second one
// before its lease has really passed, whatever a clock on the wall says.
func (w *simWorld) claimed(op, before *journal.Operation) {
	if before != nil && before.Status == journal.InProgress && (op.Epoch != before.Epoch || op.Status != journal.InProgress) {
		held := before.Attempt(before.Epoch)
		since, known := w.facts.claims[claimName{op.Key, before.Epoch}]
		now := op.Attempt(before.Epoch)
		freed := op.Epoch != before.Epoch || now != nil && now.Reason == "lease_over"
		if freed && known && since >= w.booted && w.now-since < held.Length() {
			rule := "S10"
			if w.jumped {
				rule = "S17"
			}
			w.breaks("%s: attempt %d of operation %s was taken from its sender after %s of %s", rule, held.N, op.Number, w.now-since, held.Length())
		}
	}
	if op.Status == journal.InProgress && (before == nil || before.Epoch != op.Epoch) {
		w.facts.claims[claimName{op.Key, op.Epoch}] = w.now
	}
}

// lateEffect reports whether something of an operation is still to happen.
func (w *simWorld) lateEffect(op journal.Operation) bool {
	for _, f := range w.plan.Faults {
		if f.do == "late_commit" || f.do == "slow" {
			return slices.ContainsFunc(w.ledger().effectsOf(op), func(e fakeprovider.Effect) bool { return e.CreatedAt.After(Epoch.Add(w.now)) })
		}
	}
	return false
}

// received looks at an answer that came back to the product.
func (w *simWorld) received(p *process, key journal.Key, attempt int, a toolbox.Answer) {
	w.noteText(string(a.Outcome))
	if s := w.current.heard; a.Outcome == journal.Applied || a.Outcome == journal.Rejected {
		if s < 200 || s >= 500 || s >= 300 && s < 400 || slices.Contains([]int{408, 409, 425, 429}, s) {
			w.breaks("S6: attempt %d of operation %s is called %s, and its answer was %d", attempt, key, a.Outcome, s)
		}
	}
	w.facts.ends = append(w.facts.ends, attemptEnd{p, key, attempt, w.now})
}

// recorded is S6 and S21 for what attempts showed: a sender that lived, over a journal that could write, has recorded it; in time as
// the outcome, late as late evidence.
func (w *simWorld) recorded(f *facts) {
	if len(w.plan.Failures) > 0 {
		return
	}
	for _, end := range w.facts.ends {
		if end.by.dead {
			continue
		}
		events := f.histories[end.key]
		i := slices.IndexFunc(events, func(e journal.Event) bool { return e.What == "claimed" && e.Attempt == end.attempt })
		if i < 0 || slices.ContainsFunc(events[i:], func(e journal.Event) bool {
			return (e.What == "outcome" || e.What == "late_outcome") && e.Epoch == events[i].Epoch
		}) {
			continue
		}
		rule := "S6"
		if slices.ContainsFunc(events[i:], func(e journal.Event) bool { return e.Reason == "lease_over" && e.At.Before(Epoch.Add(end.at)) }) {
			rule = "S21"
		}
		w.breaks("%s: what attempt %d of operation %s showed is nowhere recorded", rule, end.attempt, end.key)
	}
}

// answered looks at what a caller was told.
func (w *simWorld) answered(p *process, a simAct, r toolbox.Result) {
	w.noteText(string(r.Word))
	w.saw("word " + string(r.Word))
	w.tell("caller", "process %d answers %s", p.n, r.Message)
	if a.bend == "key" && r.Word != toolbox.InvalidCall {
		w.breaks("S13: a call that brought a key of its own was answered %s", r.Word)
	}
	if r.Key == "" {
		return
	}
	w.compared(a, r)
	seen := seenOf(r)
	seen.events = len(w.facts.stamps[journal.Key(r.Key)])
	w.facts.answers = append(w.facts.answers, seen)
}

// compared is S4 and S11 for what a caller is told: a call for other values is not called done, and one for the same values is no
// conflict with what it asked for itself. Both are read from the provider's books.
func (w *simWorld) compared(a simAct, r toolbox.Result) {
	if a.wish.tool != "create_payment" || len(r.Differs) > 0 && r.Word != toolbox.ConflictWord {
		return
	}
	amount, _ := a.asks["amount_minor"].(canonical.Number)
	note, _ := a.asks["note"].(string)
	for _, e := range w.ledger().effects {
		if e.ID != r.ExternalID || r.ExternalID == "" {
			continue
		}
		equal := string(e.Fields["amount_minor"]) == string(amount) && strings.Trim(string(e.Fields["note"]), `"`) == note
		switch {
		case !equal && (r.Word == toolbox.Done || r.Word == toolbox.AlreadyDone):
			w.breaks("S4: a call for %s (%q) was answered %s, and %s was paid", amount, note, r.Word, e.Fields["amount_minor"])
		case equal && r.Word == toolbox.ConflictWord:
			w.breaks("S11: an equal call was called a conflict with %s", r.ExternalID)
		}
	}
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
		if w.steps >= maxSteps {
			return
		}
		before := w.due()
		p := w.procs[0]
		w.start(p, "settle", p.work)
		w.run(w.now + time.Minute)
		if !w.restless() {
			return
		}
		w.ranDue(before)
		due, ok, err := w.store.NextDue(context.Background())
		pause := time.Minute
		if err == nil && ok {
			pause = min(max(due.Sub(w.wall()), time.Second), 24*time.Hour)
		}
		w.run(w.now + pause)
	}
	for _, op := range w.operations() {
		if !atRest(op) {
			w.breaks("L1: operation %s (%s) is %s and comes to no end (due %s, now %s)", op.Number, op.Tool, op.Status, op.Due.Format(time.DateTime), w.wall().Format(time.DateTime))
		}
	}
}

// due is when each operation was due whose time has come.
func (w *simWorld) due() map[journal.Key]time.Time {
	due := map[journal.Key]time.Time{}
	for _, op := range w.operations() {
		if !op.Due.IsZero() && !op.Due.After(w.wall()) {
			due[op.Key] = op.Due
		}
	}
	return due
}

// ranDue is L3: what was due has been worked on.
func (w *simWorld) ranDue(before map[journal.Key]time.Time) {
	now := w.due()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if at, still := now[key]; still && at.Equal(before[key]) {
			w.breaks("L3: operation %s was due at %s, it is %s, and nothing was done", key, at.Format(time.DateTime), w.wall().Format(time.DateTime))
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
	f := &facts{histories: map[journal.Key][]journal.Event{}, ops: w.operations(), requests: w.core.Requests().List, effects: w.ledger().effects,
		promises: w.kind.promises, answers: w.facts.answers}
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
	w.recorded(f)
	for _, p := range w.panics {
		w.breaks("%s", p)
	}
	if left := w.turns.end(); len(left) > 0 {
		w.breaks("L1: %d workers never came to their end, the first of them %s", len(left), left[0])
	}
	if w.steps >= maxSteps {
		w.breaks("L1: the history goes on for ever")
	}
}
