package policy

import (
	"testing"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// What simulated histories have found, each as the smallest case.

func unknownOp(due time.Time) *journal.Operation {
	return &journal.Operation{
		Key: "key", Number: "number", Tool: "pay", Scope: journal.JournalScope, Status: journal.Unknown, AttemptCount: 1, Epoch: 1, FirstSent: dawn, Due: due,
		Attempts: []journal.Attempt{{N: 1, Epoch: 1, Started: dawn, Deadline: dawn.Add(10 * time.Second), Lease: dawn.Add(11 * time.Second), Outcome: journal.OutcomeUnknown, Ended: dawn.Add(10 * time.Second)}},
	}
}

func searched() Policy {
	return Policy{Lookup: &Lookup{By: "key", Complete: true, Visibility: 20 * time.Second, Misses: 2, TrustEmpty: true}}.Defaults()
}

// A look-up that is due is made although the operation is past its time and a person said that it can wait.
func TestLooksOnWhileAPersonWaits(t *testing.T) {
	now := Now{Moment: journal.Moment{Wall: dawn.Add(time.Hour), Up: time.Hour}, High: dawn}
	op := unknownOp(now.Wall)
	op.Patience = &journal.Patience{Reason: "unresolved", Until: now.Wall.Add(24 * time.Hour)}
	if d := OnTime(op, searched(), now, false); d.Do != LookUp {
		t.Errorf("it is put off: %s until %s", d.Do, d.Until)
	}
}

// A time ten years ahead was written by a clock that ran ahead: it has come.
func TestTimesOfAWrongClockHaveCome(t *testing.T) {
	now := Now{Moment: journal.Moment{Wall: dawn.Add(time.Minute), Up: time.Hour}, High: dawn.AddDate(10, 0, 0)}
	op := unknownOp(dawn.AddDate(10, 0, 0))
	op.NotBefore, op.Wait = dawn.AddDate(10, 0, 0), &journal.Wait{Reason: "unresolved", Since: dawn}
	if d := OnTime(op, searched(), now, false); d.Do != LookUp {
		t.Errorf("it waits until %s", d.Until)
	}
}

// A late answer moves the end of its attempt: looks before it are no misses.
func TestALateAnswerBeginsTheLooksAnew(t *testing.T) {
	now := Now{Moment: journal.Moment{Wall: dawn.Add(time.Minute), Up: time.Minute}, High: dawn}
	op := unknownOp(now.Wall)
	op.Misses, op.Epoch = 1, 2
	op.Attempts[0].Reason = "lease_over"
	d := OnOutcome(op, Outcome{Epoch: 1, Outcome: journal.OutcomeUnknown, Reason: "timeout"}, false, searched(), now)
	if d.Operation.Misses != 0 || !d.Operation.Attempts[0].Ended.Equal(now.Wall) {
		t.Errorf("%d misses count, and the attempt ended %s", d.Operation.Misses, d.Operation.Attempts[0].Ended)
	}
}

// After a new start of the machine nobody knows how long it was off: a window that ends is over, one that never ends is not.
func TestAfterANewStartAWindowIsOver(t *testing.T) {
	p := Policy{KeySent: true, OnRepeat: "replays", Resend: "same_key", DedupWindow: Window{Known: true, For: 24 * time.Hour}}.Defaults()
	op := unknownOp(dawn)
	op.FirstUp, op.FirstIn, op.SendUntil = time.Hour, "one", dawn.Add(time.Hour)
	at := func(boot string) Now {
		return Now{Moment: journal.Moment{Wall: dawn.Add(time.Minute), Up: time.Hour + time.Minute, Boot: boot}, High: dawn}
	}
	if !resendable(op, p, at("one")) || resendable(op, p, at("two")) {
		t.Errorf("same boot %v, another %v", resendable(op, p, at("one")), resendable(op, p, at("two")))
	}
	p.DedupWindow.Forever = true
	if !resendable(op, p, at("two")) {
		t.Error("a key that is never forgotten is not sent again")
	}
}

// A refusal that another turn has not heard does not make a repeat of what is done here a correction of it.
func TestARepeatOfItsOwnTurnIsNoCorrection(t *testing.T) {
	turn := func(scope string, hash canonical.Hash, status journal.Status) journal.Operation {
		return journal.Operation{Key: journal.Key("key" + scope), Tool: "mail", Scope: scope, RequestHash: hash, Status: status, Evidence: journal.Response, Seq: 1, Ended: dawn}
	}
	own, other := turn(`["turn","a",1]`, "one", journal.Succeeded), turn(`["turn","b",1]`, "two", journal.FailedFinal)
	call := Call{Fresh: journal.Operation{Key: "fresh", Tool: "mail", Scope: own.Scope, RequestHash: "one"}, Intent: func(int) canonical.Hash { return "intent" }}
	k := journal.Known{Last: &own, Unheard: []journal.Operation{other}, Recent: []journal.Operation{other, own}}
	now := Now{Moment: journal.Moment{Wall: dawn.Add(time.Minute)}}
	if d := OnCall(k, call, searched(), now); d.Do != Answer || !d.Repeat || d.Operation.Key != own.Key {
		t.Errorf("the same again: %s of %s", d.Do, d.Operation.Key)
	}
	call.Fresh.RequestHash = "three"
	if d := OnCall(k, call, searched(), now); d.Do != Conflict {
		t.Errorf("other words, where the wish is done: %s", d.Do)
	}
}

// An unknown that a person lets go, and that a limit holds, is pending: its history says how it came there.
func TestLetGoOverALimitIsPending(t *testing.T) {
	op := unknownOp(dawn)
	op.Wait = &journal.Wait{Reason: "unresolved", Since: dawn}
	p := searched()
	p.Limits = Limits{Count: 1}
	k := journal.Known{Operation: op, Spent: func(string, string) journal.Spent { return journal.Spent{Count: 1} }}
	d, err := OnRule(k, Ruling{Decision: Resend, By: "ada"}, p, Now{Moment: journal.Moment{Wall: dawn.Add(time.Hour)}})
	if err != nil || d.Operation.Status != journal.Pending || d.Operation.Wait == nil || d.Operation.Wait.Reason != "limit" {
		t.Fatalf("%v: %+v", err, d.Operation)
	}
	moved := false
	for _, e := range d.Change.Events {
		moved = moved || e.What == "moved" && e.Status == journal.Pending
	}
	if !moved {
		t.Errorf("no move to pending: %+v", d.Change.Events)
	}
}

// What is another operation's effect is no candidate for this one, however well it fits.
func TestAnothersEffectIsNoCandidate(t *testing.T) {
	now := Now{Moment: journal.Moment{Wall: dawn.Add(time.Minute), Up: time.Minute}, High: dawn}
	found := []Found{{Candidate: journal.Candidate{ID: "theirs", State: "completed", Created: dawn}, Match: ByKey}, {Candidate: journal.Candidate{ID: "ours", State: "completed", Created: dawn}, Match: ByKey}}
	owned := func(id string) bool { return id == "theirs" }
	d := OnLook(unknownOp(now.Wall), Look{Begun: now.Moment, AllPages: true, Found: found}, owned, searched(), now)
	if d.Operation.Status != journal.Succeeded || d.Operation.ExternalID != "ours" {
		t.Errorf("S22: of one that is another's and one that is not, it became %s as %q", d.Operation.Status, d.Operation.ExternalID)
	}
}
