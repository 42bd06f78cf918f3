package boltjournal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"notwice/journal"
)

// gate holds the leader inside a transaction, so that everybody who comes meanwhile forms the next group.
func gate(t *testing.T, s *Store, waiting int, while func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		once := sync.OnceFunc(func() { close(inside); <-leave })
		if err := s.write(background, time.Time{}, func(*txn) error { once(); return nil }); err != nil {
			t.Error(err)
		}
	})
	<-inside
	done := make(chan struct{})
	go func() { while(); close(done) }()
	for { // until the callers stand in the queue
		s.mu.Lock()
		n := len(s.queue)
		s.mu.Unlock()
		if n >= waiting {
			break
		}
		runtime.Gosched()
	}
	close(leave)
	wg.Wait()
	<-done
}

// A member that fails after it has written rolls the group back; the others run again without it, in one commit.
func TestGroupSurvivesItsMembers(t *testing.T) {
	s := fresh(t)
	const good, bad = 20, 3
	failure := errors.New("failed after writing")
	before := s.Stats().Commits
	gate(t, s, good+bad+1, func() {
		var wg sync.WaitGroup
		for n := range good {
			wg.Go(func() {
				if err := registerIn(s, opOf("good", n)); err != nil {
					t.Errorf("a good member: %v", err)
				}
			})
		}
		for n := range bad {
			wg.Go(func() {
				err := s.write(background, time.Time{}, func(tx *txn) error {
					op := opOf("bad", n)
					if err := tx.apply(journal.Record{Operation: &op}); err != nil {
						t.Errorf("apply: %v", err)
					}
					return failure
				})
				if !errors.Is(err, failure) {
					t.Errorf("a bad member: %v", err)
				}
			})
		}
		wg.Go(func() { // refused before anything is written: no rollback needed
			op := opOf("illegal", 1)
			op.Status = journal.Succeeded
			if err := registerIn(s, op); !errors.Is(err, journal.ErrInvariant) {
				t.Errorf("an illegal member: %v", err)
			}
		})
		wg.Wait()
	})
	found, _, err := s.List(background, journal.Query{})
	if err != nil || len(found) != good {
		t.Errorf("%d operations, %v; want %d", len(found), err, good)
	}
	if got := s.Stats().Commits - before; got != 1 {
		t.Errorf("%d commits for one group", got)
	}
}

// A decide that panics ends its own transaction only.
func TestGroupSurvivesAPanic(t *testing.T) {
	s := fresh(t)
	gate(t, s, 2, func() {
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := registerIn(s, opOf("good", 1)); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			op := opOf("bad", 1)
			err := s.DecideByIntent(background, time.Time{}, journal.Wish{Kin: op.Kin}, func(journal.Known) (journal.Change, error) { panic("in decide") })
			if !errors.Is(err, journal.ErrInvariant) {
				t.Errorf("a panic in decide: %v", err)
			}
		})
		wg.Wait()
	})
}

// Flush waits for riders that somebody else's commit has already taken.
func TestFlushWaitsForRidersUnderWay(t *testing.T) {
	s := fresh(t)
	op := opOf("a", 1)
	if err := registerIn(s, op); err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(inside); <-leave })
	s.Later(time.Time{}, op.Key, func(k journal.Known) (journal.Change, error) {
		hold()
		k.Operation.CallerLost = true
		return journal.Change{Operation: k.Operation}, nil
	})
	first := make(chan error, 1)
	go func() { first <- s.Flush(background) }()
	<-inside
	second := make(chan error, 1)
	go func() { second <- s.Flush(background) }()
	for { // it must join the queue, not return
		s.mu.Lock()
		n := len(s.queue)
		s.mu.Unlock()
		if n > 0 {
			break
		}
		select {
		case err := <-second:
			t.Fatalf("Flush returned %v before the rider was written", err)
		default:
			runtime.Gosched()
		}
	}
	close(leave)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(background, op.Key); err != nil || !got.CallerLost {
		t.Errorf("%+v %v", got, err)
	}
}

// EndTurn lets the file go at once, also under load, and work goes on after it.
func TestEndTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openAt(t, path, Options{Idle: time.Hour})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := registerIn(s, opOf(fmt.Sprint("w", w), n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		s.EndTurn()
	}
	close(stop)
	wg.Wait()
	s.EndTurn() // with an idle hour, only this lets the file go
	held, err := beginTurn(path, time.Second)
	if err != nil {
		t.Fatalf("the turn was not let go: %v", err)
	}
	held.end()
	s.EndTurn()
}

// No goroutine of a store outlives it.
func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 5 {
		s := fresh(t)
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() { registerIn(s, opOf("a", n)) })
		}
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	limit := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(limit) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

// Case 147: no space is left. What was acknowledged stays, the error says so, and the journal works again once there is space.
func TestCase147DiskFull(t *testing.T) {
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted here: %s", strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() { exec.Command("umount", folder).Run() })
	path := filepath.Join(folder, "journal.db")
	s := openAt(t, path, Options{})
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 300<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	var full error
	n := 0
	for ; n < 5000 && full == nil; n++ {
		full = registerIn(s, opOf("a", n))
	}
	if !errors.Is(full, journal.ErrFull) {
		t.Fatalf("after %d operations: %v, want %v", n, full, journal.ErrFull)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := registerIn(s, opOf("a", n-1)); err != nil {
		t.Errorf("with space again: %v", err)
	}
	s.Close()
	if got := readAll(t, path); got != n {
		t.Errorf("%d operations, want %d", got, n)
	}
}
