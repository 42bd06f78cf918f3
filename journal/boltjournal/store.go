package boltjournal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"notwice/journal"
)

// Options of a store. The zero value is what a program wants.
type Options struct {
	Patience time.Duration // how long to wait for the turn; 0: 5 s
	Idle     time.Duration // how long to keep the file open without work; 0: 0.5 ms
}

// Store is a handle on a journal file. It holds the file only while it works.
type Store struct {
	path string
	opts Options

	mu      sync.Mutex
	queue   []*member
	riders  []*member
	leading bool
	closed  bool
	group   int // size of the last group
	wake    chan struct{}
	idle    *sync.Cond // signalled when the leader leaves
	stats   journal.Stats
}

var (
	_ journal.Journal     = (*Store)(nil)
	_ journal.Transcripts = (*Store)(nil)
)

// Open makes a handle on the journal at path, creating it if it is not there. The file is opened, checked and let go
// again. Errors: ErrDamaged, ErrVersion, ErrPermissions, ErrBusy, and ErrRollback only at the first write.
func Open(path string, o Options) (*Store, error) {
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	if o.Idle == 0 {
		o.Idle = 500 * time.Microsecond
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("journal folder: %w", err)
	}
	s := &Store{path: path, opts: o, wake: make(chan struct{}, 1)}
	s.idle = sync.NewCond(&s.mu)
	if err := s.read(context.Background(), func(*txn) error { return nil }); err != nil {
		return nil, err
	}
	return s, nil
}

// Path is the journal's file.
func (s *Store) Path() string { return s.path }

// openFile opens the bbolt file inside a turn and says whether it is an older copy.
func (s *Store) openFile(t *turn) (db *bolt.DB, old bool, err error) {
	mark, _, err := readMark(s.path + ".lock")
	if err != nil {
		return nil, false, err
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mark == 0:
		if err := create(s.path); err != nil {
			return nil, false, err
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, fmt.Errorf("%w: %s is gone, although it held %d transactions", journal.ErrRollback, s.path, mark)
	case err != nil:
		return nil, false, fmt.Errorf("journal: %w", err)
	case info.Size() == 0 || !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("%w: %s is empty or not a file", journal.ErrDamaged, s.path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, false, fmt.Errorf("%w: %s has mode %o; make it 600", journal.ErrPermissions, s.path, info.Mode().Perm())
	}
	if db, err = openBolt(s.path, s.opts.Patience); err != nil {
		return nil, false, err
	}
	running, err := check(db)
	if err != nil {
		db.Close()
		return nil, false, err
	}
	return db, running < mark, nil
}

func openBolt(path string, patience time.Duration) (db *bolt.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, r)
		}
	}()
	db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: patience, PageSize: 4096, FreelistType: bolt.FreelistMapType})
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: a program that is not this Notwice holds %s", journal.ErrBusy, path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("journal: %w", err)
	}
	return nil, fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, err)
}

// create makes an empty journal whole before it gets its name: a crash leaves none or a good one.
func create(path string) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	db, err := openBolt(temp, time.Second)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error { return migrate(tx, 0) })
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fmt.Errorf("create journal: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil { // the name is durable once the folder is
		dir.Sync()
		dir.Close()
	}
	return nil
}

// check reads what every turn must know: the file is as long as it says, its version, its running number.
func check(db *bolt.DB) (running uint64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", journal.ErrDamaged, db.Path(), r)
		}
	}()
	version := 0
	err = db.View(func(tx *bolt.Tx) error {
		if info, err := os.Stat(db.Path()); err != nil || info.Size() < tx.Size() {
			return fmt.Errorf("%w: %s is cut short", journal.ErrDamaged, db.Path())
		}
		version, running, err = readMeta(tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	switch {
	case version > schemaVersion:
		return 0, fmt.Errorf("%w: %s has version %d, this Notwice reads up to %d", journal.ErrVersion, db.Path(), version, schemaVersion)
	case version < schemaVersion:
		return running, db.Update(func(tx *bolt.Tx) error { return migrate(tx, version) })
	}
	return running, nil
}

// EndTurn lets the file go at once, if this process has it and nothing is being written: before the process is stopped.
// Work that comes later takes a new turn.
func (s *Store) EndTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.leading {
		s.nudge()
		s.idle.Wait()
	}
}

// Close implements journal.Journal.
func (s *Store) Close() error {
	err := s.Flush(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.leading {
		s.nudge()
		s.idle.Wait()
	}
	if errors.Is(err, journal.ErrClosed) {
		return nil
	}
	return err
}

func (s *Store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Stats implements journal.Journal.
func (s *Store) Stats() journal.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}
