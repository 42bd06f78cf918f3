package memjournal_test

import (
	"context"
	"testing"

	"notwice/journal"
	"notwice/journal/journaltest"
	"notwice/journal/memjournal"
)

func TestSuite(t *testing.T) {
	journaltest.Run(t, journaltest.Subject{Open: func(t *testing.T) journaltest.Store {
		s := memjournal.New()
		t.Cleanup(func() { check(t, s) })
		return s
	}})
}

// check reads every record again: each must be one that may stand.
func check(t *testing.T, s *memjournal.Store) {
	found, _, err := s.List(context.Background(), journal.Query{Limit: 1 << 20})
	if err != nil && err != journal.ErrClosed {
		t.Error(err)
	}
	for i := range found {
		if err := journal.Check(nil, &found[i]); err != nil {
			t.Error(err)
		}
	}
}
