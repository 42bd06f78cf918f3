package journaltest

import (
	"fmt"

	"notwice/journal"
)

// history: appended in order, over restarts, apart for each operation.
func history(r *rig) {
	r.register(fresh(1, "817"))
	r.register(fresh(2, "818"))
	for i := range 5 {
		r.must(r.DecideByKey(ctx, at(i), keyOf(1), func(k journal.Known) (journal.Change, error) {
			return journal.Change{Operation: k.Operation, Events: []journal.Event{
				{At: at(i), What: "note", Note: fmt.Sprint(i, "a")}, {At: at(i), What: "note", Note: fmt.Sprint(i, "b")},
			}}, nil
		}))
		r.reopen()
	}
	events, err := r.History(ctx, keyOf(1))
	r.must(err)
	if len(events) != 11 {
		r.Fatalf("%d events, want 11", len(events))
	}
	for i, e := range events[1:] {
		if want := fmt.Sprint(i/2, string("ab"[i%2])); e.Note != want || !e.At.Equal(at(i/2)) {
			r.Errorf("event %d is %q at %v, want %q", i+1, e.Note, e.At, want)
		}
	}
	if events, err := r.History(ctx, keyOf(2)); err != nil || len(events) != 1 || events[0].What != "registered" {
		r.Errorf("the other's history: %v %v", events, err)
	}
}
