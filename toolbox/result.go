package toolbox

import (
	"context"
	"errors"
	"fmt"
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
	return t.tell(op, false)
}

// Exit is the exit code of a command that ends with this word (FORMATS §7).
func (w Word) Exit() int {
	switch w {
	case Done, AlreadyDone:
		return 0
	case Rejected:
		return 1
	case InvalidCall:
		return 2
	case ConflictWord:
		return 5
	case NotSent:
		return 7
	}
	return 3
}

// Find returns the one operation with this key, number, or unique beginning of eight characters or more.
func (t *Toolbox) Find(ctx context.Context, text string) (journal.Operation, error) {
	return Find(ctx, t.journal, text)
}

// Find is Toolbox.Find for a journal. With ErrDamaged it returns the one operation that can be read; its key is empty where none,
// or more than one, can be.
func Find(ctx context.Context, j journal.Journal, text string) (journal.Operation, error) {
	found, err := j.Find(ctx, text)
	switch {
	case errors.Is(err, journal.ErrDamaged) && len(found) == 1:
		return found[0], err
	case err != nil:
		return journal.Operation{}, err
	case len(found) == 0:
		return journal.Operation{}, fmt.Errorf("%w: %q", ErrNoOperation, text)
	case len(found) > 1:
		return journal.Operation{}, fmt.Errorf("%w: several begin with %q", ErrNoOperation, text)
	}
	return found[0], nil
}

// Show is what the journal holds now of the operation with a number.
func (t *Toolbox) Show(ctx context.Context, number string) (Result, error) {
	op, err := t.Find(ctx, number)
	if err != nil {
		return Result{}, err
	}
	return t.Report(op), nil
}

// Check is the answer to the read that looks at one operation: arguments are {"number": "…"}. It asks the provider where the
// outcome is not known, and sends nothing.
func (t *Toolbox) Check(ctx context.Context, arguments []byte) Result {
	const name = "check_operation"
	args, err := canonical.ParseObject(arguments)
	number, ok := args["number"].(string)
	if err == nil && (!ok || len(args) != 1) {
		err = errors.New("it takes number, as text, and nothing else")
	}
	if err != nil {
		return t.refuse(Call{Tool: name}, err)
	}
	op, err := t.Find(ctx, number)
	if err != nil {
		return t.refuse(Call{Tool: name}, err)
	}
	if op.Status == journal.Unknown {
		if looked, err := t.LookNow(ctx, op.Key); err == nil {
			op = looked
		}
	}
	r := t.tell(op, op.Status.Final())
	r.Number, r.Key = "", "" // the receipt of a turn is about what the turn asked for
	return r
}

// Blank is the text of a call's arguments without the values of volatile fields. Text that cannot be parsed stays as it is:
// it will be refused.
func (t *Toolbox) Blank(name, arguments string) string {
	tool := t.tool(name)
	if tool == nil {
		return arguments
	}
	args, err := canonical.ParseObject([]byte(arguments))
	if err != nil {
		return arguments
	}
	blanked := false
	for _, f := range tool.Shape.Fields {
		if _, given := args[f.Name]; given && f.Role == canonical.Volatile {
			delete(args, f.Name)
			blanked = true
		}
	}
	if !blanked {
		return arguments
	}
	text, err := canonical.Plain(args)
	if err != nil {
		return arguments
	}
	return string(text)
}
