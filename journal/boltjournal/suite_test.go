package boltjournal

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
	"notwice/journal/journaltest"
)

func TestSuite(t *testing.T) {
	journaltest.Run(t, journaltest.Subject{
		Open: func(t *testing.T) journaltest.Store { return fresh(t) },
		Reopen: func(t *testing.T, s journaltest.Store) journaltest.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, s.(*Store).Path(), Options{})
		},
	})
}

// fresh opens an empty journal and checks what is left of it at the end of the test.
func fresh(t testing.TB) *Store {
	path := filepath.Join(t.TempDir(), "journal.db")
	t.Cleanup(func() { checkFile(t, path) })
	return openAt(t, path, Options{})
}

func openAt(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// checkFile opens a journal once more: bbolt finds no fault in the file, and every record can be read.
func checkFile(t testing.TB, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		t.Errorf("check: %v", err)
		return
	}
	err = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("check: %v", err)
		}
		return nil
	})
	db.Close()
	if err != nil {
		t.Errorf("check: %v", err)
	}
	readAll(t, path)
	for _, name := range []string{path, path + ".lock", path + ".turnstile"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("check: %s: %v, mode %v", name, err, info.Mode())
		}
	}
}

// readAll reads every operation by every way, and returns how many there are.
func readAll(t testing.TB, path string) int {
	t.Helper()
	ctx := context.Background()
	s, err := Open(path, Options{})
	if err != nil {
		t.Errorf("check: %v", err)
		return 0
	}
	defer s.Close()
	found, _, err := s.List(ctx, journal.Query{Limit: 1 << 20})
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, op := range found {
		if _, err := s.History(ctx, op.Key); err != nil {
			t.Errorf("check: %v", err)
		}
		w := journal.Wish{Kin: op.Kin, Scope: op.Scope, Task: op.Task, Position: op.Position}
		if err := s.DecideByIntent(ctx, time.Time{}, w, func(journal.Known) (journal.Change, error) { return journal.Change{}, nil }); err != nil {
			t.Errorf("check: %v", err)
		}
	}
	names, _, err := s.Tasks(ctx)
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, name := range names {
		if _, err := s.Entries(ctx, name); err != nil {
			t.Errorf("check: %v", err)
		}
	}
	return len(found)
}
