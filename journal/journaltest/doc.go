// Package journaltest is the suite that every store of a journal passes. It speaks to a store through the contract of
// journal.Journal and journal.Transcripts alone; tests of the stores import it, and nothing else does. One file per concern.
package journaltest
