// Package policy answers "what now?" from facts alone: it turns what one transaction read, an event, the tool's policy and
// the time into the change to be written and the next step. It is the only place that decides.
//
// Every function is pure: no clock, no I/O, no randomness. It refuses to guess: an answer that is not definite is unknown,
// and what only a person can know is marked for a person. It imports journal and canonical.
//
// The events: a call (OnCall), the end of an attempt (OnOutcome), the answer of a look-up (OnLook), time (OnTime) and a
// person who stops an unsent operation (OnStop).
package policy
