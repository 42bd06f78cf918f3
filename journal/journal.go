package journal

import (
	"context"
	"time"

	"notwice/canonical"
)

// Wish is what a call asks for, in the terms by which operations are found.
type Wish struct {
	Tool     string
	Declared string // fingerprint of the tool's declaration; empty: the indexes are taken as they stand
	Kin      canonical.Hash
	Scope    string // canonical text, as in Operation.Scope
	Task     string
	Position string // transcript position of a recorded call; empty: none
}

// Known is what one transaction read, consistent with what it will write. The operations are copies that decide may change.
type Known struct {
	High      time.Time   // highest time that the journal had seen before this transaction
	Operation *Operation  // by key: that operation
	Recorded  *Operation  // by intent: the operation that bears the wish's position
	Unheard   []Operation // by intent: the kin's operations that are open or unheard, in any scope, oldest first
	Last      *Operation  // by intent: the newest of the kin in the wish's scope
	Recent    []Operation // by intent: the kin's newest operations in any scope, newest first, at most RecentLimit
	TaskSeq   int         // by intent: how many writes the wish's task has registered so far

	// Owner tells which operation of an account bears an external id.
	Owner func(account, externalID string) (Key, bool)
	// Spent is what operations of a tool count on a UTC day against its limits.
	Spent func(tool, day string) Spent
}

// RecentLimit bounds Known.Recent.
const RecentLimit = 8

// Change is what decide wants written. The zero Change writes nothing.
type Change struct {
	Operation *Operation // the whole new record; a key that the journal does not hold registers it
	Events    []Event    // appended to its history
	Other     *Record    // a second operation that moves with it: one whose permit is used, or that is replaced
}

// Record is one operation of a Change.
type Record struct {
	Operation *Operation
	Events    []Event
}

// Records are the operations that a change writes, the second one first.
func (c Change) Records() []Record {
	var all []Record
	if c.Other != nil {
		all = append(all, *c.Other)
	}
	if c.Operation != nil {
		all = append(all, Record{c.Operation, c.Events})
	}
	return all
}

// Place is where an operation is indexed.
type Place struct {
	Kin   canonical.Hash
	Scope string
}

// Decide is a pure function: it may run more than once and must not keep what it read. An error writes nothing and is
// returned to the caller of the transaction.
type Decide func(Known) (Change, error)

// Journal is the contract of a store. All methods may be called from many goroutines. at is the caller's time; the
// journal keeps the highest it was given.
//
// Durability: when DecideByIntent, DecideByKey or Flush returns nil, what was written survives any crash. When it returns
// an error that is ErrCommit, it may or may not have been written; the store has then been closed inside and is opened and
// read again before the next transaction. With any other error nothing was written.
//
// Cancellation: ctx ends the waiting for a turn, with ctx's error and nothing written; a transaction that has begun is
// not interrupted.
type Journal interface {
	// DecideByIntent reads all that Known says "by intent", asks decide and writes, in one transaction. Errors: those of
	// decide, ErrBusy, ErrDamaged, ErrRollback, ErrVersion, ErrCommit, ErrFull, ErrInvariant, ErrExternalIDTaken, and
	// ErrDeclared when the wish's tool was indexed under another declaration: decide was not asked, see Declare.
	DecideByIntent(ctx context.Context, at time.Time, w Wish, decide Decide) error
	// DecideByKey is the same for one operation. Error besides: ErrNotFound.
	DecideByKey(ctx context.Context, at time.Time, k Key, decide Decide) error
	// Declare indexes all operations of a tool anew, in one transaction: place says where each belongs under the declaration
	// with that fingerprint. Errors: those of place, and of DecideByIntent.
	Declare(ctx context.Context, at time.Time, tool, declared string, place func(Operation) (Place, error)) error
	// Later is DecideByKey that is in no hurry: it rides on the store's next commit, before what else that commit decides, or
	// on Flush or Close. It is lost in a crash before that, and dropped if decide fails.
	Later(at time.Time, k Key, decide Decide)
	// Flush commits what rides. Without riders it does nothing.
	Flush(ctx context.Context) error

	// Get returns one operation. Errors: ErrNotFound, ErrDamaged, ErrBusy.
	Get(ctx context.Context, k Key) (Operation, error)
	// Find returns the operations whose key or number is text, or whose key or number begins with it (8 characters or
	// more), at most two. With ErrDamaged: of those that can be read; so it is with List, Review and History.
	Find(ctx context.Context, text string) ([]Operation, error)
	// List returns operations newest first. next continues behind the last one; empty: that was all.
	List(ctx context.Context, q Query) (found []Operation, next Key, err error)
	// Due returns the operations whose Due is not after now, the most overdue first, at most limit; then those whose Due is
	// further ahead than Horizon, which a clock that ran ahead has written.
	Due(ctx context.Context, now time.Time, limit int) ([]Key, error)
	// NextDue returns the earliest Due of all; ok is false when there is none.
	NextDue(ctx context.Context) (due time.Time, ok bool, err error)
	// Review returns the operations that wait for a person or are flagged, the longest waiting first, at most limit.
	Review(ctx context.Context, limit int) ([]Operation, error)
	// History returns an operation's events, oldest first.
	History(ctx context.Context, k Key) ([]Event, error)

	// DigestKey returns the journal's own secret for keyed digests; fresh is kept if it has none yet.
	DigestKey(ctx context.Context, fresh []byte) ([]byte, error)
	// Stats counts what this handle did.
	Stats() Stats
	// Close commits what rides and lets the file go. Later calls return ErrClosed.
	Close() error
}

// MaxTask bounds the name of a task, in bytes.
const MaxTask = 1024

// Query selects operations for List. Zero fields select everything.
type Query struct {
	Statuses []Status
	Tool     string
	Task     string
	Kin      canonical.Hash
	Before   Key // the next of an earlier answer
	Limit    int // 0: 100
}

// Matches reports whether an operation is selected.
func (q Query) Matches(o *Operation) bool {
	if q.Tool != "" && o.Tool != q.Tool || q.Task != "" && o.Task != q.Task || q.Kin != "" && o.Kin != q.Kin {
		return false
	}
	for _, s := range q.Statuses {
		if o.Status == s {
			return true
		}
	}
	return len(q.Statuses) == 0
}

// Stats counts what a handle of a store did since it was opened.
type Stats struct {
	Commits int64 // durable write transactions
	Turns   int64 // times the file was opened
}

// Transcripts keeps the agent's tasks beside the operations; the stores satisfy it and agent declares its own interface of
// the same shape.
type Transcripts interface {
	// Append adds entry number n (from 0) of a task durably. taken: the task already has an entry n, so another process
	// goes on with it; nothing was written. An n beyond the next one is an error, as is a task without a name or with one
	// longer than MaxTask.
	Append(ctx context.Context, task string, n int, entry []byte) (taken bool, err error)
	// Entries returns all entries of a task in order; none for an unknown task.
	Entries(ctx context.Context, task string) ([][]byte, error)
	// Tasks lists the names of all tasks with the number of their entries, in the order of their names.
	Tasks(ctx context.Context) (names []string, entries []int, err error)
}
