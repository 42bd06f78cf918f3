package journal

import (
	"time"

	"notwice/canonical"
)

// Key names an operation at the provider: an opaque random UUIDv7 text, minted once per intent, sent on every attempt.
type Key string

// Status is the state of an operation; there are five and no others.
type Status string

// The five states.
const (
	Pending     Status = "pending"
	InProgress  Status = "in_progress"
	Unknown     Status = "unknown"
	Succeeded   Status = "succeeded"
	FailedFinal Status = "failed_final"
)

// Statuses lists the five states.
func Statuses() []Status { return []Status{Pending, InProgress, Unknown, Succeeded, FailedFinal} }

// Final reports whether the state is an end.
func (s Status) Final() bool { return s == Succeeded || s == FailedFinal }

// Outcome is what one attempt proved. Empty: nothing recorded yet.
type Outcome string

// The four outcomes.
const (
	Applied        Outcome = "applied"
	Rejected       Outcome = "rejected"
	NotSent        Outcome = "not_sent"
	OutcomeUnknown Outcome = "unknown"
)

// Evidence is why a state is believed.
type Evidence string

// The kinds of evidence.
const (
	Response          Evidence = "response"
	LookupByKey       Evidence = "lookup_by_key"
	LookupByReference Evidence = "lookup_by_reference"
	Heuristic         Evidence = "heuristic"
	UpstreamError     Evidence = "upstream_error"
	Person            Evidence = "person"
)

// Attempt is one external call for an operation.
type Attempt struct {
	N        int           `json:"n"`     // from 1
	Epoch    int           `json:"epoch"` // of the claim; a later claim has a higher one
	Started  time.Time     `json:"started"`
	Up       time.Duration `json:"up,omitzero"`   // the machine's uptime at the claim, see Moment
	Boot     string        `json:"boot,omitzero"` // see Moment
	Deadline time.Time     `json:"deadline"`
	Lease    time.Time     `json:"lease"` // deadline plus margin; past it the attempt must not send
	Ended    time.Time     `json:"ended,omitzero"`
	EndedUp  time.Duration `json:"ended_up,omitzero"`
	EndedIn  string        `json:"ended_in,omitzero"` // the boot
	Outcome  Outcome       `json:"outcome,omitzero"`
	Reason   string        `json:"reason,omitzero"` // why that outcome, one machine word such as `timeout`
	Undone   bool          `json:"undone,omitzero"` // known not to have been executed: by its own end, by a definite absence, or by a person's word

	Credential string `json:"credential,omitzero"` // keyed digest of the secrets that it used
}

// Moment is a point in time by two clocks: the wall clock, which can be wrong, and the machine's uptime (suspends
// included), which all processes of a boot share and nobody can set. Boot names that boot; it is empty where the machine does not
// name it.
type Moment struct {
	Wall time.Time
	Up   time.Duration
	Boot string
}

// Begun is the moment of the claim.
func (a Attempt) Begun() Moment { return Moment{a.Started, a.Up, a.Boot} }

// Over is the moment of the recorded end.
func (a Attempt) Over() Moment { return Moment{a.Ended, a.EndedUp, a.EndedIn} }

// End records the end of the attempt.
func (a *Attempt) End(o Outcome, reason string, at Moment) {
	a.Outcome, a.Reason, a.Ended, a.EndedUp, a.EndedIn = o, reason, at.Wall, at.Up, at.Boot
}

// Length is how long the attempt may send: from its claim to the end of its lease.
func (a Attempt) Length() time.Duration { return a.Lease.Sub(a.Started) }

// Latest is the time until which the attempt may still reach the provider as far as we know: the latest of deadline, lease
// end and recorded end.
func (a Attempt) Latest() time.Time {
	t := a.Lease
	if a.Deadline.After(t) {
		t = a.Deadline
	}
	if a.Ended.After(t) {
		t = a.Ended
	}
	return t
}

// Field keeps what stays readable of one argument after the request body is gone.
type Field struct {
	Name   string         `json:"name"`
	Role   canonical.Role `json:"role,omitzero"`
	Money  string         `json:"money,omitzero"`  // ISO code of a money field
	Value  string         `json:"value,omitzero"`  // identity and money fields only: the title of the operation
	Digest string         `json:"digest"`          // keyed digest of the value as sent
	Folded string         `json:"folded,omitzero"` // keyed digest of the folded value
	Short  bool           `json:"short,omitzero"`  // a model hardly rewords such a value (DESIGN §3)
}

// DigestsOf are the folded digests of the fields that identity names, an absent one as nil: what Kin is made of.
func DigestsOf(fields []Field, identity []string) map[string]any {
	out := make(map[string]any, len(identity))
	for _, name := range identity {
		out[name] = nil
	}
	for _, f := range fields {
		if _, is := out[f.Name]; is && f.Folded != "" {
			out[f.Name] = f.Folded
		}
	}
	return out
}

// Candidate is one object at the provider that may be the operation's effect.
type Candidate struct {
	ID      string    `json:"id"`
	State   string    `json:"state,omitzero"` // completed, failed, running or empty
	Title   string    `json:"title,omitzero"` // the provider's fields, for a person
	Differs []string  `json:"differs,omitzero"`
	Created time.Time `json:"created,omitzero"`
}

// Wait is the mark of an operation that only a person can move on.
type Wait struct {
	Reason     string      `json:"reason"` // machine word: unresolved, candidates, heuristic, conflict, attempts, approval, look_alike …
	Since      time.Time   `json:"since"`
	Note       string      `json:"note,omitzero"` // what the reason is about: a number, a condition, a word
	Candidates []Candidate `json:"candidates,omitzero"`
}

// Question is a call of the operation's intent that only a person can let through, kept beside the operation: the latest
// only. It sends nothing; it says what would be sent.
type Question struct {
	Kind        string         `json:"kind"` // conflict: other values; repeat: an equal call long after the end
	At          time.Time      `json:"at"`
	Expires     time.Time      `json:"expires"`
	RequestHash canonical.Hash `json:"request_hash"`
	Args        canonical.Raw  `json:"args"` // normalised, without volatile fields
	Differs     []string       `json:"differs,omitzero"`
	Task        string         `json:"task,omitzero"`
	Turn        int            `json:"turn,omitzero"`
	Volatile    []string       `json:"volatile,omitzero"` // names of the volatile fields that it brought
}

// Permit is a person's single-use leave to do the same thing again, under a new key. It is bound to the operation that
// holds it and to the request that the person saw, and consumed in the transaction that registers the new intent.
type Permit struct {
	RequestHash canonical.Hash `json:"request_hash"`
	Given       time.Time      `json:"given"`
	By          string         `json:"by"`
	Shown       string         `json:"shown,omitzero"` // what the person was shown, in short
}

// Approval is a person's release of exactly the registered request.
type Approval struct {
	Given time.Time `json:"given"`
	By    string    `json:"by"`
	Limit bool      `json:"limit,omitzero"` // given although a limit was reached
}

// Ruling is a person's decision about the operation, the latest.
type Ruling struct {
	N        int       `json:"n"` // how many there were, itself included
	Decision string    `json:"decision"`
	By       string    `json:"by"`
	Why      string    `json:"why,omitzero"`
	At       time.Time `json:"at"`
}

// Same says that calls with a request hash are this very wish, on a person's word.
type Same struct {
	RequestHash canonical.Hash `json:"request_hash"`
	At          time.Time      `json:"at"`
}

// Patience says that a person wants to wait: what put the operation into the queue does not do so again until then.
type Patience struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// Spent is what an operation, or all operations of a tool on one day, take from the tool's limits.
type Spent struct {
	Count int                         `json:"count"`
	Sums  map[string]canonical.Number `json:"sums,omitzero"` // minor units by currency
}

// Counted says against which UTC day an operation counts, from its claim until it is known to have had no effect.
type Counted struct {
	Day  string                      `json:"day"` // 2026-03-02
	Sums map[string]canonical.Number `json:"sums,omitzero"`
}

// Flag is a contradiction that stays in review until a person has seen it.
type Flag struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`          // machine word: during_retry, against_ruling, against_final
	Was  Status    `json:"was,omitzero"`  // what the journal held
	Says Status    `json:"says,omitzero"` // what the evidence says
	ID   string    `json:"id,omitzero"`   // the provider's
}

// Operation is the journal's record of one intent, from registration to its final state.
type Operation struct {
	Key         Key            `json:"key"`
	Number      string         `json:"number"`
	Tool        string         `json:"tool"`
	Account     string         `json:"account"` // name@place (FORMATS §7)
	Scope       string         `json:"scope"`   // canonical text of ["journal"], ["task",T] or ["turn",T,N]
	Task        string         `json:"task,omitzero"`
	TaskSeq     int            `json:"task_seq,omitzero"` // how many writes its task had registered, itself included
	Turn        int            `json:"turn,omitzero"`     // ordinal of the person's message in its task; 0: none
	Kin         canonical.Hash `json:"kin"`               // action, account and identity, whatever the scope
	Intent      canonical.Hash `json:"intent"`            // kin, scope and seq
	Seq         int            `json:"seq"`
	RequestHash canonical.Hash `json:"request_hash"`
	Declared    string         `json:"declared,omitzero"` // fingerprint of the declaration under which the request was hashed
	Position    string         `json:"position,omitzero"` // transcript position that registered it
	Fields      []Field        `json:"fields,omitzero"`
	Request     canonical.Raw  `json:"request,omitzero"` // the registered arguments, secrets as references; gone once final

	Status     Status        `json:"status"`
	Evidence   Evidence      `json:"evidence,omitzero"`
	ExternalID string        `json:"external_id,omitzero"`
	Result     canonical.Raw `json:"result,omitzero"`
	Reason     string        `json:"reason,omitzero"` // machine word of the latest fact, such as `timeout` or `card_declined`

	Epoch        int           `json:"epoch,omitzero"`
	AttemptCount int           `json:"attempt_count,omitzero"`
	Attempts     []Attempt     `json:"attempts,omitzero"` // those that may have been executed, and the latest; all are in the history
	Registered   time.Time     `json:"registered"`
	FirstSent    time.Time     `json:"first_sent,omitzero"` // claim of the first attempt that may have been executed; fixed there
	FirstUp      time.Duration `json:"first_up,omitzero"`
	FirstIn      string        `json:"first_in,omitzero"` // the boot
	Ended        time.Time     `json:"ended,omitzero"`
	Delivered    time.Time     `json:"delivered,omitzero"`   // the final answer reached a caller
	CallerLost   bool          `json:"caller_lost,omitzero"` // the caller went away before it had an answer

	Due         time.Time `json:"due,omitzero"`          // next work by itself; zero: none
	NeedsCaller bool      `json:"needs_caller,omitzero"` // a volatile field is needed, which only a caller brings
	NotBefore   time.Time `json:"not_before,omitzero"`   // the provider asked to wait
	Rests       bool      `json:"rests,omitzero"`        // pending and going nowhere by itself
	Released    bool      `json:"released,omitzero"`     // pending because a look-up proved absence; may go by itself until SendUntil
	SendUntil   time.Time `json:"send_until,omitzero"`
	Misses      int       `json:"misses,omitzero"`  // look-ups in a row, begun after the visibility window, that found nothing
	Looks       int       `json:"looks,omitzero"`   // look-ups since it became unknown
	Looking     time.Time `json:"looking,omitzero"` // a look-up is under way until then at the latest
	Wait        *Wait     `json:"wait,omitzero"`
	Flags       []Flag    `json:"flags,omitzero"`

	Question     *Question `json:"question,omitzero"`
	Permit       *Permit   `json:"permit,omitzero"`
	Approved     *Approval `json:"approved,omitzero"`
	Ruling       *Ruling   `json:"ruling,omitzero"`
	Same         *Same     `json:"same,omitzero"`
	Patience     *Patience `json:"patience,omitzero"`
	Vouched      bool      `json:"vouched,omitzero"`       // that earlier attempts were not executed rests on a person's word
	SameAccounts []string  `json:"same_accounts,omitzero"` // credentials that a person calls the same account
	Counted      *Counted  `json:"counted,omitzero"`
}

// Open reports whether the operation is not in a final state.
func (o *Operation) Open() bool { return !o.Status.Final() }

// Unheard reports whether the operation is open, or final in a scope that separates wishes while nobody has had its
// answer. An equal call is then still this operation, whatever its scope.
func (o *Operation) Unheard() bool {
	return o.Open() || (o.Scope != JournalScope && o.Delivered.IsZero())
}

// JournalScope is the scope of a tool whose identity holds for the whole journal.
const JournalScope = `["journal"]`

// InReview reports whether a person has something to decide or to see.
func (o *Operation) InReview() bool { return o.Wait != nil || len(o.Flags) > 0 || o.Question != nil }

// ReviewSince is when it entered the review queue.
func (o *Operation) ReviewSince() time.Time {
	if o.Wait != nil {
		return o.Wait.Since
	}
	if len(o.Flags) > 0 {
		return o.Flags[0].At
	}
	if o.Question != nil {
		return o.Question.At
	}
	return time.Time{}
}

// Attempt returns the kept attempt of an epoch, or nil.
func (o *Operation) Attempt(epoch int) *Attempt {
	for i := range o.Attempts {
		if o.Attempts[i].Epoch == epoch {
			return &o.Attempts[i]
		}
	}
	return nil
}

// Executable counts the attempts that may have been executed.
func (o *Operation) Executable() int {
	n := 0
	for _, a := range o.Attempts {
		if !a.Undone {
			n++
		}
	}
	return n
}

// Horizon is further ahead than anything is ever put off: a time beyond it was written under a clock that ran ahead, and has come.
const Horizon = 31 * 24 * time.Hour

// Come reports whether a time has come, or is one that only a wrong clock can have meant.
func Come(t, now time.Time) bool { return !t.After(now) || t.Sub(now) > Horizon }

// Clone is a copy that shares no memory that is ever written: what hangs on a pointer besides Wait is replaced, not changed.
func (o Operation) Clone() Operation {
	o.Attempts = append([]Attempt(nil), o.Attempts...)
	o.Flags = append([]Flag(nil), o.Flags...)
	o.SameAccounts = append([]string(nil), o.SameAccounts...)
	if o.Wait != nil {
		w := *o.Wait
		o.Wait = &w
	}
	return o
}

// Event is one line of an operation's history. It is appended, never changed.
type Event struct {
	At         time.Time `json:"at"`
	What       string    `json:"what"` // registered, claimed, outcome, late_outcome, look_up, moved, waits, rests, flagged, delivered, caller_lost, asked, ruled, permit_used, question_over
	Status     Status    `json:"status"`
	Epoch      int       `json:"epoch,omitzero"`
	Attempt    int       `json:"attempt,omitzero"`
	Outcome    Outcome   `json:"outcome,omitzero"`
	Evidence   Evidence  `json:"evidence,omitzero"`
	Reason     string    `json:"reason,omitzero"`
	ExternalID string    `json:"external_id,omitzero"`
	Note       string    `json:"note,omitzero"`
	By         string    `json:"by,omitzero"`    // ruled: who
	Shown      string    `json:"shown,omitzero"` // ruled: what the person was shown, in short
}
