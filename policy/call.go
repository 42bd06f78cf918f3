package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// day is the age from which an equal call is no longer taken for a repeat without asking (DESIGN §3).
const day = 24 * time.Hour

// maxCorrections bounds the intents that follow a documented rejection by themselves, in a day, for one identity.
const maxCorrections = 3

// OnCall decides what a call means: a new intent, or which operation it is (DESIGN §2, §3). It registers and claims in one
// change.
func OnCall(k journal.Known, c Call, p Policy, now Now) Decision {
	if k.Recorded != nil {
		return found(k, k.Recorded, c, p, now)
	}
	if p.Guard != "" {
		return onGuarded(k, c, p, now)
	}
	own := k.Last != nil && k.Last.Status == journal.Succeeded && c.equals(k.Last) // done here, whatever goes on elsewhere
	if op := chiefOf(k.Unheard); op != nil && !own {
		return found(k, op, c, p, now)
	}
	if k.Last != nil {
		return found(k, latest(k, c, p, now), c, p, now)
	}
	return register(k, c, p, now)
}

// latest is the operation that a call repeats, among those that are final: the newest, unless it asks for something else and an
// earlier one was just this, is done, and may still be called done. Questions and leave belong to the newest.
func latest(k journal.Known, c Call, p Policy, now Now) *journal.Operation {
	if c.equals(k.Last) {
		return k.Last
	}
	for i := range k.Recent {
		op := &k.Recent[i]
		if op.Scope == k.Last.Scope && op.Status == journal.Succeeded && c.equals(op) && (p.Unique || now.age(op.Ended) <= day) {
			return op
		}
	}
	return k.Last
}

// chiefOf picks the open operation, of which there is at most one (S14), else the newest unheard one.
func chiefOf(ops []journal.Operation) *journal.Operation {
	for i := range ops {
		if ops[i].Open() {
			return &ops[i]
		}
	}
	if len(ops) > 0 {
		return &ops[len(ops)-1]
	}
	return nil
}

// onGuarded is OnCall for a tool without declared identity, whose kin is all that is equal in the short fields.
func onGuarded(k journal.Known, c Call, p Policy, now Now) Decision {
	equal := func(op journal.Operation) bool { return c.equals(&op) }
	if p.Guard != GuardOff {
		if i := slices.IndexFunc(k.Unheard, equal); i >= 0 {
			return found(k, &k.Unheard[i], c, p, now)
		}
	}
	if p.Guard == GuardFull {
		if i := slices.IndexFunc(k.Unheard, c.lost); i >= 0 { // perhaps the same wish in other words: told first, not sent
			return reworded(&k.Unheard[i], c, p, now)
		}
		if i := slices.IndexFunc(k.Recent, equal); i >= 0 && k.Recent[i].Scope == c.Fresh.Scope {
			op := k.Recent[i]
			told := now.sinceWall(op.Delivered)
			if op.TaskSeq == k.TaskSeq && told < p.RepeatWindow {
				return found(k, &op, c, p, now)
			}
		}
	}
	return register(k, c, p, now)
}

// reworded follows an operation for a call that asks for the same thing in other words. It is told how that ends; nothing of it is
// sent for a call that asks for something else.
func reworded(op *journal.Operation, c Call, p Policy, now Now) Decision {
	d := next(op, p, now)
	d.Repeat, d.Differs = true, differs(op.Fields, c.Fresh.Fields)
	return d
}

// lost reports whether an operation lost its caller or its answer, so that a model may be asking for it in other words. An attempt
// that nobody here makes may be that of a process which died. What rests unsent has nothing to tell.
func (c Call) lost(op journal.Operation) bool {
	switch {
	case op.Status == journal.Pending && op.Rests:
		return false
	case op.Status == journal.InProgress && (c.Alive == nil || !c.Alive(op.Key)):
		return true
	}
	return op.Status == journal.Unknown || op.CallerLost || op.Status.Final() && op.Delivered.IsZero()
}

// register makes a new intent and claims its first attempt, unless a person must let it go first.
func register(k journal.Known, c Call, p Policy, now Now) Decision {
	d := fresh(k, c, p, now)
	op := d.Operation
	if wait := held(k, op, c.Hold, p, now); wait != nil {
		waitFor(&d, now, wait.Reason, wait.Note)
		return d.write(Answer)
	}
	return claim(d, p, now)
}

// fresh is the record of a new intent, pending.
func fresh(k journal.Known, c Call, p Policy, now Now) Decision {
	op := c.Fresh.Clone()
	op.Seq = 1
	for _, other := range k.Recent {
		if other.Scope == op.Scope {
			op.Seq = max(op.Seq, other.Seq+1)
		}
	}
	if k.Last != nil {
		op.Seq = max(op.Seq, k.Last.Seq+1)
	}
	op.Intent = c.Intent(op.Seq)
	op.TaskSeq = k.TaskSeq + 1
	op.Registered = now.Wall
	op.Status = journal.Pending
	op.SendUntil = now.Wall.Add(p.SendWithin)
	d := Decision{Operation: &op}
	d.event(now, "registered", "", "")
	return d
}

// claim takes the operation for one attempt. A crash right after it leaves a lease that runs out.
func claim(d Decision, p Policy, now Now) Decision {
	op := d.Operation
	op.Status = journal.InProgress
	op.Epoch++
	op.AttemptCount++
	a := journal.Attempt{
		N: op.AttemptCount, Epoch: op.Epoch, Started: now.Wall, Up: now.Up, Boot: now.Boot,
		Deadline: now.Wall.Add(p.Deadline), Lease: now.Wall.Add(p.Lease()), Credential: p.Credential,
	}
	op.Attempts = append(op.Attempts, a)
	if op.FirstSent.IsZero() {
		op.FirstSent, op.FirstUp, op.FirstIn = now.Wall, now.Up, now.Boot
	}
	op.Rests, op.Released, op.Misses, op.NotBefore = false, false, 0, time.Time{}
	op.Wait = nil
	op.CallerLost = false
	op.Due = a.Lease
	spend(op, now)
	d.event(now, "claimed", "", "")
	return d.write(Send)
}

// found decides about a call of an intent that is there (the table of DESIGN §2).
func found(k journal.Known, op *journal.Operation, c Call, p Policy, now Now) Decision {
	if k.Recorded == nil && op.Status.Final() {
		if holder := permit(k, op, c, now); holder != nil {
			return register(k, c, p, now).using(holder, now)
		}
	}
	affirmed := op.Same != nil && op.Same.RequestHash == c.Fresh.RequestHash && now.age(op.Same.At) < day
	switch {
	case affirmed && !c.equals(op):
		return reworded(op, c, p, now)
	case affirmed:
	case !c.equals(op):
		return otherHash(k, op, c, p, now)
	case op.Status.Final() && !p.Unique && p.Guard == "" && k.Recorded == nil && now.age(op.Ended) > day:
		return ask(op, c, Ask, "repeat", nil, now)
	}
	d := proceed(k, op, c.Hold, p, now)
	d.Repeat = true
	return d
}

// equals reports whether a call asks for what an operation registered. Under another declaration the hashes are of different
// things, so that the newest one judges by the digests of its own fields.
func (c Call) equals(op *journal.Operation) bool {
	if op.RequestHash == c.Fresh.RequestHash {
		return true
	}
	return op.Declared != c.Fresh.Declared && c.Counts != nil && len(slices.DeleteFunc(differs(op.Fields, c.Fresh.Fields), func(name string) bool { return !c.Counts(name) })) == 0
}

// permit finds the operation that holds a person's leave for this call: the newest of its wish. Once that wish has a successor,
// leave to repeat what was before it is no leave for what came after.
func permit(k journal.Known, op *journal.Operation, c Call, now Now) *journal.Operation {
	for _, o := range []*journal.Operation{op, k.Last} {
		newest := o != nil && (k.Last == nil || o.Key == k.Last.Key)
		if newest && o.Permit != nil && o.Permit.RequestHash == c.Fresh.RequestHash && now.sinceWall(o.Permit.Given) < day {
			return o
		}
	}
	return nil
}

// using consumes a permit in the transaction that registers the new intent.
func (d Decision) using(holder *journal.Operation, now Now) Decision {
	o := holder.Clone()
	by := o.Permit.By
	o.Permit = nil
	d.Change.Other = &journal.Record{Operation: &o, Events: []journal.Event{{At: now.Wall, What: "permit_used", Status: o.Status, By: by, Note: string(d.Operation.Key)}}}
	return d
}

// ask keeps a call that only a person can let through beside the operation: the latest one, for a day.
func ask(op *journal.Operation, c Call, do Do, kind string, differs []string, now Now) Decision {
	if q := op.Question; q != nil && q.Kind == kind && q.RequestHash == c.Fresh.RequestHash && now.sinceWall(q.At) < time.Hour {
		return Decision{Do: do, Operation: op, Repeat: kind == "repeat", Differs: differs}
	}
	o := op.Clone()
	d := Decision{Operation: &o, Repeat: kind == "repeat", Differs: differs}
	before := idle(&o)
	o.Question = &journal.Question{
		Kind: kind, At: now.Wall, Expires: now.Wall.Add(day), RequestHash: c.Fresh.RequestHash, Args: c.Args, Differs: differs,
		Task: c.Fresh.Task, Turn: c.Fresh.Turn, Volatile: c.Volatile,
	}
	if o.Due.IsZero() || o.Due.Equal(before) {
		o.Due = idle(&o)
	}
	d.event(now, "asked", kind, strings.Join(differs, ", "))
	return d.write(do)
}

// idle is when an operation is due of which nothing but its question, if any, will be over by itself.
func idle(op *journal.Operation) time.Time {
	if op.Question == nil {
		return time.Time{}
	}
	return op.Question.Expires
}

// proceed goes on with an operation for a caller who asked for exactly it.
func proceed(k journal.Known, op *journal.Operation, hold *journal.Wait, p Policy, now Now) Decision {
	if op.Status != journal.Pending || op.Wait != nil {
		return next(op, p, now)
	}
	if now.yet(op.NotBefore) {
		return Decision{Do: Later, Operation: op, Until: op.NotBefore}
	}
	o := op.Clone()
	d := Decision{Operation: &o}
	wait := held(k, &o, hold, p, now)
	if !attemptsLeft(op, p) {
		wait = &journal.Wait{Reason: "attempts", Note: itoa(len(o.Attempts))}
	}
	if wait == nil {
		return claim(d, p, now)
	}
	o.Due, o.Released = idle(&o), false
	waitFor(&d, now, wait.Reason, wait.Note)
	return d.write(Answer)
}

func otherHash(k journal.Known, op *journal.Operation, c Call, p Policy, now Now) Decision {
	if corrected(k, op, c, now) {
		return register(k, c, p, now)
	}
	return ask(op, c, Conflict, "conflict", differs(op.Fields, c.Fresh.Fields), now)
}

// corrected reports whether a call is the next intent after a documented rejection: what the provider refused may be
// corrected and sent under a new key, a few times, and never for more money.
func corrected(k journal.Known, op *journal.Operation, c Call, now Now) bool {
	if op.Status != journal.FailedFinal || op.Evidence != journal.Response || len(op.Flags) > 0 {
		return false
	}
	recent := 0
	if len(k.Recent) == journal.RecentLimit { // there may be more, and one of them may be done
		return false
	}
	for _, other := range k.Recent {
		if (other.Scope == op.Scope || other.Scope == c.Fresh.Scope) && other.Status == journal.Succeeded { // it is done; once more is a person's to say
			return false
		}
	}
	for _, other := range k.Recent {
		if other.Seq > 1 && now.sinceWall(other.Registered) < day {
			recent++
		}
	}
	return recent < maxCorrections && !moneyGrew(op.Fields, c.Fresh.Fields)
}

func moneyGrew(before, after []journal.Field) bool {
	for _, f := range after {
		if f.Money == "" {
			continue
		}
		i := slices.IndexFunc(before, func(b journal.Field) bool { return b.Name == f.Name })
		if i < 0 || before[i].Money != f.Money || canonical.CompareDecimal(f.Value, before[i].Value) > 0 {
			return true
		}
	}
	return false
}

// differs names the fields whose digests are not equal, sorted.
func differs(a, b []journal.Field) []string {
	digests := map[string]string{}
	for _, f := range a {
		digests[f.Name] = f.Digest
	}
	var names []string
	for _, f := range b {
		if digests[f.Name] != f.Digest {
			names = append(names, f.Name)
		}
		delete(digests, f.Name)
	}
	for name := range digests {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// event appends a line to the history, with the operation's state as it stands at that point.
func (d *Decision) event(now Now, what, reason, note string) {
	op := d.Operation
	d.Change.Events = append(d.Change.Events, journal.Event{
		At: now.Wall, What: what, Status: op.Status, Epoch: op.Epoch, Attempt: op.AttemptCount, Reason: reason, Note: note,
	})
}

// write makes the operation, as it stands, part of the change.
func (d Decision) write(do Do) Decision {
	d.Do = do
	d.Change.Operation = d.Operation
	return d
}

func itoa(n int) string { return strconv.Itoa(n) }

// OnCaller goes on with an operation for the caller who is still waiting for it: what did not leave this machine is tried
// again, which by itself it would not be. hold is as in Call.
func OnCaller(k journal.Known, hold *journal.Wait, p Policy, now Now) Decision {
	return proceed(k, k.Operation, hold, p, now)
}
