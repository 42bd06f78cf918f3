package scenarios

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"notwice/toolbox"
)

// turns lets workers run one after the other, each until it reaches a seam; there the order, a stream of random numbers, says who
// goes on. So one number chooses a whole interleaving, and the same number chooses it again. Time moves when everybody waits, and by
// a little now and then because work takes time.
//
// A worker is a coroutine: going from one to the next costs no thread and no lock.
type turns struct {
	order   *rand.Rand
	now     time.Duration // since Epoch, as it really is, whatever a clock on the wall says
	workers []*turn
	timers  []alarm // what the world itself does
	current *turn
	trace   uint64
	steps   int
	panics  []string
}

// turn is one worker.
type turn struct {
	name  string
	of    *process // nil: nobody's, it cannot be killed
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	wait  *waiting        // nil: it can go on
	heard int             // status of the last whole answer that it got; 0: none
	sends toolbox.Request // the attempt that it makes
	over  bool
}

// waiting is what a worker waits for: the first of time, a channel and the end of a context.
type waiting struct {
	until time.Duration // negative: never
	done  <-chan struct{}
	ctx   context.Context
}

// alarm does something at a time, between two turns.
type alarm struct {
	at time.Duration
	do func()
}

// errStruck unwinds the workers of a process that has died.
var errStruck = errors.New("the process is dead")

// maxSteps ends a history that goes round and round.
const maxSteps = 200_000

const never = time.Duration(-1)

func newTurns(seed uint64) *turns {
	return &turns{order: rand.New(rand.NewPCG(seed, 0x6e6f7477696365)), trace: fnvOffset}
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// note folds a fact into the trace.
func (t *turns) note(facts ...uint64) {
	for _, f := range facts {
		t.trace = (t.trace ^ f) * fnvPrime
	}
}

func (t *turns) noteText(text string) {
	h := fnv.New64a()
	h.Write([]byte(text))
	t.note(h.Sum64())
}

// start adds a worker. It begins when its first turn comes.
func (t *turns) start(of *process, name string, f func()) {
	w := &turn{name: name, of: of}
	w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
		w.yield = yield
		defer func() {
			w.over = true
			if r := recover(); r != nil && r != any(errStruck) {
				t.panics = append(t.panics, fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
			}
		}()
		f()
	})
	t.workers = append(t.workers, w)
}

// pause ends the present worker's turn. It comes back when what it waits for is there; nil waits for nothing but its turn.
func (t *turns) pause(wait *waiting) {
	w := t.current
	w.wait = wait
	if !w.yield(struct{}{}) || w.of != nil && w.of.dead {
		panic(errStruck)
	}
}

// sleep lets the present worker wait for a while, or until its context ends.
func (t *turns) sleep(ctx context.Context, d time.Duration) {
	t.pause(&waiting{until: t.now + d, ctx: ctx})
}

func (w *waiting) over(now time.Duration) bool {
	return w == nil || w.until >= 0 && now >= w.until || closed(w.done) || w.ctx != nil && w.ctx.Err() != nil
}

// at does something at a time.
func (t *turns) at(when time.Duration, do func()) { t.timers = append(t.timers, alarm{when, do}) }

// run gives turns until there is nobody left and no alarm, or time has come to limit (negative: it has no limit).
func (t *turns) run(limit time.Duration) {
	for t.ring(); t.steps < maxSteps; t.ring() {
		ready := t.ready()
		if len(ready) > 0 {
			t.turn(ready[t.order.IntN(len(ready))])
			continue
		}
		next := t.nextTime()
		if next == never || limit >= 0 && next > limit {
			t.now = max(t.now, limit)
			return
		}
		t.now = max(t.now, next)
	}
}

// end ends all workers that are left and counts them.
func (t *turns) end() (left []string) {
	for _, w := range t.workers {
		if !w.over {
			left = append(left, w.name)
			t.current = w
			w.stop()
		}
	}
	return left
}

// ring does what is due between two turns.
func (t *turns) ring() {
	if t.steps++; t.order.IntN(16) == 0 { // work takes time
		t.now += time.Duration(t.order.IntN(int(20 * time.Millisecond)))
	}
	for i := 0; i < len(t.timers); i++ {
		if a := t.timers[i]; a.at <= t.now {
			t.timers = append(t.timers[:i], t.timers[i+1:]...)
			i--
			a.do()
		}
	}
}

// ready are the workers that can go on; those whose process is dead are ended here.
func (t *turns) ready() []*turn {
	var ready []*turn
	kept := t.workers[:0]
	for _, w := range t.workers {
		if w.of != nil && w.of.dead && !w.over {
			t.current = w
			w.stop()
			w.over = true
		}
		if w.over {
			continue
		}
		kept = append(kept, w)
		if (w.of == nil || t.now >= w.of.stalled) && w.wait.over(t.now) {
			ready = append(ready, w)
		}
	}
	t.workers = kept
	return ready
}

func (t *turns) turn(w *turn) {
	t.current, w.wait = w, nil
	t.noteText(w.name)
	t.note(uint64(t.now))
	if _, more := w.next(); !more {
		w.over = true
	}
}

// nextTime is when somebody wakes or something happens by itself.
func (t *turns) nextTime() time.Duration {
	first := never
	sooner := func(at time.Duration) {
		if at >= 0 && (first == never || at < first) {
			first = at
		}
	}
	for _, a := range t.timers {
		sooner(a.at)
	}
	for _, w := range t.workers {
		at := never
		switch {
		case w.wait == nil || w.wait.over(t.now): // only its process stands still
			at = t.now
		default:
			at = w.wait.until
			if end := endOfContext(w.wait.ctx); end >= 0 && (at < 0 || end < at) {
				at = end
			}
		}
		if w.of != nil && at >= 0 {
			at = max(at, w.of.stalled)
		}
		sooner(at)
	}
	return first
}

// simContext ends at a time of the simulation. Nobody listens to it: it is asked.
type simContext struct {
	context.Context
	turns *turns
	of    *process
	at    time.Duration // negative: never by itself
	ended bool
}

type simKey struct{}

func (c *simContext) Value(key any) any {
	if key == (simKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *simContext) Done() <-chan struct{} { return nil }

func (c *simContext) Err() error {
	switch {
	case c.ended:
		return context.Canceled
	case c.at >= 0 && c.turns.now >= c.at:
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// endOfContext is when a context of the simulation ends by itself; negative: never, or it is none.
func endOfContext(ctx context.Context) time.Duration {
	first := never
	for ctx != nil {
		c, ok := ctx.(*simContext)
		if !ok {
			return first
		}
		if c.at >= 0 && (first == never || c.at < first) {
			first = c.at
		}
		ctx = c.Context
	}
	return first
}
