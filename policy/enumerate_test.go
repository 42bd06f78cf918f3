package policy

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// The enumeration walks through every short history of one identity, breadth first, with a small provider as the world.
// Its oracle is the invariants of DESIGN §11, told from the world's own ledger; it knows nothing of the decision table.

var dawn = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

const visibility = 30 * time.Second // an effect is there and visible so long after its attempt's lease, never later

// flight is one attempt on its way: claimed, sent, perhaps still to be committed, perhaps with an answer under way.
type flight struct {
	op, epoch int
	up        time.Duration // uptime at the claim
	length    time.Duration
	ends      time.Duration // of the lease, in real time
	sent      bool
	slow      bool // the provider has it and may still execute it
	keyed     bool // it arrived while the provider remembered the key
	answer    string
}

// world is one state: the journal's records, the provider and the clocks. Records are never written in place.
type world struct {
	real, boot, jump time.Duration // real time; uptime = real - boot; wall = dawn + real + jump
	high             time.Time
	ops              []*journal.Operation
	effects          []int // of each operation
	dead             []bool
	arrived          []time.Duration // first arrival of the key, -1: none
	ends             []time.Duration // end of the latest lease, in real time
	flights          []flight
	looking          int // operation that is being looked up, -1: none
	held             *Look
	heldOp           int

	calls, others, crashes, faults, stops, lies, rulings int // what may still happen
	path                                                 *step
}

type step struct {
	what string
	prev *step
}

func (s *step) String() string {
	if s == nil {
		return ""
	}
	return s.prev.String() + "\n  " + s.what
}

func (w *world) now() Now {
	n := Now{Moment: journal.Moment{Wall: dawn.Add(w.real + w.jump), Up: w.real - w.boot, Boot: itoa(int(w.boot))}, High: w.high}
	return n
}

func (w *world) next(format string, args ...any) *world {
	n := *w
	n.ops, n.effects, n.dead = slices.Clone(w.ops), slices.Clone(w.effects), slices.Clone(w.dead)
	n.arrived, n.ends, n.flights = slices.Clone(w.arrived), slices.Clone(w.ends), slices.Clone(w.flights)
	n.path = &step{fmt.Sprintf(format, args...), w.path}
	return &n
}

// id is the state without its past.
func (w *world) id() string {
	b := make([]byte, 0, 512)
	num := func(ns ...int64) {
		for _, n := range ns {
			b = binary.AppendVarint(b, n)
		}
	}
	at := func(ts ...time.Time) {
		for _, t := range ts {
			if t.IsZero() {
				num(-1)
			} else {
				num(int64(t.Sub(dawn)))
			}
		}
	}
	flag := func(fs ...bool) {
		for _, f := range fs {
			if f {
				num(1)
			} else {
				num(0)
			}
		}
	}
	text := func(ss ...string) {
		for _, s := range ss {
			num(int64(len(s)))
			b = append(b, s...)
		}
	}
	num(int64(w.real), int64(w.boot), int64(w.jump), int64(w.looking), int64(w.calls), int64(w.others), int64(w.crashes), int64(w.faults), int64(w.stops), int64(w.lies), int64(w.rulings))
	at(w.high)
	for i, op := range w.ops {
		num(int64(w.effects[i]), int64(w.arrived[i]), int64(w.ends[i]), int64(op.Epoch), int64(op.AttemptCount), int64(op.Misses), int64(op.Looks), int64(op.FirstUp))
		text(string(op.RequestHash), string(op.Status), string(op.Evidence), op.ExternalID, op.Reason)
		at(op.FirstSent, op.Registered, op.Ended, op.Due, op.NotBefore, op.SendUntil, op.Looking)
		flag(w.dead[i], op.Rests, op.Released, op.Wait != nil)
		if op.Wait != nil {
			text(op.Wait.Reason)
		}
		num(int64(len(op.Flags)), int64(len(op.Attempts)))
		flag(op.Question != nil, op.Permit != nil, op.Approved != nil, op.Vouched, op.Patience != nil)
		if op.Question != nil {
			text(string(op.Question.RequestHash))
			at(op.Question.Expires)
		}
		if op.Permit != nil {
			text(string(op.Permit.RequestHash))
		}
		if op.Ruling != nil {
			text(op.Ruling.Decision)
			at(op.Ruling.At)
		}
		for _, a := range op.Attempts {
			num(int64(a.Epoch), int64(a.Up), int64(a.EndedUp))
			at(a.Started, a.Lease, a.Ended)
			text(string(a.Outcome))
			flag(a.Undone)
		}
	}
	for _, f := range w.flights {
		num(int64(f.op), int64(f.epoch), int64(f.ends))
		flag(f.sent, f.slow, f.keyed)
		text(f.answer)
	}
	if w.held != nil {
		num(int64(w.heldOp), int64(len(w.held.Found)), int64(w.held.Begun.Up))
		at(w.held.Begun.Wall)
	}
	return string(b)
}

// walk is the enumeration of one policy.
type walk struct {
	t         *testing.T
	p         Policy
	dedup     time.Duration // how long the provider remembers keys; 0: it knows none
	match     Match
	depth     int
	person    bool // instead of a wrong clock, a person decides
	histories int
}

func (k *walk) broken(w *world, format string, args ...any) {
	k.t.Helper()
	state := ""
	for _, op := range w.ops {
		state += fmt.Sprintf("\n%+v", *op)
	}
	k.t.Fatalf("%s\nhistory:%s\nrecords:%s", fmt.Sprintf(format, args...), w.path, state)
}

// apply writes a decision as a store would and holds it against the invariants. i is the operation it is about, -1: a call.
func (k *walk) apply(w *world, i int, d Decision, event string) {
	at := w.now().Wall
	if at.After(w.high) {
		w.high = at
	}
	k.other(w, d, event)
	after := d.Change.Operation
	if after == nil {
		if d.Do == Send || d.Do == LookUp {
			k.broken(w, "%s without a change", d.Do)
		}
		return
	}
	j := slices.IndexFunc(w.ops, func(op *journal.Operation) bool { return op.Key == after.Key })
	var before *journal.Operation
	if j >= 0 {
		before = w.ops[j]
	}
	if err := journal.Check(before, after); err != nil {
		k.broken(w, "S5: %v", err)
	}
	if err := journal.Check(nil, after); err != nil {
		k.broken(w, "S5: %v", err)
	}
	if j < 0 {
		if i >= 0 {
			k.broken(w, "S3: %s registered another operation", event)
		}
		for _, op := range w.ops {
			if op.Intent == after.Intent {
				k.broken(w, "S3: one intent under two keys")
			}
		}
		w.ops, w.effects, w.dead = append(w.ops, after), append(w.effects, 0), append(w.dead, false)
		w.arrived, w.ends = append(w.arrived, -1), append(w.ends, 0)
		j = len(w.ops) - 1
	} else {
		w.ops[j] = after
	}
	if i >= 0 && i != j {
		k.broken(w, "S3: %s wrote another operation", event)
	}
	if before != nil && before.Open() && after.Status.Final() && (event == "unknown" || event == "time" || event == "call" || event == "no answer") {
		k.broken(w, "S6: %s ended the operation", event)
	}
	proved := before != nil && before.Evidence == journal.Person && after.Evidence != journal.Person && len(after.Flags) > len(before.Flags)
	if before != nil && before.Status.Final() && before.Status != after.Status && !proved {
		k.broken(w, "S5: a final state changed")
	}
	if before != nil && before.Status == journal.InProgress && event == "late" && after.Status != journal.InProgress {
		k.broken(w, "S10: a stale epoch moved the operation")
	}
	if event == "ambiguous" && before.Status == journal.Unknown && (after.Status != journal.Unknown || after.Wait == nil) {
		k.broken(w, "S12: ambiguity did not stop")
	}
	switch d.Do {
	case Send:
		k.claimed(w, j, before, event)
	case LookUp:
		if k.p.Lookup == nil {
			k.broken(w, "a look-up of what cannot be looked up")
		}
		w.looking = j
	}
}

// other writes the second operation of a change: one whose permit was used, or that was replaced.
func (k *walk) other(w *world, d Decision, event string) {
	if d.Change.Other == nil {
		return
	}
	after := d.Change.Other.Operation
	j := slices.IndexFunc(w.ops, func(op *journal.Operation) bool { return op.Key == after.Key })
	if j < 0 {
		k.broken(w, "S3: the second operation of a change is new")
	}
	if err := journal.Check(w.ops[j], after); err != nil {
		k.broken(w, "S5: %v", err)
	}
	used := w.ops[j].Permit != nil && after.Permit == nil
	if !used && !(event == "ruled" && w.ops[j].Status == journal.Pending && after.Status == journal.FailedFinal) {
		k.broken(w, "S20: %s moved a second operation", event)
	}
	w.ops[j] = after
}

// claimed checks a claim against what the provider may still do (S9, S10, S11) and puts the attempt on its way.
func (k *walk) claimed(w *world, j int, before *journal.Operation, event string) {
	op := w.ops[j]
	a := op.Attempt(op.Epoch)
	class, _ := k.p.Class()
	if before != nil {
		if before.Status == journal.InProgress {
			k.broken(w, "S10: claimed while in progress")
		}
		if before.Status.Final() {
			k.broken(w, "S11: a final intent was sent")
		}
		if class == ClassC && event == "time" {
			k.broken(w, "S9: class C was sent again by itself")
		}
		if before.Executable() > 0 && event != "ruled" { // a person's word is a proof that only the person answers for
			if k.dedup == 0 || w.arrived[j] >= 0 && w.real+a.Length() > w.arrived[j]+k.dedup {
				k.broken(w, "S9: sent again with nothing known of the first")
			}
		}
	}
	for _, f := range w.flights {
		if f.op != j {
			continue
		}
		if !f.sent && w.real-w.boot-f.up < f.length {
			k.broken(w, "S10: two live attempts")
		}
		if k.dedup == 0 && f.slow && w.real < f.ends+visibility {
			k.broken(w, "S9: sent again while the first may be executed")
		}
	}
	if k.dedup == 0 && w.effects[j] > 0 {
		k.broken(w, "S9: sent again after the effect")
	}
	w.ends[j] = w.real + a.Length()
	w.flights = append(w.flights, flight{op: j, epoch: op.Epoch, up: a.Up, length: a.Length(), ends: w.real + a.Length()})
}

// check holds a state against the invariants that speak of states.
func (k *walk) check(w *world) {
	open := 0
	for i, op := range w.ops {
		if op.Open() {
			open++
		}
		if w.effects[i] > 1 {
			k.broken(w, "S1: %d effects of %s", w.effects[i], op.Key)
		}
		if op.Status == journal.FailedFinal && op.Evidence != journal.Person && w.effects[i] > 0 {
			k.broken(w, "S7: %s is failed_final, yet there is an effect", op.Key)
		}
		if op.Status == journal.Succeeded && op.Evidence != journal.Person && (w.effects[i] != 1 || op.ExternalID != effectID(i)) {
			k.broken(w, "S8: %s is succeeded as %q, with %d effects", op.Key, op.ExternalID, w.effects[i])
		}
	}
	if open > 1 {
		k.broken(w, "S14: %d open operations", open)
	}
}

func effectID(op int) string { return fmt.Sprintf("effect_%d", op) }

func (w *world) commit(f *flight) {
	if !(f.keyed && w.effects[f.op] > 0) {
		w.effects[f.op]++
	}
	f.slow = false
}

// tidy forgets flights of which nothing can come.
func (w *world) tidy() {
	w.flights = slices.DeleteFunc(w.flights, func(f flight) bool { return f.sent && !f.slow && f.answer == "" })
}

func (k *walk) call(w *world, hash canonical.Hash) (*world, Decision) {
	known := journal.Known{High: w.high, TaskSeq: len(w.ops)}
	for i := range w.ops {
		if w.ops[i].Unheard() {
			known.Unheard = append(known.Unheard, w.ops[i].Clone())
		}
		last := w.ops[i].Clone()
		known.Last = &last
		known.Recent = slices.Insert(known.Recent, 0, last)
	}
	n := w.next("call %s", hash)
	d := OnCall(known, callOf(w, hash), k.p, w.now())
	if len(w.ops) > 0 {
		k.judge(n, w.ops[len(w.ops)-1], hash, d)
	}
	k.apply(n, -1, d, "call")
	return n, d
}

func callOf(w *world, hash canonical.Hash) Call {
	key := fmt.Sprintf("key_%d", len(w.ops))
	return Call{
		Fresh: journal.Operation{
			Key: journal.Key(key), Number: "number_" + key, Tool: "pay", Account: "bank@fake", Scope: journal.JournalScope,
			Kin: "kin", RequestHash: hash, Seq: 1,
			Fields: []journal.Field{{Name: "payee", Digest: string(hash)}},
		},
		Intent: func(seq int) canonical.Hash { return canonical.Hash(fmt.Sprintf("intent_%d", seq)) },
		Args:   canonical.Raw(`{"payee":"` + string(hash) + `"}`),
	}
}

// judge holds the answer to a call against the operation that was there. Only a permit for just this request, or a documented
// rejection, lets a new intent through; what is asked besides is kept as a question and changes nothing else.
func (k *walk) judge(n *world, last *journal.Operation, hash canonical.Hash, d Decision) {
	permitted := slices.ContainsFunc(n.ops, func(op *journal.Operation) bool { return op.Permit != nil && op.Permit.RequestHash == hash })
	if last.Status.Final() && permitted {
		if d.Change.Operation == nil || d.Change.Operation.Key == last.Key || d.Change.Other == nil {
			k.broken(n, "S14: a permit was not used by what it is for")
		}
		return
	}
	if last.Same != nil && last.Same.RequestHash == hash { // a person calls it the same wish
		return
	}
	if hash != last.RequestHash && (last.Status != journal.FailedFinal || last.Evidence == journal.Person) {
		if d.Do != Conflict {
			k.broken(n, "S4: another request of an intent got %s", d.Do)
		}
		if after := d.Change.Operation; after != nil && (after.Key != last.Key || after.Status != last.Status || after.Epoch != last.Epoch || after.Question == nil) {
			k.broken(n, "S4: a conflict moved the operation")
		}
	}
	if hash == last.RequestHash && last.Status.Final() && d.Change.Operation != nil {
		k.broken(n, "S11: a repeat of a final intent got %s", d.Do)
	}
}

// rulings are what an honest person may decide of an operation: what is said of the outside world is true.
func (k *walk) rulings(w *world, i int) []*world {
	op := w.ops[i]
	coming := slices.ContainsFunc(w.flights, func(f flight) bool { return f.op == i && (f.slow || !f.sent) })
	var out []*world
	for _, word := range Choices(op, w.now().Wall) {
		r := Ruling{Decision: word, By: "anna", Episode: Episode(op)}
		switch {
		case word == Happened && w.effects[i] != 1, word == Resend && (w.effects[i] > 0 || coming), word == Again && (coming || op.Evidence == journal.Person):
			continue
		case word == Happened:
			r.ExternalID = effectID(i)
		case word == WaitOn:
			r.For = time.Minute
		}
		n := w.next("the person decides %s", word)
		n.rulings--
		var d Decision
		var err error
		if word == Replace {
			known := journal.Known{High: w.high, Unheard: []journal.Operation{op.Clone()}, Recent: []journal.Operation{op.Clone()}}
			d, err = OnReplace(known, op.Key, r, callOf(w, op.Question.RequestHash), k.p, w.now())
			k.apply(n, -1, d, "ruled")
		} else {
			owner := func(string, string) (journal.Key, bool) { return "", false }
			d, err = OnRule(journal.Known{High: w.high, Operation: op, Owner: owner}, r, k.p, w.now())
			k.apply(n, i, d, "ruled")
		}
		if err != nil {
			k.broken(n, "S20: a decision that is offered is refused: %v", err)
		}
		if _, err := OnRule(journal.Known{High: w.high, Operation: n.ops[i]}, r, k.p, w.now()); err == nil {
			k.broken(n, "S20: two rulings on one episode")
		}
		out = append(out, n)
	}
	return out
}

func (k *walk) outcome(w *world, f flight, answer string) *world {
	n := w.next("answer of attempt %d: %s", f.epoch, answer)
	out := Outcome{Epoch: f.epoch, Outcome: journal.OutcomeUnknown, Reason: answer, Evidence: journal.Response}
	event := "unknown"
	switch answer {
	case "applied":
		out.Outcome, out.ExternalID, event = journal.Applied, effectID(f.op), "definite"
	case "rejected", "rejected for the key":
		out.Outcome, out.ForKey, event = journal.Rejected, answer != "rejected", "definite"
	case "not_sent":
		out.Outcome, event = journal.NotSent, "definite"
	case "conflict":
		out.Word = "conflict"
	case "later":
		out.RetryAfter = 20 * time.Second
	}
	if n.ops[f.op].Epoch != f.epoch {
		event = "late"
	}
	k.apply(n, f.op, OnOutcome(n.ops[f.op], out, false, k.p, n.now()), event)
	return n
}

// seen is what a complete look-up shows now; hidden leaves out what may still be invisible.
func (k *walk) seen(w *world, op int) Look {
	l := Look{Begun: w.now().Moment, AllPages: true, Known: true}
	if w.effects[op] > 0 {
		l.Found = []Found{{Candidate: journal.Candidate{ID: effectID(op), State: "completed"}, Match: k.match}}
	}
	return l
}

// mayHide reports whether an effect may be invisible: the window of its latest attempt is not over.
func (w *world) mayHide(op int) bool { return w.real < w.ends[op]+visibility }

func (k *walk) look(w *world, op int, l Look, event, what string) *world {
	n := w.next("look-up: %s", what)
	d := OnLook(n.ops[op], l, func(string) bool { return false }, k.p, n.now())
	if d.Do == Send || d.Do == LookUp {
		k.broken(n, "a look-up led to %s at once", d.Do)
	}
	k.apply(n, op, d, event)
	return n
}

// moments are the times at which something can change, by the world's clocks.
func (w *world) moments(p Policy) []time.Duration {
	var at []time.Duration
	add := func(t time.Duration) {
		if t > w.real {
			at = append(at, t)
		}
	}
	wall := func(t time.Time) {
		if !t.IsZero() {
			add(t.Sub(dawn) - w.jump)
		}
	}
	for i, op := range w.ops {
		if !op.Open() {
			continue
		}
		wall(op.Due)
		wall(op.NotBefore)
		wall(op.SendUntil)
		if !p.DedupWindow.Forever && p.DedupWindow.Known && !op.FirstSent.IsZero() {
			wall(op.FirstSent.Add(p.DedupWindow.For - p.Lease()))
		}
		add(w.ends[i])
		add(w.ends[i] + visibility)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return at[:min(len(at), 4)]
}

func (k *walk) successors(w *world) []*world {
	var out []*world
	if w.calls > 0 {
		n, _ := k.call(w, "one")
		n.calls--
		out = append(out, n)
	}
	if w.others > 0 && len(w.ops) > 0 {
		n, _ := k.call(w, "two")
		n.others--
		out = append(out, n)
	}
	for i := range w.flights {
		out = append(out, k.flies(w, i)...)
	}
	if w.looking >= 0 {
		out = append(out, k.looks(w)...)
	}
	if w.held != nil {
		n := k.look(w, w.heldOp, *w.held, "look", "a late answer")
		n.held = nil
		out = append(out, n)
	}
	for i, op := range w.ops {
		if op.Open() {
			n := w.next("time")
			k.apply(n, i, OnTime(op, k.p, w.now(), false), "time")
			out = append(out, n)
			if op.Status == journal.Unknown && w.looking < 0 {
				n := w.next("time, urgent")
				k.apply(n, i, OnTime(op, k.p, w.now(), true), "time")
				out = append(out, n)
			}
		}
		if w.rulings > 0 {
			out = append(out, k.rulings(w, i)...)
		}
		if w.stops > 0 && op.Open() {
			n := w.next("stop")
			n.stops--
			d, ok := OnStop(op, "anna", "not needed", w.now())
			if ok != (op.Status == journal.Pending) {
				k.broken(n, "stop of %s: %v", op.Status, ok)
			}
			k.apply(n, i, d, "stop")
			out = append(out, n)
		}
	}
	for _, t := range w.moments(k.p) {
		n := w.next("%s pass", t-w.real)
		n.real = t
		out = append(out, n)
	}
	if w.faults > 0 && len(w.ops) > 0 {
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			n := w.next("the wall clock jumps by %s", by)
			n.faults--
			n.jump += by
			out = append(out, n)
		}
		n := w.next("the machine starts again")
		n.faults--
		n.real += time.Second
		n.boot = n.real
		n.looking, n.held = -1, nil
		n.flights = slices.DeleteFunc(n.flights, func(f flight) bool { return !f.sent })
		for i := range n.flights {
			n.flights[i].answer = ""
		}
		n.tidy()
		out = append(out, n)
	}
	return out
}

func (k *walk) flies(w *world, i int) []*world {
	var out []*world
	f := w.flights[i]
	if !f.sent && w.real-w.boot-f.up < f.length {
		for _, fate := range []string{"applied", "commits, no answer", "slow", "nothing, no answer", "rejected", "rejected for the key", "not_sent", "conflict", "later"} {
			if fate == "rejected for the key" && (w.effects[f.op] > 0 || slices.ContainsFunc(w.flights, func(o flight) bool { return o.op == f.op && o.slow })) {
				continue // no provider that behaves says so
			}
			if fate == "rejected" && w.effects[f.op] > 0 && k.dedup > 0 {
				continue
			}
			if (fate == "conflict" || fate == "later") && w.lies == 0 {
				continue
			}
			if k.dedup > 0 && w.dead[f.op] && (fate == "applied" || fate == "commits, no answer" || fate == "slow") {
				continue
			}
			n := w.next("attempt %d is sent: %s", f.epoch, fate)
			g := &n.flights[i]
			g.sent, g.answer = true, "timeout"
			if fate != "not_sent" {
				if n.arrived[f.op] < 0 {
					n.arrived[f.op] = n.real
				}
				g.keyed = k.dedup > 0 && n.real <= n.arrived[f.op]+k.dedup
			}
			switch fate {
			case "applied":
				n.commit(g)
				g.answer = fate
			case "commits, no answer":
				n.commit(g)
			case "slow":
				g.slow = true
			case "rejected for the key":
				n.dead[f.op] = true
				g.answer = fate
			case "rejected", "not_sent":
				g.answer = fate
			case "conflict", "later":
				n.lies--
				g.answer = fate
			}
			out = append(out, n)
		}
	}
	if f.slow && w.real < f.ends+visibility {
		n := w.next("attempt %d is executed late", f.epoch)
		n.commit(&n.flights[i])
		n.tidy()
		out = append(out, n)
	}
	if f.answer != "" {
		n := k.outcome(w, f, f.answer)
		n.flights[i].answer = ""
		n.tidy()
		out = append(out, n)
	}
	if w.crashes > 0 && (!f.sent || f.answer != "") {
		n := w.next("the worker of attempt %d dies", f.epoch)
		n.crashes--
		n.flights[i].answer, n.flights[i].sent = "", true
		n.tidy()
		out = append(out, n)
	}
	return out
}

func (k *walk) looks(w *world) []*world {
	op := w.looking
	honest := k.seen(w, op)
	var out []*world
	add := func(l Look, event, what string) {
		n := k.look(w, op, l, event, what)
		n.looking = -1
		out = append(out, n)
	}
	add(honest, "look", "honest")
	if w.held == nil && len(honest.Found) == 0 {
		n := w.next("look-up: an empty answer is under way")
		n.held, n.heldOp, n.looking = &honest, op, -1
		out = append(out, n)
	}
	if len(honest.Found) > 0 && w.mayHide(op) {
		add(Look{Begun: honest.Begun, AllPages: true, Known: true}, "look", "lagging")
	}
	if len(honest.Found) == 0 {
		l := honest
		l.Known = false
		add(l, "look", "nothing, and nothing known either")
	}
	if w.lies == 0 {
		return out
	}
	from := len(out)
	l := honest
	l.Found, l.AllPages = nil, false
	add(l, "no answer", "not all pages")
	add(Look{Begun: honest.Begun, Failed: "timeout"}, "no answer", "failed")
	a := Found{Candidate: journal.Candidate{ID: "a", State: "completed"}, Match: k.match}
	b := Found{Candidate: journal.Candidate{ID: "b", State: "completed"}, Match: k.match}
	add(Look{Begun: honest.Begun, AllPages: true, Found: []Found{a, b}}, "ambiguous", "two")
	a.Differs = []string{"amount"}
	add(Look{Begun: honest.Begun, AllPages: true, Found: []Found{a}}, "ambiguous", "one that differs")
	for _, n := range out[from:] {
		n.lies--
	}
	return out
}

// settles is L1: faults stop, time runs on, everybody answers.
func (k *walk) settles(w *world) {
	n := w.next("faults stop")
	n.looking, n.held = -1, nil
	for i := range n.flights {
		n.flights[i].slow, n.flights[i].answer, n.flights[i].sent = false, "", true
	}
	n.tidy()
	for range 200 {
		i := slices.IndexFunc(n.ops, func(op *journal.Operation) bool { return op.Open() && op.Wait == nil && !op.Rests })
		if i < 0 {
			return
		}
		op := n.ops[i]
		switch {
		case op.Due.IsZero():
			k.broken(n, "L1: nothing is due, yet it is neither final nor resting nor waiting")
		case len(n.flights) > 0:
			n = n.next("sent at last")
			f := &n.flights[0]
			f.sent = true
			if n.arrived[f.op] < 0 {
				n.arrived[f.op] = n.real
			}
			f.keyed = k.dedup > 0 && n.real <= n.arrived[f.op]+k.dedup
			answer := "rejected for the key"
			if !n.dead[f.op] {
				n.commit(f)
				answer = "applied"
			}
			n = k.outcome(n, *f, answer)
			n.flights = nil
		case n.looking >= 0:
			n = k.look(n, n.looking, k.seen(n, n.looking), "look", "honest")
			n.looking = -1
		default:
			due := op.Due.Sub(dawn) - n.jump
			if op.Status == journal.InProgress {
				due = max(n.real+k.p.Lease(), min(due, n.real+24*time.Hour))
			}
			n = n.next("until %s", max(n.real, due))
			n.real = max(n.real, due)
			k.apply(n, i, OnTime(n.ops[i], k.p, n.now(), false), "time")
		}
		k.check(n)
	}
	k.broken(n, "L1: it does not come to an end")
}

func (k *walk) run() (states int) {
	start := &world{looking: -1, calls: 2, others: 1, crashes: 1, faults: 1, stops: 1, lies: 1}
	if k.person {
		start = &world{looking: -1, calls: 2, others: 2, crashes: 1, lies: 1, rulings: 2}
	}
	start.boot = -time.Hour
	seen := map[string]bool{start.id(): true}
	level := []*world{start}
	for range k.depth {
		var nextLevel []*world
		for _, w := range level {
			for _, n := range k.successors(w) {
				k.histories++
				id := n.id()
				if seen[id] {
					continue
				}
				seen[id] = true
				k.check(n)
				k.settles(n)
				nextLevel = append(nextLevel, n)
			}
		}
		level = nextLevel
	}
	return len(seen)
}

// depth is how long the histories are: NOTWICE_DEPTH says it, else six events, and five where everything is slow.
func depth() int {
	if n, err := strconv.Atoi(os.Getenv("NOTWICE_DEPTH")); err == nil && n > 0 {
		return n
	}
	if testing.Short() || raced {
		return 5
	}
	return 6
}

func TestEveryShortHistory(t *testing.T) {
	base := Policy{
		MaxAttempts: 3, Deadline: 10 * time.Second, UnknownAfter: 2 * time.Minute, SendWithin: 2 * time.Minute,
		Backoff: Backoff{5 * time.Second, 20 * time.Second},
	}
	lookup := func(complete bool, misses int) *Lookup {
		return &Lookup{By: "key", Complete: complete, Visibility: visibility, Misses: misses, Backoff: Backoff{15 * time.Second, 30 * time.Second}}
	}
	keyed := func(p Policy, window time.Duration) Policy {
		p.KeySent, p.OnRepeat, p.Resend = true, "returns_original", "same_key"
		p.DedupWindow = Window{Known: true, For: window}
		return p
	}
	with := func(p Policy, l *Lookup, resend string) Policy {
		p.Lookup, p.Resend = l, resend
		return p
	}
	asks := with(base, lookup(true, 1), "after_absence")
	asks.AskOnTimeout = true
	for name, k := range map[string]*walk{
		"A":                   {p: keyed(base, time.Hour), dedup: time.Hour},
		"A, short window":     {p: keyed(base, 40*time.Second), dedup: 40 * time.Second},
		"A with look-up":      {p: keyed(with(base, lookup(true, 1), ""), time.Hour), dedup: time.Hour, match: ByKey},
		"A, short, look-up":   {p: keyed(with(base, lookup(true, 1), ""), 55*time.Second), dedup: 55 * time.Second, match: ByKey},
		"B":                   {p: with(base, lookup(true, 1), "after_absence"), match: ByReference},
		"B, two misses":       {p: with(base, lookup(true, 2), "after_absence"), match: ByReference},
		"B, asks a person":    {p: asks, match: ByReference},
		"C with look-up":      {p: with(base, lookup(false, 1), "after_absence"), match: ByReference},
		"C, look-up by signs": {p: with(base, lookup(false, 1), "never"), match: BySigns},
		"C":                   {p: with(base, nil, "same_key")},
		"A and a person":      {p: keyed(base, time.Hour), dedup: time.Hour, person: true},
		"B and a person":      {p: with(base, lookup(true, 1), "after_absence"), match: ByReference, person: true},
		"C and a person":      {p: with(base, nil, "never"), person: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k.t, k.p, k.depth = t, k.p.Defaults(), depth()
			states := k.run()
			t.Logf("%d states, %d histories of up to %d events", states, k.histories, k.depth)
		})
	}
}
