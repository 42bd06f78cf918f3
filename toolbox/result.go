package toolbox

import (
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// Word is the fixed first word of every answer (DESIGN §9).
type Word string

// The words.
const (
	Done          Word = "DONE"
	AlreadyDone   Word = "ALREADY DONE"
	Queued        Word = "QUEUED"
	NotSent       Word = "NOT SENT"
	Rejected      Word = "REJECTED"
	NotConfirmed  Word = "NOT CONFIRMED"
	ConflictWord  Word = "CONFLICT"
	WaitsForHuman Word = "WAITING FOR A PERSON"
	InvalidCall   Word = "INVALID CALL"
)

// Result is what a caller is told. A fact that is not there has its zero value.
type Result struct {
	Word       Word
	Tool       string
	Status     string // one of the five; empty when nothing was journaled
	Key        string
	Number     string
	ExternalID string
	Result     canonical.Raw
	Repeat     bool
	Evidence   string
	Attempts   int
	Message    string   // one or two sentences that begin with Word; for the model and for a person
	Differs    []string // CONFLICT: names of the fields
	Heuristic  bool     // believed by signs only, or a candidate was found by signs only
	Waits      bool     // a person must decide
	Rests      bool     // unsent, and nothing will be by itself
	Flagged    bool     // contradictory evidence that a person has not seen yet
	Title      string   // action and business reference, for a receipt

	note func() // records that the final answer was delivered; nil: nothing to record
}

// Delivered says that the transport accepted this answer. It is recorded with the next commit; a crash before that repeats
// an answer once, never an effect.
func (r Result) Delivered() {
	if r.note != nil {
		r.note()
	}
}

// result fills what every answer about an operation has.
func (t *Toolbox) result(op journal.Operation) Result {
	r := Result{
		Tool: op.Tool, Status: string(op.Status), Key: string(op.Key), Number: op.Number, ExternalID: op.ExternalID, Result: op.Result,
		Evidence: string(op.Evidence), Attempts: op.AttemptCount, Waits: op.Wait != nil, Rests: op.Rests, Flagged: len(op.Flags) > 0,
		Heuristic: op.Evidence == journal.Heuristic || op.Wait != nil && op.Wait.Reason == "heuristic", Title: Title(op),
	}
	if op.Status.Final() && op.Scope != journal.JournalScope && op.Delivered.IsZero() {
		r.note = func() {
			t.note(op.Key, func(o *journal.Operation, now time.Time) string {
				if !o.Delivered.IsZero() || !o.Status.Final() {
					return ""
				}
				o.Delivered = now
				return "delivered"
			})
		}
	}
	return r
}

// Report is what is known of an operation now, in the words of an answer.
func (t *Toolbox) Report(op journal.Operation) Result {
	return t.tell(prepared{}, op, op.Status.Final(), nil)
}
