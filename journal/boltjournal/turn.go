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
	path  string
	lock  *flock.Flock
	lines *os.File
	noted mark   // as it was at the turn's begin, then as this turn noted it
	boot  string // this run of the machine
	file  os.FileInfo
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
	lines, err := os.OpenFile(path+".lock", os.O_RDWR, 0o600)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("journal lock: %w", err)
	}
	t := &turn{path: path, lock: lock, lines: lines, boot: boot()}
	if t.noted, err = readMark(path + ".lock"); err == nil {
		err = t.setMark(t.noted) // the process that others will name when they wait too long
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
	holder := "another process"
	if m, _ := readMark(path + ".lock"); m.pid > 0 {
		holder = fmt.Sprintf("process %d", m.pid)
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
	t.lines.Close()
	t.lock.Close()
}

// The mark stands behind the first bytes, which the lock itself covers on some systems.
const markAt = 8

// mark is what a turn leaves beside the file.
type mark struct {
	running uint64 // the last acknowledged running number
	pid     int    // of the turn's process
	boot    string // the machine's run in which the file was left so, as 16 digits; zeros: not known
	size    int64  // of the file as it was left
	changed int64  // and when it was last changed, in nanoseconds
	whole   int64  // when it was last read whole and found sound, in nanoseconds
}

// wholeFor is how long a file that was read whole is trusted. Rot does not change the time of a file's last change, so the file is read
// whole now and then even where nobody else has touched it.
const wholeFor = 10 * time.Minute

const noBoot = "0000000000000000"

// boot names the machine's run: after another one, what was never synced may be lost. Where the system does not name it, it is noBoot.
func boot() string {
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return noBoot
	}
	return fmt.Sprintf("%x", hashKey(string(name))[:8])
}

// leave notes that the file is whole as it stands, with that running number. Older ones are never noted again, and a file that
// somebody put in its place is not ours to vouch for.
func (t *turn) leave(running uint64) error {
	m := t.noted
	m.running = max(m.running, running)
	if info, err := os.Stat(t.path); err == nil && os.SameFile(info, t.file) {
		m.boot, m.size, m.changed = t.boot, info.Size(), info.ModTime().UnixNano()
	}
	return t.setMark(m)
}

// untouched reports whether a file is as the last turn left it, in this run of the machine. Where the system does not name its
// runs, a program that has seen the file whole knows that it is still the same run. It is not for ever: what was read whole long ago
// may have rotted since.
func (t *turn) untouched(file os.FileInfo, seen bool) bool {
	m := t.noted
	same := m.boot == t.boot && (t.boot != noBoot || seen)
	age := time.Since(time.Unix(0, m.whole))
	return same && age >= 0 && age < wholeFor && m.size == file.Size() && m.changed == file.ModTime().UnixNano()
}

// setMark writes a mark. It needs no sync: one that is too old is harmless.
func (t *turn) setMark(m mark) error {
	t.noted = m
	if m.boot == "" {
		m.boot = noBoot
	}
	line := fmt.Appendf(nil, "notwice running=%020d pid=%010d boot=%s size=%020d changed=%020d whole=%020d\n", m.running, os.Getpid(), m.boot, m.size, m.changed, m.whole)
	if _, err := t.lines.WriteAt(line, markAt); err != nil {
		return fmt.Errorf("journal lock: %w", err)
	}
	return nil
}

// readMark reads the mark of a lock file; a new file has none, an older version's knows less.
func readMark(path string) (m mark, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, fmt.Errorf("journal lock: %w", err)
	case len(bytes.Trim(data, "\x00")) == 0: // new, or a loss of power took a mark that was never synced
		return m, nil
	case len(data) <= markAt:
		return m, fmt.Errorf("%w: %s: the mark cannot be read", journal.ErrDamaged, path)
	}
	line, _, _ := strings.Cut(string(data[markAt:]), "\n")
	n, err := fmt.Sscanf(line, "notwice running=%d pid=%d boot=%s size=%d changed=%d whole=%d", &m.running, &m.pid, &m.boot, &m.size, &m.changed, &m.whole)
	if n < 2 || n > 2 && err != nil {
		return m, fmt.Errorf("%w: %s: the mark cannot be read", journal.ErrDamaged, path)
	}
	return m, nil
}
