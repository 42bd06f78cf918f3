package policy

import (
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// Call is one call of a write tool, normalised and hashed.
type Call struct {
	// Fresh is the record as it would be registered: key minted beforehand, status pending, no attempt; TaskSeq, Seq and
	// Intent are filled by OnCall.
	Fresh journal.Operation
	// Intent makes the intent hash for a number; it is canonical.IntentHash with the call's identity.
	Intent func(seq int) canonical.Hash
	// Hold, if set, says why a person looks before the request is sent.
	Hold *journal.Wait
	// Args are the normalised arguments without volatile fields, for a question to a person.
	Args canonical.Raw
	// Alive reports whether an operation's attempt is made by this very process; nil: none is.
	Alive func(journal.Key) bool
	// Volatile names the volatile fields that the call brought.
	Volatile []string
	// Counts reports whether a field is part of the request under the newest declaration; nil: every field is.
	Counts func(field string) bool
}

// Outcome is what an attempt's end proved.
type Outcome struct {
	Epoch      int
	Outcome    journal.Outcome
	Word       string // why unknown: accepted, running, exists, conflict; else empty
	Reason     string // machine word, such as `timeout`
	Evidence   journal.Evidence
	ExternalID string
	Result     canonical.Raw
	RetryAfter time.Duration
	ForKey     bool   // the provider says that this answer speaks for the key, whatever the attempt
	Waits      string // not_sent that waits for somebody, such as the owner of a secret; empty: none
}

// Match says by what a candidate was recognised.
type Match string

// The matches.
const (
	ByKey       Match = "key"
	ByReference Match = "reference"
	ByUnique    Match = "unique" // a value that the tool declares unique at the provider
	BySigns     Match = "signs"  // anything else: never more than a heuristic
)

// Found is one candidate of a look-up.
type Found struct {
	journal.Candidate
	Match   Match
	Undated bool          // the provider dates its objects, and this one's date cannot be read
	Result  canonical.Raw // what the tool keeps of it
}

// Look is the answer of one look-up, all pages together.
type Look struct {
	Begun    journal.Moment // when it was asked
	Failed   string         // machine word; empty: it answered
	Found    []Found
	AllPages bool // every page was read
	Known    bool // the same query form found a known object of this tool in the same pass
}

// Do is the next step.
type Do string

// The next steps.
const (
	Send     Do = "send"     // the operation was claimed: make attempt number AttemptCount
	Join     Do = "join"     // another attempt is under way: wait for it, until Until
	LookUp   Do = "look_up"  // ask the provider; the operation is marked as being looked at
	Later    Do = "later"    // nothing now; work is due at Until
	Answer   Do = "answer"   // nothing to do: tell what the journal holds
	Conflict Do = "conflict" // another request under the same intent: nothing was or will be sent
	Ask      Do = "ask"      // an old final operation; only a person can say whether it is the same wish
)

// Decision is what OnCall, OnCaller, OnOutcome, OnLook, OnTime, OnRule and OnReplace answer.
type Decision struct {
	Do        Do
	Operation *journal.Operation // as it will stand once the change is written
	Change    journal.Change
	Repeat    bool      // the call repeats an intent that was there before
	Differs   []string  // Conflict: the names of the fields
	Until     time.Time // Join, Later
}
