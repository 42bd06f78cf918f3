package scenarios

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"notwice/journal"
	"notwice/toolbox"
)

// Seams at which the product can be struck.
const (
	JournalClaim  = "journal.claim"
	JournalSettle = "journal.settle"
	JournalNote   = "journal.note"
	WireSend      = "wire.send"
	WireLookup    = "wire.lookup"
	ClockWait     = "clock.wait"
	ModelAsk      = "model.ask"
)

var seamNames = []string{JournalClaim, JournalSettle, JournalNote, WireSend, WireLookup, ClockWait, ModelAsk}

// Point is one side of one call of a seam.
type Point struct {
	Seam  string
	After bool
}

func (p Point) String() string {
	if p.After {
		return "after " + p.Seam
	}
	return "before " + p.Seam
}

// Striker is asked at every point; when it returns true the process dies there. In a scenario dying is made in the process:
// every seam of that life is dead from then on.
type Striker func(Point) bool

// life is one life of the product's process. Its seams work until it ends.
type life struct {
	ctx     context.Context
	end     context.CancelFunc
	mu      sync.Mutex
	strike  Striker
	observe Striker // asked beside it: of an exploration
	die     func()  // what dying is; nil: end
}

func newLife(strike Striker) *life {
	l := &life{strike: strike}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// point asks the striker. The goroutine that is struck, and every other one of a life that is over, goes no further.
func (l *life) point(p Point) {
	l.alive()
	l.mu.Lock()
	struck := false
	if l.ctx.Err() == nil {
		told := l.strike != nil && l.strike(p)
		found := l.observe != nil && l.observe(p)
		struck = told || found
	}
	if struck {
		if l.die != nil {
			l.die()
		}
		l.end()
	}
	l.mu.Unlock()
	if struck {
		runtime.Goexit()
	}
}

func (l *life) alive() {
	if l.ctx.Err() != nil {
		runtime.Goexit()
	}
}

// around makes one call of a seam with a point on either side.
func (l *life) around(seam string, call func()) {
	l.point(Point{seam, false})
	call()
	l.point(Point{seam, true})
}

// lifeClock is the clock of one life.
type lifeClock struct {
	toolbox.Clock
	virtual *Clock // nil: the clock below
	life    *life
	start   func(f func()) // for the clock below: starts a worker; nil: the clock does
}

func (c lifeClock) Now() journal.Moment {
	if c.virtual != nil {
		return c.virtual.Moment()
	}
	return c.Clock.Now()
}

func (c lifeClock) Wait(ctx context.Context, until time.Time, done <-chan struct{}) (err error) {
	c.life.around(ClockWait, func() {
		if c.virtual != nil {
			err = c.virtual.wait(ctx, c.life.ctx, until, done)
		} else {
			err = c.Clock.Wait(ctx, until, done)
		}
	})
	return err
}

func (c lifeClock) Deadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	if c.virtual != nil {
		return c.virtual.deadline(ctx, c.life.ctx, at)
	}
	return c.Clock.Deadline(ctx, at)
}

func (c lifeClock) Go(f func()) {
	switch {
	case c.virtual == nil && c.start == nil:
		c.Clock.Go(f)
	case c.life.ctx.Err() != nil:
	case c.virtual == nil:
		c.start(f)
	default:
		c.virtual.worker(f, nil)
	}
}

// lifeWire is the wire of one life.
type lifeWire struct {
	toolbox.Wire
	life *life
}

func (w lifeWire) Send(ctx context.Context, t toolbox.Tool, r toolbox.Request) (a toolbox.Answer) {
	w.life.around(WireSend, func() { a = w.Wire.Send(ctx, t, r) })
	return a
}

func (w lifeWire) Read(ctx context.Context, t toolbox.Tool, r toolbox.Request) (a toolbox.Answer) {
	w.life.around(WireLookup, func() { a = w.Wire.Read(ctx, t, r) })
	return a
}

func (w lifeWire) Lookup(ctx context.Context, t toolbox.Lookuper, r toolbox.Request, known *toolbox.Request) (s toolbox.Sighting) {
	w.life.around(WireLookup, func() { s = w.Wire.Lookup(ctx, t, r, known) })
	return s
}

// Store is a journal that keeps transcripts too, as every store does.
type Store interface {
	journal.Journal
	journal.Transcripts
}

// lifeJournal is the journal of one life. A write is first tried without being written, to know which seam it is; reads and
// decisions that write nothing are no points.
type lifeJournal struct {
	Store
	life *life
}

var errProbe = errors.New("only a probe")

func (j lifeJournal) DecideByIntent(ctx context.Context, at time.Time, w journal.Wish, decide journal.Decide) error {
	return j.decide(decide, func(d journal.Decide) error { return j.Store.DecideByIntent(ctx, at, w, d) })
}

func (j lifeJournal) DecideByKey(ctx context.Context, at time.Time, k journal.Key, decide journal.Decide) error {
	return j.decide(decide, func(d journal.Decide) error { return j.Store.DecideByKey(ctx, at, k, d) })
}

func (j lifeJournal) decide(decide journal.Decide, run func(journal.Decide) error) (err error) {
	j.life.alive()
	var change journal.Change
	var before *journal.Operation
	err = run(func(k journal.Known) (journal.Change, error) {
		if k.Operation != nil {
			copied := k.Operation.Clone()
			before = &copied
		}
		c, err := decide(k)
		if err != nil {
			return c, err
		}
		change = c
		return journal.Change{}, errProbe
	})
	if !errors.Is(err, errProbe) {
		return err
	}
	if change.Operation == nil {
		return run(decide)
	}
	j.life.around(seamOf(before, change.Operation), func() { err = run(decide) })
	return err
}

// seamOf names a write by what it does to the operation.
func seamOf(before, after *journal.Operation) string {
	switch {
	case after.Status == journal.InProgress && (before == nil || before.Status != journal.InProgress), before == nil:
		return JournalClaim
	case before.Status == journal.InProgress && after.Status != journal.InProgress:
		return JournalSettle
	}
	return JournalNote
}

func (j lifeJournal) Later(at time.Time, k journal.Key, decide journal.Decide) {
	j.life.alive()
	j.Store.Later(at, k, decide)
}

func (j lifeJournal) Flush(ctx context.Context) (err error) {
	j.life.around(JournalNote, func() { err = j.Store.Flush(ctx) })
	return err
}

func (j lifeJournal) Declare(ctx context.Context, at time.Time, tool, declared string, place func(journal.Operation) (journal.Place, error)) (err error) {
	j.life.around(JournalNote, func() { err = j.Store.Declare(ctx, at, tool, declared, place) })
	return err
}

func (j lifeJournal) Append(ctx context.Context, task string, n int, entry []byte) (taken bool, err error) {
	j.life.around(JournalNote, func() { taken, err = j.Store.Append(ctx, task, n, entry) })
	return taken, err
}

// parsePoint reads `before: SEAM` or `after: SEAM`.
func parsePoint(side, seam string) (Point, error) {
	for _, name := range seamNames {
		if name == seam {
			return Point{Seam: seam, After: side == "after"}, nil
		}
	}
	return Point{}, fmt.Errorf("%q is no seam; the seams are %v", seam, seamNames)
}
