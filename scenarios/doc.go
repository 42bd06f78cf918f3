// Package scenarios runs stories: a file says what a provider does wrong, what is called, where the product crashes, and
// what must be seen afterwards; effects are counted in the provider's own ledger. Time is virtual, the provider is a real
// HTTP server on loopback, the journal a real file.
//
// It owns the file format, the runner, the checkers of the invariants, and the wrappers of the four seams (journal, wire,
// clock, model) by which crash points are generated. Kill switches live here and nowhere else. It may import every room but
// command; the checkers use the ledger, public reads of the journal, and the answers, nothing of policy.
package scenarios
