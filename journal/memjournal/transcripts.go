package memjournal

import (
	"context"
	"fmt"
	"slices"

	"notwice/journal"
)

// Append implements journal.Transcripts.
func (s *Store) Append(ctx context.Context, task string, n int, entry []byte) (taken bool, err error) {
	if task == "" || len(task) > journal.MaxTask {
		return false, fmt.Errorf("%w: a task's name of %d bytes", journal.ErrInvariant, len(task))
	}
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	switch have := len(s.entries[task]); {
	case n < have:
		return true, nil
	case n > have:
		return false, fmt.Errorf("%w: task %q has %d entries, entry %d cannot be added", journal.ErrInvariant, task, have, n)
	}
	s.entries[task] = append(s.entries[task], slices.Clone(entry))
	s.stats.Commits++
	return false, nil
}

// Entries implements journal.Transcripts.
func (s *Store) Entries(ctx context.Context, task string) ([][]byte, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var out [][]byte
	for _, e := range s.entries[task] {
		out = append(out, slices.Clone(e))
	}
	return out, nil
}

// Tasks implements journal.Transcripts.
func (s *Store) Tasks(ctx context.Context) (names []string, entries []int, err error) {
	if err := s.lock(ctx); err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	for name := range s.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		entries = append(entries, len(s.entries[name]))
	}
	return names, entries, nil
}
