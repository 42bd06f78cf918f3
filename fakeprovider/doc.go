// Package fakeprovider plays the outside world: a small provider of payments, e-mails, applications and tickets with a ledger of
// its own, and a language model that reads its lines from a script.
//
// It promises that its ledger is the truth about effects. Requests received and effects made are counted apart, so a request that
// was sent twice and executed once looks different from one that was executed twice. The ledger lives in a folder (or in memory),
// one file per effect and per remembered key, each created whole and exclusively, so several processes may share one folder.
//
// The provider misbehaves only where a Fault tells it to, and then exactly so: it commits and falls silent, forgets keys, cuts
// answers, hides objects from a search. Faults never touch the ledger's bookkeeping.
//
// The Core is a plain state machine: Handle takes the time and a request and returns an answer, together with what to do to the
// connection. Server is its HTTP shell; a simulation may call the Core directly, through a transport of its own. Time is always an
// argument of the core; an effect that is to happen later (late_commit, slow) is written at once with the time at which it counts, so
// it happens also when the client, or this process, is gone by then.
//
// It refuses addresses and Host headers that are not loopback, unknown fault names and fields, and a ledger that it cannot read.
// It imports the standard library only and has never heard of the product that it tests.
package fakeprovider
