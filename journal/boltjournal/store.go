package boltjournal

import (
	"bytes"
	"context"
	"encoding/binary"
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

const pageSize = 4096

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
	riding  int  // riders in the group that is being written
	leading bool // a goroutine serves the queue
	inTurn  bool // it holds the file, or waits for it
	ending  int  // callers of EndTurn that wait
	closed  bool
	group   int  // size of the last group
	seen    bool // the file was found whole; the leader's alone
	wake    chan struct{}
	calm    *sync.Cond // signalled when a turn ends and when the leader leaves
	stats   journal.Stats
}

var (
	_ journal.Journal     = (*Store)(nil)
	_ journal.Transcripts = (*Store)(nil)
)

// Open makes a handle on the journal at path, creating it if it is not there. The file is opened, checked and let go
// again; a file that is not as it was left is read whole. A damaged one of which something can be read is opened: each read then
// returns what it found together with ErrDamaged. Errors: ErrDamaged, ErrVersion, ErrPermissions, ErrBusy, and ErrRollback only at the first write.
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
	if path, err = followed(path); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s := &Store{path: path, opts: o, wake: make(chan struct{}, 1)}
	s.calm = sync.NewCond(&s.mu)
	if err := s.read(context.Background(), func(*txn) error { return nil }); err != nil && !errors.As(err, &hurt{}) {
		return nil, err
	}
	return s, nil
}

// followed is the file that a path leads to: turns and mark belong to the file, by whatever name it is opened.
func followed(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, filepath.Base(path))
	to, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if to, err := os.Readlink(path); err == nil { // to a file that is not there yet
			if !filepath.IsAbs(to) {
				to = filepath.Join(dir, to)
			}
			return to, nil
		}
		return path, nil
	}
	return to, err
}

// Path is the journal's file.
func (s *Store) Path() string { return s.path }

// condition is what a turn finds the file in. The zero value is good.
type condition struct {
	old     bool  // an older copy
	damaged error // what is wrong with it; what can be read is read, nothing is written
}

// hurt is damage that leaves something to read.
type hurt struct{ error }

func (h hurt) Unwrap() error { return h.error }

// openFile opens the bbolt file inside a turn and says in what condition it is. t.file is then the file that was opened.
func (s *Store) openFile(t *turn) (db *bolt.DB, c condition, err error) {
	mark := t.noted.running
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mark == 0:
		if err := create(s.path); err != nil {
			return nil, c, err
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil, c, fmt.Errorf("%w: %s is gone, although it held %d transactions", journal.ErrRollback, s.path, mark)
	case err != nil:
		return nil, c, fmt.Errorf("journal: %w", err)
	case info.Size() == 0 || !info.Mode().IsRegular():
		return nil, c, fmt.Errorf("%w: %s is empty or not a file", journal.ErrDamaged, s.path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, c, fmt.Errorf("%w: %s has mode %o; make it 600", journal.ErrPermissions, s.path, info.Mode().Perm())
	}
	if err := private(filepath.Dir(s.path)); err != nil {
		return nil, c, err
	}
	if err := checkHeads(s.path); err != nil {
		return nil, c, err
	}
	if info == nil || !t.untouched(info, s.seen) {
		if c.damaged, err = inspect(s.path); err != nil {
			return nil, c, err
		}
		t.noted.whole = time.Now().UnixNano() // noted once the turn vouches for the file
	}
	if db, err = openBolt(s.path, s.opts.Patience, c.damaged != nil); err != nil {
		return nil, c, err
	}
	if t.file, err = os.Stat(s.path); err != nil {
		db.Close()
		return nil, c, fmt.Errorf("journal: %w", err)
	}
	version, running, err := check(db)
	c.old = running < mark
	if err == nil && c == (condition{}) {
		if version < schemaVersion {
			err = update(db, func(tx *bolt.Tx) error { return migrate(tx, version) })
		}
		if err == nil {
			s.seen, err = true, t.leave(running)
		}
	}
	if err != nil {
		db.Close()
		return nil, c, err
	}
	return db, c, nil
}

// private refuses a folder in which any user may put another file into the journal's place.
func private(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("journal folder: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%w: every user may write in the folder %s", journal.ErrPermissions, folder)
	}
	return nil
}

// openBolt opens a file. A damaged one is only read: bbolt does not ask then which pages are free, where it may give up.
func openBolt(path string, patience time.Duration, damaged bool) (db *bolt.DB, err error) {
	var file *os.File
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, r)
			unlock(file) // a half-opened file would keep others out for as long as we live
			file.Close()
		}
	}()
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout: patience, PageSize: pageSize, FreelistType: bolt.FreelistMapType, ReadOnly: damaged,
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: a program that is not Notwice, such as a bbolt tool or a backup, holds %s", journal.ErrBusy, path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("journal: %w", err)
	}
	return nil, fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, err)
}

// checkHeads refuses a file of which one of bbolt's two heads was overwritten. bbolt would go on with the other, which may be
// the older; a crash cannot do that, since a head is one sector and its first bytes never change.
func checkHeads(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	want := binary.NativeEndian.AppendUint32(nil, 0xED0CDAED) // bbolt's mark, version and page size
	want = binary.NativeEndian.AppendUint32(want, 2)
	want = binary.NativeEndian.AppendUint32(want, pageSize)
	got := make([]byte, len(want))
	for page := range int64(2) {
		if _, err := f.ReadAt(got, page*pageSize+16); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%w: %s does not begin as a journal does", journal.ErrDamaged, path)
		}
	}
	return nil
}

// create makes an empty journal whole before it gets its name: a crash leaves none or a good one.
func create(path string) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	db, err := openBolt(temp, time.Second, false)
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
func check(db *bolt.DB) (version int, running uint64, err error) {
	defer recovered(&err)
	err = db.View(func(tx *bolt.Tx) error {
		if info, err := os.Stat(db.Path()); err != nil || info.Size() < tx.Size() {
			return fmt.Errorf("%w: %s is cut short", journal.ErrDamaged, db.Path())
		}
		version, running, err = readMeta(tx)
		return err
	})
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("%w: %s has version %d, this Notwice reads up to %d", journal.ErrVersion, db.Path(), version, schemaVersion)
	}
	return version, running, err
}

// EndTurn lets the file go at once, if this process has it and nothing is being written: before the process is stopped.
// Work that comes later takes a new turn.
func (s *Store) EndTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending++
	for s.inTurn {
		s.nudge()
		s.calm.Wait()
	}
	s.ending--
	s.calm.Broadcast()
}

// Close implements journal.Journal.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if !s.closed {
		s.closed = true // from here on nothing joins the queue or the riders
		err = s.lastCommit()
	}
	for s.leading {
		s.nudge()
		s.calm.Wait()
	}
	return err
}

// lastCommit writes what rides. It is called with the lock held and lets it go while it waits.
func (s *Store) lastCommit() error {
	if len(s.riders) == 0 {
		return nil
	}
	m := &member{write: true, run: func(*txn) error { return nil }, done: make(chan struct{})}
	s.enqueue(m)
	s.mu.Unlock()
	<-m.done
	s.mu.Lock()
	return m.err
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

// Drop ends the handle as a crash would: what rides is lost, nothing more is written.
func (s *Store) Drop() error {
	s.mu.Lock()
	s.riders = nil
	s.mu.Unlock()
	return s.Close()
}
