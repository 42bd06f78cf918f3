package agent_test

import (
	"context"
	"sync"
	"time"

	"notwice/journal"
	"notwice/journal/memjournal"
	"notwice/toolbox"
)

// life is one life of the process: its seams work until it dies. A dead process records nothing and sends nothing.
type life struct {
	mu     sync.Mutex
	dieAt  string // name of the point, such as "before claim"; or
	nth    int    // its number from 1
	passed []string
	dead   bool
}

// dies passes one point.
func (l *life) dies(point string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return true
	}
	l.passed = append(l.passed, point)
	l.dead = point == l.dieAt || len(l.passed) == l.nth
	return l.dead
}

func (l *life) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

// around does something between two points.
func (l *life) around(what string, do func() error) error {
	if l.dies("before " + what) {
		return journal.ErrClosed
	}
	err := do()
	if l.dies("after " + what) {
		return journal.ErrClosed
	}
	return err
}

// store is the journal as one life sees it.
type store struct {
	*memjournal.Store
	life *life
}

func (s store) DecideByIntent(ctx context.Context, at time.Time, w journal.Wish, decide journal.Decide) error {
	return s.life.around("claim", func() error { return s.Store.DecideByIntent(ctx, at, w, decide) })
}

func (s store) DecideByKey(ctx context.Context, at time.Time, key journal.Key, decide journal.Decide) error {
	return s.life.around("settle", func() error { return s.Store.DecideByKey(ctx, at, key, decide) })
}

func (s store) Later(at time.Time, key journal.Key, decide journal.Decide) {
	if !s.life.over() {
		s.Store.Later(at, key, decide)
	}
}

func (s store) Flush(ctx context.Context) error {
	if s.life.over() {
		return journal.ErrClosed
	}
	return s.Store.Flush(ctx)
}

func (s store) Append(ctx context.Context, task string, n int, entry []byte) (taken bool, err error) {
	err = s.life.around("entry", func() error {
		taken, err = s.Store.Append(ctx, task, n, entry)
		return err
	})
	return taken, err
}

// wire is what leaves one life.
type wire struct {
	toolbox.Wire
	life *life
}

func (w wire) Send(ctx context.Context, t toolbox.Tool, r toolbox.Request) toolbox.Answer {
	out := toolbox.Answer{Outcome: journal.NotSent, Reason: "dead"}
	w.life.around("send", func() error {
		out = w.Wire.Send(ctx, t, r)
		return nil
	})
	return out
}
