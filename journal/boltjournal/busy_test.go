package boltjournal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

const short = 150 * time.Millisecond

// bounded runs something that waits for a journal that it will not get.
func bounded(t *testing.T, what string, do func() error) error {
	t.Helper()
	start := time.Now()
	err := do()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("%s took %v", what, took)
	}
	if !errors.Is(err, journal.ErrBusy) {
		t.Errorf("%s: %v, want %v", what, err, journal.ErrBusy)
	}
	return err
}

// A foreign program holds the file's own lock: a clear refusal in bounded time, for readers too, and nothing hangs.
func TestCase142ForeignLock(t *testing.T) {
	path, ops := made(t, 2)
	s := openAt(t, path, Options{Patience: short})
	foreign, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"open":  func() error { _, err := Open(path, Options{Patience: short}); return err },
		"write": func() error { return settleIn(s, ops[1].Key) },
		"read":  func() error { _, err := s.Get(background, ops[1].Key); return err },
	} {
		if err := bounded(t, what, do); err != nil && !strings.Contains(err.Error(), "not Notwice") {
			t.Errorf("%s does not say who may hold it: %v", what, err)
		}
	}
	foreign.Close()
	if err := settleIn(s, ops[1].Key); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}

// Another Notwice has the turn and does not let it go.
func TestCase142TurnHeld(t *testing.T) {
	path, ops := made(t, 2)
	s := openAt(t, path, Options{Patience: short})
	held, err := beginTurn(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	err = bounded(t, "write", func() error { return settleIn(s, ops[1].Key) })
	if want := fmt.Sprintf("process %d", os.Getpid()); err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("the error does not name %s: %v", want, err)
	}
	bounded(t, "read", func() error { _, err := s.Get(background, ops[1].Key); return err })
	bounded(t, "open", func() error { _, err := Open(path, Options{Patience: short}); return err })
	s.Later(time.Time{}, ops[1].Key, func(k journal.Known) (journal.Change, error) { return journal.Change{}, nil })
	bounded(t, "flush", func() error { return s.Flush(background) })
	held.end()
	if err := settleIn(openAt(t, path, Options{}), ops[1].Key); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}

// A caller's context ends its waiting for the turn, long before the store's patience.
func TestCancelWhileWaiting(t *testing.T) {
	path, ops := made(t, 2)
	s := openAt(t, path, Options{Patience: 10 * time.Second})
	held, err := beginTurn(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(background, 20*time.Millisecond)
	defer stop()
	err = s.DecideByKey(ctx, time.Time{}, ops[1].Key, func(k journal.Known) (journal.Change, error) {
		t.Error("decide was asked after the caller left")
		return journal.Change{}, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	held.end()
	if err := settleIn(s, ops[1].Key); err != nil {
		t.Error(err)
	}
}

// A listing beside a server that works without pause gets its turn.
func TestCase144ReadersGetTheirTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	server, other := openAt(t, path, Options{}), openAt(t, path, Options{Patience: 2 * time.Second})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := registerIn(server, opOf("server", n)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 30 {
		if _, _, err := other.List(background, journal.Query{Limit: 10}); err != nil {
			t.Errorf("a listing: %v", err)
			break
		}
	}
	close(stop)
	<-stopped
}
