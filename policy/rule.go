package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// Ruling is a person's decision about one operation.
type Ruling struct {
	Decision    string // one of the words below
	By, Why     string
	Shown       string         // what the person was shown, in short, for the history
	Episode     string         // Episode of the operation as it was shown; another one means that it moved meanwhile
	RequestHash canonical.Hash // of the request that the person saw; empty: the one that the decision is about
	ExternalID  string         // happened: the provider's id, where it is known
	For         time.Duration  // wait: how long; 0: a day
}

// The decisions (FORMATS §4).
const (
	Happened    = "happened"     // it took effect
	Resend      = "resend"       // it did not: send the registered request, under the same key
	Close       = "close"        // it is not known and will not be; never send it
	WaitOn      = "wait"         // look on, ask again later
	Approve     = "approve"      // send the registered request
	Decline     = "decline"      // never send it
	Replace     = "replace"      // drop the unsent request and send the other one
	SameWish    = "same"         // the other call is this very wish
	Again       = "again"        // leave for one more, under a new key
	Seen        = "seen"         // the contradiction was looked at
	SameAccount = "same_account" // the changed secrets open the same account

	stop = "stop" // never send what was not sent yet; OnStop
)

// Decisions lists them.
var Decisions = []string{Happened, Resend, Close, WaitOn, Approve, Decline, Replace, SameWish, Again, Seen, SameAccount}

// Sends reports whether a decision lets a request go.
func Sends(decision string) bool {
	return slices.Contains([]string{Approve, Resend, Replace}, decision)
}

// Refused is why a ruling was not taken. Nothing was written.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// unsentWaits are the reasons for which a request that was never executed waits for a person to let it go.
var unsentWaits = []string{"approval", "limit", "look_alike"}

// Choices are the decisions that an operation allows as it stands, the safest first.
func Choices(op *journal.Operation, now time.Time) []string {
	var out []string
	question := asked(op, now)
	switch op.Status {
	case journal.Unknown:
		out = []string{WaitOn, Happened, Close, Resend}
		if op.Wait != nil && op.Wait.Reason == "account" {
			out = append(out, SameAccount)
		}
	case journal.Pending:
		out = []string{Decline, Resend}
		if op.Wait != nil && slices.Contains(unsentWaits, op.Wait.Reason) {
			out = []string{Decline, Approve}
		}
		if question != nil && question.Kind == "conflict" {
			out = append(out, Replace)
		}
	case journal.Succeeded, journal.FailedFinal:
		out = []string{Again}
	}
	if question != nil {
		out = append([]string{SameWish}, out...)
	}
	if len(op.Flags) > 0 {
		out = append([]string{Seen}, out...)
	}
	return out
}

// asked is the question of an operation that can still be answered.
func asked(op *journal.Operation, now time.Time) *journal.Question {
	if op.Question != nil && !journal.Come(op.Question.Expires, now) {
		return op.Question
	}
	return nil
}

// Episode names what a person was shown of an operation: a ruling holds for that and nothing later.
func Episode(op *journal.Operation) string {
	text := fmt.Sprint(op.Key, "|", op.Status, "|", op.Epoch, "|", op.ExternalID, "|", len(op.Flags))
	if w := op.Wait; w != nil {
		text += "|" + w.Reason
		for _, c := range w.Candidates {
			text += "|" + c.ID + "|" + c.State + "|" + c.Title + "|" + strings.Join(c.Differs, ",")
		}
	}
	if q := op.Question; q != nil {
		text += "|" + q.Kind + string(q.RequestHash)
	}
	if r := op.Ruling; r != nil {
		text += fmt.Sprint("|", r.N)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// About is the request that a decision is about: the question's, where the decision answers one, else the registered one.
func About(op *journal.Operation, decision string, now time.Time) canonical.Hash {
	if asked(op, now) != nil && slices.Contains([]string{Again, SameWish, Replace}, decision) {
		return op.Question.RequestHash
	}
	return op.RequestHash
}

// check says whether a ruling may be taken.
func (r Ruling) check(op *journal.Operation, now Now) error {
	choices := Choices(op, now.Wall)
	switch {
	case r.Episode != "" && r.Episode != Episode(op):
		return refuse("it has moved since it was shown; look again")
	case op.Status == journal.InProgress && !slices.Contains(choices, r.Decision):
		return refuse("an attempt is under way; decide once its outcome is known or lost")
	case !slices.Contains(choices, r.Decision):
		return refuse("%q cannot be decided of it now; it allows %s", r.Decision, strings.Join(choices, ", "))
	case r.RequestHash != "" && r.RequestHash != About(op, r.Decision, now.Wall):
		return refuse("what was shown is not what this decision is about; nothing but the shown request can be let through")
	case r.Decision == WaitOn && (r.For < 0 || r.For > 30*day):
		return refuse("wait takes up to 30 days")
	case r.ExternalID != "" && r.Decision != Happened:
		return refuse("an external id belongs to happened only")
	}
	return nil
}

// OnRule takes a person's decision about k.Operation. Where it lets the registered request go it claims it in the same change:
// a crash behind it leaves a lease that runs out, never a second ruling. Replace goes through OnReplace. Error: Refused.
func OnRule(k journal.Known, r Ruling, p Policy, now Now) (Decision, error) {
	if err := r.check(k.Operation, now); err != nil {
		return Decision{}, err
	}
	o := k.Operation.Clone()
	d := Decision{Operation: &o}
	hash := About(&o, r.Decision, now.Wall)
	d.ruled(r, now)
	switch r.Decision {
	case Happened:
		if owner, taken := ownerOf(k, &o, r.ExternalID); taken {
			return Decision{}, refuse("the external id belongs to operation %s", owner)
		}
		return d.end(journal.Succeeded, r, now), nil
	case Close, Decline:
		return d.end(journal.FailedFinal, r, now), nil
	case Approve, Resend:
		return d.letGo(k, r, p, now), nil
	case WaitOn:
		return d.waitOn(r, p, now), nil
	case Again:
		o.Permit = &journal.Permit{RequestHash: hash, Given: now.Wall, By: r.By, Shown: r.Shown}
		return d.answered(now), nil
	case SameWish:
		o.Same = &journal.Same{RequestHash: hash, At: now.Wall}
		return d.answered(now), nil
	case Seen:
		o.Flags = nil
		return d.write(laterOrAnswer(o.Due)), nil
	case SameAccount:
		o.SameAccounts = append(o.SameAccounts, p.Credential)
		o.Wait, o.Due = nil, later(now.Wall, o.Looking)
		return d.write(Later).until(o.Due), nil
	}
	return Decision{}, refuse("%q is not decided this way", r.Decision)
}

// OnReplace drops a request that was never executed and registers the one of its question instead, in one change: k is read by
// the intent of c, which is that question's.
func OnReplace(k journal.Known, key journal.Key, r Ruling, c Call, p Policy, now Now) (Decision, error) {
	i := slices.IndexFunc(k.Unheard, func(op journal.Operation) bool { return op.Key == key })
	if i < 0 {
		return Decision{}, refuse("it is not open any more")
	}
	old := k.Unheard[i].Clone()
	if err := r.check(&old, now); err != nil {
		return Decision{}, err
	}
	if c.Fresh.RequestHash != old.Question.RequestHash {
		return Decision{}, refuse("the other request reads differently today; let it be asked again")
	}
	before := Decision{Operation: &old}
	before.ruled(r, now)
	before = before.end(journal.FailedFinal, r, now)
	d := fresh(k, c, p, now)
	d.Operation.Ruling = old.Ruling
	d = d.letGo(k, r, p, now)
	d.Change.Other = &journal.Record{Operation: before.Operation, Events: before.Change.Events}
	return d, nil
}

func ownerOf(k journal.Known, op *journal.Operation, id string) (journal.Key, bool) {
	if id == "" {
		return "", false
	}
	owner, owned := k.Owner(op.Account, id)
	return owner, owned && owner != op.Key
}

// ruled notes who decided what, why, and what was shown.
func (d *Decision) ruled(r Ruling, now Now) {
	op := d.Operation
	n := 1
	if op.Ruling != nil {
		n += op.Ruling.N
	}
	op.Ruling = &journal.Ruling{N: n, Decision: r.Decision, By: r.By, Why: r.Why, At: now.Wall}
	d.Change.Events = append(d.Change.Events, journal.Event{
		At: now.Wall, What: "ruled", Status: op.Status, Epoch: op.Epoch, Reason: r.Decision, By: r.By, Note: r.Why, Shown: r.Shown, ExternalID: r.ExternalID,
	})
}

// end makes the operation final on the person's word.
func (d Decision) end(status journal.Status, r Ruling, now Now) Decision {
	reason := map[string]string{Close: "closed", Decline: "declined", Replace: "replaced", stop: "stopped"}[r.Decision]
	d.Operation.Question = nil
	proof{status: status, evidence: journal.Person, id: r.ExternalID, out: Outcome{Reason: reason}}.finish(&d, now)
	return d.write(Answer)
}

// letGo claims a request that a person lets go. What was tried before was not executed, on the person's word. A limit that was
// reached meanwhile asks once more, unless it is what the person was asked about.
func (d Decision) letGo(k journal.Known, r Ruling, p Policy, now Now) Decision {
	op := d.Operation
	waited := ""
	if op.Wait != nil {
		waited = op.Wait.Reason
	}
	for i := range op.Attempts {
		if a := &op.Attempts[i]; !a.Undone {
			a.Undone, op.Vouched = true, true
		}
	}
	op.Wait, op.Patience, op.NotBefore = nil, nil, time.Time{}
	op.Looking, op.Misses = time.Time{}, 0
	op.Approved = &journal.Approval{Given: now.Wall, By: r.By, Limit: waited == "limit"}
	op.SendUntil = later(op.SendUntil, now.Wall.Add(p.SendWithin))
	wait := overLimit(k, op, p, now)
	switch {
	case wait != nil && waited != "limit":
		if op.Status == journal.Unknown {
			op.Status, op.Reason = journal.Pending, "let_go"
			d.event(now, "moved", "let_go", "")
		}
		op.Due, op.Rests, op.Released = idle(op), false, false
		waitFor(&d, now, wait.Reason, wait.Note)
		return d.write(Answer)
	case op.NeedsCaller: // its next equal call brings what is needed
		op.Status, op.Reason, op.Counted = journal.Pending, "let_go", nil
		op.Due, op.Rests, op.Released = idle(op), true, false
		d.event(now, "moved", "let_go", "")
		return d.write(Answer)
	}
	return claim(d, p, now)
}

// waitOn takes the operation out of the queue for a while; it is looked up on.
func (d Decision) waitOn(r Ruling, p Policy, now Now) Decision {
	op := d.Operation
	reason := "unresolved"
	if op.Wait != nil {
		reason = op.Wait.Reason
	}
	length := r.For
	if length == 0 {
		length = day
	}
	op.Wait, op.Patience = nil, &journal.Patience{Reason: reason, Until: now.Wall.Add(length)}
	schedule(op, p, now)
	op.Due = later(op.Due, op.Looking) // a look-up that is under way comes first
	return d.write(laterOrAnswer(op.Due)).until(op.Due)
}

// answered forgets the question.
func (d Decision) answered(now Now) Decision {
	op := d.Operation
	if op.Question != nil && op.Due.Equal(op.Question.Expires) && (op.Status.Final() || op.Status == journal.Pending) {
		op.Due = time.Time{}
	}
	op.Question = nil
	return d.write(laterOrAnswer(op.Due)).until(op.Due)
}

// OnStop ends an operation that was never executed, because a person says so. ok is false when it may have been executed.
func OnStop(op *journal.Operation, who, why string, now Now) (d Decision, ok bool) {
	if op.Status != journal.Pending {
		return Decision{Do: Answer, Operation: op}, false
	}
	o := op.Clone()
	d = Decision{Operation: &o}
	r := Ruling{Decision: stop, By: who, Why: why}
	d.ruled(r, now)
	return d.end(journal.FailedFinal, r, now), true
}
