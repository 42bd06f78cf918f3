package journal

import "errors"

// Returned by DecideByKey, Get and History.
var ErrNotFound = errors.New("no such operation")

// Returned by every call that needs the file.
var (
	// ErrBusy: another process keeps the journal for longer than the store waits. Nothing was written.
	ErrBusy = errors.New("the journal is in use")
	// ErrDamaged: the file or a record cannot be read, or its checksum is wrong. It is never taken for "absent".
	ErrDamaged = errors.New("the journal is damaged")
	// ErrVersion: the file was written by a newer Notwice.
	ErrVersion = errors.New("the journal was written by a newer version")
	// ErrPermissions: the file, or its folder, is open to other users.
	ErrPermissions = errors.New("the journal is not private to its owner")
	// ErrClosed: the handle was closed.
	ErrClosed = errors.New("the journal is closed")
)

// Returned by DecideByIntent.
var ErrDeclared = errors.New("the tool's operations are indexed under another declaration")

// Returned by DecideByIntent, DecideByKey, Declare, Flush and Append.
var (
	// ErrRollback: the file is older than what has been acknowledged. Reads work, writes do not.
	ErrRollback = errors.New("the journal is an older copy of itself")
	// ErrCommit: the commit failed and may or may not be in the file.
	ErrCommit = errors.New("the journal could not be written")
	// ErrFull: there is no space; nothing was written.
	ErrFull = errors.New("no space is left for the journal")
	// ErrInvariant: the change breaks a rule that Notwice holds itself to. Nothing was written. It is a fault of Notwice.
	ErrInvariant = errors.New("broken invariant")
	// ErrExternalIDTaken: another operation of the account bears that external id. Nothing was written.
	ErrExternalIDTaken = errors.New("the external id belongs to another operation")
)
