package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"notwice/journal"
	"notwice/toolbox"
)

// process is one life of one process of the product in a simulation. What it does passes the same four seams as everywhere; at
// each its turn may end, and it may die.
type process struct {
	w       *simWorld
	n, life int
	tools   *toolbox.Toolbox
	stalled time.Duration // it stands still until then, as after SIGSTOP
	dead    bool
	later   []rider // what it will note with its next commit; lost with it
	writes  int
	due     int // how many of its workers do due work: a death then is one inside recovery
}

type rider struct {
	at     time.Time
	key    journal.Key
	decide journal.Decide
}

// point is one side of one call of a seam.
func (p *process) point(seam string) {
	p.w.noteText(seam)
	p.w.pause(nil)
	p.w.points[p.n]++
	if c := p.w.plan.crashAt(p.n, p.w.points[p.n]); c != nil && !p.w.settling {
		p.die(c.restart)
		panic(errStruck)
	}
}

// die ends this life at once, and begins the next one later.
func (p *process) die(restart time.Duration) {
	if p.dead {
		return
	}
	p.dead, p.later = true, nil
	p.w.saw("crash")
	if p.due > 0 {
		p.w.saw("crash inside recovery")
	}
	p.w.tell("process", "process %d dies", p.n)
	p.w.at(p.w.now+restart, func() { p.w.begin(p.n, p.life+1) })
}

// simClock is the clock of the machine, as one process sees it.
type simClock struct{ p *process }

func (c simClock) Now() journal.Moment {
	w := c.p.w
	return journal.Moment{Wall: w.wall(), Up: time.Hour + w.now - w.boot, Boot: strconv.Itoa(w.boots)}
}

// really is when the wall clock will show a time, if nobody sets it.
func (w *simWorld) really(at time.Time) time.Duration { return max(0, at.Sub(Epoch)-w.offset) }

func (w *simWorld) wall() time.Time { return Epoch.Add(w.now + w.offset) }

func (c simClock) Wait(ctx context.Context, until time.Time, done <-chan struct{}) error {
	w := c.p.w
	end := never
	if !until.IsZero() {
		end = w.really(until)
	}
	c.p.point(ClockWait)
	if !(&waiting{until: end, done: done}).over(w.now) {
		w.pause(&waiting{until: end, done: done, ctx: ctx})
	}
	if !(&waiting{until: end, done: done}).over(w.now) {
		return ctx.Err()
	}
	return nil
}

func (c simClock) Deadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	made := &simContext{Context: ctx, turns: &c.p.w.turns, of: c.p, at: c.p.w.really(at)}
	return made, func() { made.ended = true }
}

func (c simClock) Go(f func()) { c.p.w.start(c.p, "attempt", f) }

// simWire counts what is under way.
type simWire struct {
	toolbox.Wire
	p *process
}

func (s simWire) Send(ctx context.Context, t toolbox.Tool, r toolbox.Request) toolbox.Answer {
	key := journal.Key(r.Key)
	s.p.point(WireSend)
	s.p.w.current.heard, s.p.w.current.sends = 0, r
	s.p.w.sending[key]++
	defer func() { s.p.w.sending[key]-- }()
	a := s.Wire.Send(ctx, t, r)
	s.p.w.received(s.p, key, r.Attempt, a)
	s.p.point(WireSend)
	return a
}

func (s simWire) Read(ctx context.Context, t toolbox.Tool, r toolbox.Request) toolbox.Answer {
	s.p.point(WireLookup)
	return s.Wire.Read(ctx, t, r)
}

func (s simWire) Lookup(ctx context.Context, t toolbox.Lookuper, r toolbox.Request, known *toolbox.Request) toolbox.Sighting {
	s.p.point(WireLookup)
	seen := s.Wire.Lookup(ctx, t, r, known)
	if len(seen.Found) > 1 {
		s.p.w.saw("two candidates")
	}
	s.p.point(WireLookup)
	return seen
}

// simJournal is the journal that all processes share, as one of them sees it: it can fail, and a death loses what was not written.
type simJournal struct {
	journal.Journal
	p *process
}

func (j simJournal) DecideByIntent(ctx context.Context, at time.Time, w journal.Wish, decide journal.Decide) error {
	return j.write(decide, func(d journal.Decide) error { return j.Journal.DecideByIntent(ctx, at, w, d) })
}

func (j simJournal) DecideByKey(ctx context.Context, at time.Time, key journal.Key, decide journal.Decide) error {
	return j.write(decide, func(d journal.Decide) error { return j.Journal.DecideByKey(ctx, at, key, d) })
}

func (j simJournal) write(decide journal.Decide, run func(journal.Decide) error) error {
	p := j.p
	p.point("journal")
	var change journal.Change
	j.deliver()
	p.writes++
	failure := p.w.plan.failureAt(p.n, p.writes)
	if p.w.settling {
		failure = failsNot
	}
	if failure == failsBefore {
		p.w.saw("disk failure")
		return journal.ErrFull
	}
	if failure == failsUnwritten {
		p.w.saw("disk failure")
		discarded := errors.New("discarded")
		if err := run(func(k journal.Known) (journal.Change, error) {
			if _, err := decide(k); err != nil {
				return journal.Change{}, err
			}
			return journal.Change{}, discarded
		}); !errors.Is(err, discarded) {
			return err
		}
		return journal.ErrCommit
	}
	err := run(func(k journal.Known) (c journal.Change, err error) {
		c, err = decide(k)
		change = c
		return c, err
	})
	if err != nil || change.Operation == nil {
		return err
	}
	p.w.committed(p, change)
	p.point("journal committed")
	if failure == failsAfter {
		p.w.saw("disk failure")
		return journal.ErrCommit
	}
	return nil
}

// deliver hands over what rides on the next commit.
func (j simJournal) deliver() {
	for _, r := range j.p.later {
		j.Journal.Later(r.at, r.key, r.decide)
	}
	j.p.later = nil
}

func (j simJournal) Later(at time.Time, key journal.Key, decide journal.Decide) {
	w := j.p.w
	j.p.later = append(j.p.later, rider{at, key, func(k journal.Known) (journal.Change, error) {
		c, err := decide(k)
		if err == nil && c.Operation != nil {
			w.stamp(key, len(c.Events))
		}
		return c, err
	}})
}

func (j simJournal) Flush(ctx context.Context) error {
	j.p.point("journal")
	j.deliver()
	return j.Journal.Flush(ctx)
}

// begin starts a life of a process.
func (w *simWorld) begin(n, life int) {
	if w.now < w.down { // the machine is off
		w.at(w.down, func() { w.begin(n, life) })
		return
	}
	p := &process{w: w, n: n, life: life}
	tools, err := toolbox.New(context.Background(), toolbox.Options{
		Journal: simJournal{w.store, p}, Wire: simWire{toolbox.DirectWire(), p}, Clock: simClock{p}, Random: w.random,
	})
	if err != nil {
		w.breaks("a life cannot begin: %v", err)
		return
	}
	tools.Share(w.kind.tools)
	p.tools, w.procs[n] = tools, p
	w.start(p, fmt.Sprintf("due %d", n), func() { p.follow() })
}

// follow does due work now and then, as a living process does.
func (p *process) follow() {
	for !p.w.settling {
		p.w.sleep(nil, time.Duration(1+p.w.order.IntN(20000))*time.Millisecond)
		p.work()
	}
}

// work does what is due.
func (p *process) work() {
	p.due++
	defer func() { p.due-- }()
	if _, err := p.tools.Due(context.Background(), 100); err != nil {
		p.w.failed(err)
	}
}

// call makes one call and looks at its answer.
func (p *process) call(a simAct) {
	w := p.w
	ctx := &simContext{Context: context.Background(), turns: &w.turns, of: p, at: never}
	if a.givesUp > 0 {
		ctx.at = w.now + a.givesUp
	}
	c := toolbox.Call{Tool: a.wish.tool, Arguments: a.arguments, Task: a.task, Turn: a.turn, Wait: a.wait}
	w.tell("caller", "process %d is asked for %s %s", p.n, c.Tool, c.Arguments)
	res, err := p.tools.Call(ctx, c)
	switch {
	case err == nil:
		w.answered(p, a, res)
		res.Delivered()
	case ctx.Err() != nil:
		w.saw("caller gave up")
	default:
		w.failed(err)
	}
}
