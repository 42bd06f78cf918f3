// Package boltjournal keeps the journal in one bbolt file that several processes share.
//
// It promises the contract of journal.Journal on a single machine: what it acknowledges is on the disk, what it cannot read
// is an error. bbolt locks its file for as long as it is open and lets waiters starve, so processes take turns by two lock
// files: take the turnstile, take the lock, let the turnstile go; open; commit; close as soon as another process waits at
// the turnstile, or after half a millisecond of idleness. Within a process, callers that wait while a commit is in flight
// share the next one.
//
// Beside NAME.db: NAME.db.turnstile and NAME.db.lock. The lock file also holds the last acknowledged running number: a
// NAME.db with a lower one is an older copy, and is not written. And it says how the last turn left NAME.db, and in which run of
// the machine: a file that is not so is read whole before it is used, and held against the sum of all entries that each commit
// keeps. A damaged file is read as far as it can be, and not written.
//
// It refuses network file systems' guesses: one journal belongs to one machine. It imports journal and canonical and is the
// one door to go.etcd.io/bbolt and github.com/gofrs/flock.
package boltjournal
