// Package journal holds the facts that must survive a crash: what an operation is, what may become of it, and the contract
// of the stores that keep it.
//
// It promises that a record is written only by a legal move (Check), that what a store acknowledged is there after any
// crash, and that a record which cannot be read is an error, never "absent". It refuses to know network, clock or
// randomness: time and keys are arguments. It imports only canonical.
//
//	             ┌──────────────── not executed, or definitely absent ────────────┐
//	             ▼                                                                │
//	(wish) ─► pending ──claim──► in_progress ──indefinite, lease over──► unknown ─┤
//	             │                    │                                     │     └─claim again, same key (class A)─► in_progress
//	             │                    ├──applied────────► succeeded ◄───────┤
//	             └──person, late──────┴──rejected───────► failed_final ◄────┘
//
// The one move between final states: proof takes the place of a person's ruling, and the operation is flagged.
package journal
