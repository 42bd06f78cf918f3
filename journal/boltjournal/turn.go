package boltjournal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"notwice/journal"
)

// turn is the right to use the file. Others wait for it at the turnstile.
type turn struct {
	path    string
	lock    *flock.Flock
	mark    *os.File
	running uint64 // the last acknowledged running number, as noted at the turn's begin
	file    os.FileInfo
}

// beginTurn waits for the turn, at most patience.
func beginTurn(path string, patience time.Duration) (*turn, error) {
	limit := time.Now().Add(patience)
	turnstile, err := take(path+".turnstile", limit)
	if err != nil {
		return nil, busy(path, err)
	}
	defer turnstile.Close()
	lock, err := take(path+".lock", limit)
	if err != nil {
		return nil, busy(path, err)
	}
	mark, err := os.OpenFile(path+".lock", os.O_RDWR, 0o600)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("journal lock: %w", err)
	}
	t := &turn{path: path, lock: lock, mark: mark}
	if t.running, _, err = readMark(path + ".lock"); err == nil {
		err = t.setMark(t.running) // the process that others will name when they wait too long
	}
	if err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// take locks a file. A lock that blocks does so on a goroutine of its own: it cannot be cancelled, but left.
func take(path string, limit time.Time) (*flock.Flock, error) {
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if ok, err := l.TryLock(); ok || err != nil {
		return l, err
	}
	got := make(chan error, 1)
	go func() { got <- l.Lock() }()
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	select {
	case err := <-got:
		return l, err
	case <-timer.C:
		go func() { // let it go whenever it comes
			<-got
			l.Close()
		}()
		return nil, context.DeadlineExceeded
	}
}

func busy(path string, err error) error {
	if err != context.DeadlineExceeded {
		return fmt.Errorf("journal lock: %w", err)
	}
	_, holder, _ := readMark(path + ".lock")
	if holder == "" {
		holder = "another process"
	}
	return fmt.Errorf("%w: %s holds %s, or did last", journal.ErrBusy, holder, path)
}

// wanted reports whether another process waits at the turnstile.
func (t *turn) wanted() bool {
	l := flock.New(t.path+".turnstile", flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	defer l.Close()
	ok, err := l.TryLock()
	return err == nil && !ok
}

// moved reports whether the file that was opened is no longer the one at the journal's path: somebody deleted it or put
// another in its place, and what is written now would be lost.
func (t *turn) moved() bool {
	info, err := os.Stat(t.path)
	return err != nil || !os.SameFile(info, t.file)
}

func (t *turn) end() {
	t.mark.Close()
	t.lock.Close()
}

// The mark stands behind the first bytes, which the lock itself covers on some systems.
const markAt = 8

// setMark notes the last acknowledged running number and who holds the lock. It needs no sync: a mark that is too old is
// harmless.
func (t *turn) setMark(running uint64) error {
	if _, err := t.mark.WriteAt(fmt.Appendf(nil, "notwice running=%020d pid=%010d\n", running, os.Getpid()), markAt); err != nil {
		return fmt.Errorf("journal lock: %w", err)
	}
	return nil
}

// readMark reads the mark of a lock file; a new file has none.
func readMark(path string) (running uint64, holder string, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, "", nil
	case err != nil:
		return 0, "", fmt.Errorf("journal lock: %w", err)
	case len(bytes.Trim(data, "\x00")) == 0: // new, or a loss of power took a mark that was never synced
		return 0, "", nil
	case len(data) <= markAt:
		return 0, "", fmt.Errorf("%w: %s: the mark cannot be read", journal.ErrDamaged, path)
	}
	var pid int
	line, _, _ := strings.Cut(string(data[markAt:]), "\n")
	if _, err := fmt.Sscanf(line, "notwice running=%d pid=%d", &running, &pid); err != nil {
		return 0, "", fmt.Errorf("%w: %s: the mark cannot be read", journal.ErrDamaged, path)
	}
	return running, fmt.Sprintf("process %d", pid), nil
}
