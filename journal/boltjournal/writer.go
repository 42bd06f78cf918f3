package boltjournal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// member is one caller's transaction in a group.
type member struct {
	write bool
	rider bool // nobody waits for it
	at    time.Time
	run   func(*txn) error
	taken bool
	done  chan struct{}
	err   error
}

var errNothing = errors.New("nothing was written")

func (s *Store) read(ctx context.Context, run func(*txn) error) error {
	return s.submit(ctx, &member{run: run, done: make(chan struct{})})
}

func (s *Store) write(ctx context.Context, at time.Time, run func(*txn) error) error {
	return s.submit(ctx, &member{write: true, at: at, run: run, done: make(chan struct{})})
}

// submit queues a member and waits for it. The first one starts a leader, who serves the queue until it is empty.
func (s *Store) submit(ctx context.Context, m *member) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return journal.ErrClosed
	}
	s.enqueue(m)
	s.mu.Unlock()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	if !m.taken {
		s.queue = slices.DeleteFunc(s.queue, func(q *member) bool { return q == m })
		s.mu.Unlock()
		return ctx.Err()
	}
	s.mu.Unlock()
	<-m.done // a transaction that has begun is not interrupted
	return m.err
}

// enqueue is called with the lock held.
func (s *Store) enqueue(m *member) {
	s.queue = append(s.queue, m)
	if s.leading {
		s.nudge()
		return
	}
	s.leading = true
	go s.lead()
}

// lead takes turns until there is no work.
func (s *Store) lead() {
	debug.SetPanicOnFault(true) // a page that is not there is damage, not a crash
	for {
		if err := s.oneTurn(); err != nil {
			s.fail(err)
		}
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.leading = false
			s.calm.Broadcast()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// fail ends everybody who waits with an error of the turn.
func (s *Store) fail(err error) {
	s.mu.Lock()
	failed := s.queue
	s.queue = nil
	s.mu.Unlock()
	for _, m := range failed {
		m.err = err
		close(m.done)
	}
}

func (s *Store) oneTurn() error {
	s.mu.Lock()
	s.inTurn = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inTurn = false
		s.calm.Broadcast()
		for s.ending > 0 { // whoever wants the file let go is told before it is taken again
			s.calm.Wait()
		}
		s.mu.Unlock()
	}()
	t, err := beginTurn(s.path, s.opts.Patience)
	if err != nil {
		return err
	}
	defer t.end()
	db, found, err := s.openFile(t)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.stats.Turns++
	s.mu.Unlock()
	for {
		group := s.gather()
		if group == nil {
			return closeFile(db)
		}
		if t.moved() { // the next turn says what is there
			s.putBack(group)
			return closeFile(db)
		}
		good := s.serve(db, t, found, group)
		if !good || t.wanted() {
			return closeFile(db)
		}
	}
}

func closeFile(db *bolt.DB) error {
	if err := db.Close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// gather takes the group: who waits now, and who is about to, such as those whose commit has just ended. It returns nil after a while of idleness.
func (s *Store) gather() []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending > 0 {
		return nil
	}
	if len(s.queue) == 0 && !s.closed {
		select {
		case <-s.wake: // a token from before: what it spoke of has been served
		default:
		}
		s.mu.Unlock()
		timer := time.NewTimer(s.opts.Idle)
		select {
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
		s.mu.Lock()
	}
	want := len(s.queue) + s.group // who was served just now comes back
	for still := 0; len(s.queue) > 0 && len(s.queue) < want && still < 32; {
		before := len(s.queue)
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
		if len(s.queue) == before {
			still++
		} else {
			still = 0
		}
	}
	group := s.queue
	s.queue = nil
	for _, m := range group {
		m.taken = true
	}
	if len(group) == 0 {
		return nil
	}
	s.group = len(group)
	if slices.ContainsFunc(group, func(m *member) bool { return m.write }) {
		group = slices.Concat(s.riders, group) // first, so that who decides in this commit sees what rides on it
		s.riding, s.riders = len(s.riders), nil
	}
	return group
}

// putBack returns a group, of which nothing has run, to the queue.
func (s *Store) putBack(group []*member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.riding = 0
	for i := len(group) - 1; i >= 0; i-- {
		m := group[i]
		m.taken = false
		if m.rider {
			s.riders = slices.Insert(s.riders, 0, m)
		} else {
			s.queue = slices.Insert(s.queue, 0, m)
		}
	}
}

// serve runs a group: its writes in one commit, its reads after it. good is false when the file must be opened anew.
func (s *Store) serve(db *bolt.DB, t *turn, found condition, group []*member) (good bool) {
	var writes []*member
	for _, m := range group {
		if m.write {
			writes = append(writes, m)
		}
	}
	good = true
	switch {
	case len(writes) > 0 && found.damaged != nil:
		for _, m := range writes {
			m.err = found.damaged
		}
	case len(writes) > 0 && found.old:
		for _, m := range writes {
			m.err = fmt.Errorf("%w: %s", journal.ErrRollback, s.path)
		}
	case len(writes) > 0:
		good = s.commit(db, t, writes)
	}
	for _, m := range group {
		if !m.write {
			m.err = view(db, found.damaged != nil, m.run)
			m.err = found.qualify(m.err)
		}
	}
	s.mu.Lock()
	s.riding = 0
	s.mu.Unlock()
	for _, m := range group {
		if !m.rider {
			close(m.done)
		}
	}
	return good
}

// qualify says of a read in what condition the file was: neither an older copy nor a damaged file can say that something never was.
func (c condition) qualify(err error) error {
	switch absent := errors.Is(err, journal.ErrNotFound); {
	case c.damaged != nil && (err == nil || absent):
		return hurt{c.damaged}
	case c.old && absent:
		return fmt.Errorf("%w: %w", journal.ErrRollback, err)
	}
	return err
}

// view runs a read. A file that cannot be followed is damage, also where the store itself gives up on it.
func view(db *bolt.DB, rotten bool, run func(*txn) error) (err error) {
	defer recovered(&err)
	return db.View(func(tx *bolt.Tx) error { return run(&txn{tx: tx, rotten: rotten}) })
}

// update runs a write transaction; the same holds.
func update(db *bolt.DB, run func(*bolt.Tx) error) (err error) {
	defer recovered(&err)
	return db.Update(run)
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", journal.ErrDamaged, r)
	}
}

// commit writes a group in one transaction. A member that fails after it has written rolls the group back, and the others
// run again without it.
func (s *Store) commit(db *bolt.DB, t *turn, writes []*member) (good bool) {
	for {
		var culprit *member
		var running uint64
		err := update(db, func(tx *bolt.Tx) error {
			w := &txn{tx: tx}
			if err := w.begin(); err != nil {
				return err
			}
			running = w.running
			for _, m := range writes {
				mine := *w
				mine.wrote = false
				m.err = safely(m.run, &mine)
				if m.err != nil && mine.wrote {
					culprit = m
					return m.err
				}
				if mine.wrote {
					w.wrote = true
					w.saw(m.at)
				}
			}
			if !w.wrote {
				return errNothing
			}
			return w.end()
		})
		switch {
		case culprit != nil:
			writes = slices.DeleteFunc(writes, func(m *member) bool { return m == culprit })
			if len(writes) > 0 {
				continue
			}
			return true
		case err == nil:
			s.mu.Lock()
			s.stats.Commits++
			s.mu.Unlock()
			if err := t.leave(running); err != nil {
				return false // the next turn writes it
			}
			return true
		case errors.Is(err, errNothing):
			return true
		}
		for _, m := range writes {
			m.err = commitError(err)
		}
		return false
	}
}

func commitError(err error) error {
	if errors.Is(err, journal.ErrDamaged) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) { // bbolt wraps by text where it grows the file
		return fmt.Errorf("%w: %w: %v", journal.ErrCommit, journal.ErrFull, err)
	}
	return fmt.Errorf("%w: %v", journal.ErrCommit, err)
}

// safely runs a member; a page that cannot be read ends that member only.
func safely(run func(*txn) error, t *txn) (err error) {
	defer recovered(&err)
	return run(t)
}

// Later implements journal.Journal.
func (s *Store) Later(at time.Time, k journal.Key, decide journal.Decide) {
	m := &member{write: true, rider: true, at: at, run: func(t *txn) error {
		err := t.byKey(k, decide)
		if errors.Is(err, journal.ErrNotFound) {
			return nil
		}
		return err
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.riders = append(s.riders, m)
	}
}

// Flush implements journal.Journal.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	none := len(s.riders) == 0 && s.riding == 0 // those under way are waited for behind their commit
	s.mu.Unlock()
	if none {
		return nil
	}
	return s.write(ctx, time.Time{}, func(*txn) error { return nil })
}
