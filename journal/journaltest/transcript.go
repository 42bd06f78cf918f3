package journaltest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"notwice/journal"
)

func transcript(r *rig) {
	add := func(task string, n int, entry string, want bool) {
		r.Helper()
		taken, err := r.Append(ctx, task, n, []byte(entry))
		r.must(err)
		if taken != want {
			r.Errorf("%s %d: taken %v, want %v", task, n, taken, want)
		}
	}
	add("b", 0, "b0", false)
	add("a", 0, "a0", false)
	add("a", 1, "", false)
	add("a", 0, "other", true)
	add("a", 2, strings.Repeat("x", 100_000), false)
	r.reopen()
	add("a", 1, "other", true)
	for _, bad := range []struct {
		task string
		n    int
	}{{"a", 4}, {"new", 1}, {"", 0}, {strings.Repeat("t", 40_000), 0}} {
		if _, err := r.Append(ctx, bad.task, bad.n, []byte("x")); !errors.Is(err, journal.ErrInvariant) {
			r.Errorf("entry %d of a task with a name of %d bytes: %v", bad.n, len(bad.task), err)
		}
	}
	entries, err := r.Entries(ctx, "a")
	r.must(err)
	if len(entries) != 3 || string(entries[0]) != "a0" || len(entries[1]) != 0 || len(entries[2]) != 100_000 {
		r.Errorf("%d entries", len(entries))
	}
	entries[0][0] = '!'
	if again, err := r.Entries(ctx, "a"); err != nil || !bytes.Equal(again[0], []byte("a0")) {
		r.Errorf("an entry changed under us: %q %v", again[0], err)
	}
	if none, err := r.Entries(ctx, "nobody"); err != nil || len(none) != 0 {
		r.Errorf("an unknown task has %d entries, %v", len(none), err)
	}
	names, counts, err := r.Tasks(ctx)
	r.must(err)
	if !slices.Equal(names, []string{"a", "b"}) || !slices.Equal(counts, []int{3, 1}) {
		r.Errorf("tasks %v %v", names, counts)
	}
}

// transcriptRace: of many that add the same entry, one does; the others learn that it is taken.
func transcriptRace(r *rig) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	mine := map[int]int{}
	for w := range 8 {
		wg.Go(func() {
			for n := range 5 {
				taken, err := r.Append(ctx, "t", n, fmt.Append(nil, w))
				if err != nil {
					r.Errorf("entry %d: %v", n, err)
					return
				}
				if !taken {
					mu.Lock()
					mine[n]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for n := range 5 {
		if mine[n] != 1 {
			r.Errorf("entry %d was added %d times", n, mine[n])
		}
	}
}
