package scenarios

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"notwice/journal"
)

// Clock is virtual time for everything in one process: the product's workers, the fake provider's holds, and requests on
// the wire. Time moves only when every worker waits for the clock or for a request that the fake says it holds; then it
// jumps to the next timer. It implements toolbox.Clock and fakeprovider.Clock.
type Clock struct {
	mu      sync.Mutex
	changed *sync.Cond
	start   time.Time
	now     time.Time
	workers int // running or waiting
	asleep  int // of them, waiting for the clock
	order   int
	timers  map[*timer]bool
	wires   map[*wireCall]bool
	held    map[string]*timer // by connection
}

// timer wakes something at a time; a zero time never comes.
type timer struct {
	at    time.Time
	order int
	fire  func()          // called with the lock held
	done  <-chan struct{} // of a waiting worker: it wakes by itself when this is closed
	ctxs  []context.Context
	sleep bool // a worker sleeps on it
}

type wireCall struct {
	ctx  context.Context
	conn string
}

// Epoch is where virtual time begins.
var Epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// NewClock starts virtual time.
func NewClock() *Clock {
	c := &Clock{start: Epoch, now: Epoch, timers: map[*timer]bool{}, wires: map[*wireCall]bool{}, held: map[string]*timer{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Moment is the virtual present; the uptime runs with it.
func (c *Clock) Moment() journal.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return journal.Moment{Wall: c.now, Up: time.Hour + c.now.Sub(c.start)}
}

// Now implements fakeprovider.Clock.
func (c *Clock) Now() time.Time { return c.Moment().Wall }

// Hold implements fakeprovider.Clock.
func (c *Clock) Hold(ctx context.Context, conn string, until time.Time) error {
	woken := make(chan struct{})
	c.mu.Lock()
	if !until.IsZero() && !until.After(c.now) {
		c.mu.Unlock()
		return ctx.Err()
	}
	t := c.add(until)
	c.held[conn] = t
	t.fire = func() {
		delete(c.held, conn)
		close(woken)
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.timers, t)
	if c.held[conn] == t {
		delete(c.held, conn)
	}
	c.changed.Broadcast()
	return ctx.Err()
}

func (c *Clock) add(at time.Time) *timer {
	c.order++
	t := &timer{at: at, order: c.order}
	c.timers[t] = true
	return t
}

// wait is toolbox.Clock's Wait; life ends it too.
func (c *Clock) wait(ctx, life context.Context, until time.Time, done <-chan struct{}) error {
	woken := make(chan struct{})
	c.mu.Lock()
	if !until.IsZero() && !until.After(c.now) || closed(done) {
		c.mu.Unlock()
		return nil
	}
	t := c.add(until)
	t.done, t.ctxs, t.sleep = done, []context.Context{ctx, life}, true
	c.asleep++
	t.fire = func() {
		c.asleep--
		close(woken)
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	var err error
	select {
	case <-woken:
		return nil
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-life.Done():
		err = life.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers[t] {
		delete(c.timers, t)
		c.asleep--
	}
	c.changed.Broadcast()
	return err
}

// deadline is toolbox.Clock's Deadline.
func (c *Clock) deadline(ctx, life context.Context, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(life, cancel)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !at.After(c.now) {
		cancel()
		return ctx, func() { stop() }
	}
	t := c.add(at)
	t.fire = cancel
	return ctx, func() {
		stop()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
		c.changed.Broadcast()
	}
}

// start runs a worker. ended is called when it is over, also when it was ended by runtime.Goexit.
func (c *Clock) worker(f func(), ended func()) {
	c.mu.Lock()
	c.workers++
	c.mu.Unlock()
	go func() {
		defer func() {
			if ended != nil {
				ended()
			}
			c.mu.Lock()
			c.workers--
			c.changed.Broadcast()
			c.mu.Unlock()
		}()
		f()
	}()
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return done != nil
	default:
		return false
	}
}

// quiet reports whether nothing moves by itself: every worker sleeps or has a request that is held.
func (c *Clock) quiet() bool {
	holding := 0
	for w := range c.wires {
		if w.ctx.Err() == nil && c.held[w.conn] != nil {
			holding++
		}
	}
	if c.workers-c.asleep-holding > 0 {
		return false
	}
	for t := range c.timers {
		if !t.sleep {
			continue
		}
		if closed(t.done) {
			return false
		}
		for _, ctx := range t.ctxs {
			if ctx.Err() != nil {
				return false
			}
		}
	}
	return true
}

var errStuck = errors.New("everything waits, and nothing will ever wake it")

// runUntil moves time until done is closed.
func (c *Clock) runUntil(done <-chan struct{}) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for !closed(done) && !c.quiet() {
			c.changed.Wait()
		}
		if closed(done) {
			return nil
		}
		t := c.next(time.Time{})
		if t == nil {
			return errStuck
		}
		c.fire(t)
	}
}

// advance moves time by d, waking what comes due on the way.
func (c *Clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.now.Add(d)
	for {
		for !c.quiet() {
			c.changed.Wait()
		}
		t := c.next(end)
		if t == nil {
			break
		}
		c.fire(t)
	}
	c.now = end
}

// settle waits until nothing moves by itself, without moving time.
func (c *Clock) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.quiet() {
		c.changed.Wait()
	}
}

func (c *Clock) next(limit time.Time) *timer {
	var first *timer
	for t := range c.timers {
		if t.at.IsZero() || !limit.IsZero() && t.at.After(limit) {
			continue
		}
		if first == nil || t.at.Before(first.at) || t.at.Equal(first.at) && t.order < first.order {
			first = t
		}
	}
	return first
}

func (c *Clock) fire(t *timer) {
	if t.at.After(c.now) {
		c.now = t.at
	}
	delete(c.timers, t)
	t.fire()
}

// Transport tells the clock which requests are on the wire.
func (c *Clock) Transport(rt http.RoundTripper) http.RoundTripper { return tracked{c, rt} }

type tracked struct {
	clock *Clock
	rt    http.RoundTripper
}

func (t tracked) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &wireCall{ctx: req.Context()}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		t.clock.mu.Lock()
		w.conn = info.Conn.LocalAddr().String()
		t.clock.changed.Broadcast()
		t.clock.mu.Unlock()
	}}
	t.clock.onWire(w, true)
	res, err := t.rt.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		t.clock.onWire(w, false)
		return nil, err
	}
	res.Body = &trackedBody{res.Body, func() { t.clock.onWire(w, false) }}
	return res, nil
}

func (c *Clock) onWire(w *wireCall, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is {
		c.wires[w] = true
	} else {
		delete(c.wires, w)
	}
	c.changed.Broadcast()
}

type trackedBody struct {
	io.ReadCloser
	over func()
}

func (b *trackedBody) Close() error {
	b.over()
	return b.ReadCloser.Close()
}
