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

// Clock is virtual time: for the product's workers, the fake provider's holds, and requests on the wire. Time moves only when every
// worker waits for the clock or for a request that the fake says it holds; then it jumps to the next timer. It implements
// toolbox.Clock and fakeprovider.Clock.
//
// Where the product is in another process, its workers and requests are on a Clock there, which this one leads.
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
	led     led               // a clock elsewhere that this one leads; nil: none
	leader  leader            // the clock elsewhere that leads this one; nil: it moves by itself
}

// led is a clock elsewhere, as the one that leads it sees it. It is used with the leader's lock held.
type led interface {
	quiet(held map[string]*timer) bool
	next() time.Time    // of its timers; zero: it has none
	fire(now time.Time) // its next timer
	move(now time.Time) // without a timer
}

// leader is what a clock that is led tells the one that leads it. Both are used with the lock held.
type leader interface {
	// still says that running workers wait: for timers, the next of which comes then, or for requests on these connections.
	still(running int, conns []string, next time.Time)
	// busy says that something came from outside. What it returns waits until that is understood, and gives the leader's time.
	busy() (wait func() time.Time)
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
	c.stir()
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
	c.stir()
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
	c.stir()
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
	c.stir()
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
		c.stir()
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
			c.stir()
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
	if c.led != nil && !c.led.quiet(c.held) {
		return false
	}
	return holds(c.workers-c.asleep, c.onConns(), c.held) && !c.waking()
}

// holds reports whether all who run wait for a request that is held.
func holds(running int, conns []string, held map[string]*timer) bool {
	for _, conn := range conns {
		if held[conn] != nil {
			running--
		}
	}
	return running <= 0
}

// onConns are the connections of the requests on the wire.
func (c *Clock) onConns() (conns []string) {
	for w := range c.wires {
		if w.ctx.Err() == nil && w.conn != "" {
			conns = append(conns, w.conn)
		}
	}
	return conns
}

// stir says that something changed.
func (c *Clock) stir() {
	c.changed.Broadcast()
	if c.leader == nil {
		return
	}
	running, conns := c.workers-c.asleep, c.onConns()
	if running > len(conns) || c.waking() {
		return
	}
	next := time.Time{}
	if t := c.next(time.Time{}); t != nil {
		next = t.at
	}
	c.leader.still(running, conns, next)
}

// waking reports whether a worker sleeps whose sleep is over.
func (c *Clock) waking() bool {
	for t := range c.timers {
		if !t.sleep {
			continue
		}
		if closed(t.done) {
			return true
		}
		for _, ctx := range t.ctxs {
			if ctx.Err() != nil {
				return true
			}
		}
	}
	return false
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
		if !c.step(time.Time{}) {
			return errStuck
		}
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
		if !c.step(end) {
			break
		}
	}
	c.now = end
	if c.led != nil {
		c.led.move(end)
	}
}

// step fires the next timer, here or elsewhere. false: there is none up to the limit, which is zero where there is no limit.
func (c *Clock) step(limit time.Time) bool {
	t := c.next(limit)
	if c.led != nil {
		there := c.led.next()
		if !there.IsZero() && (limit.IsZero() || !there.After(limit)) && (t == nil || !t.at.Before(there)) {
			c.pass(there)
			c.led.fire(c.now)
			return true
		}
	}
	if t != nil {
		c.fire(t)
	}
	return t != nil
}

// pass moves time on; it never goes back.
func (c *Clock) pass(to time.Time) {
	if to.After(c.now) {
		c.now = to
	}
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
	c.pass(t.at)
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
		t.clock.stir()
		t.clock.mu.Unlock()
	}}
	t.clock.mu.Lock()
	t.clock.wires[w] = true
	t.clock.mu.Unlock()
	res, err := t.rt.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	t.clock.came(w, err != nil)
	if err != nil {
		return nil, err
	}
	res.Body = &trackedBody{res.Body, func() { t.clock.came(w, true) }}
	return res, nil
}

// came says that an answer came; over: it is read, or there will be none.
func (c *Clock) came(w *wireCall, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if over {
		delete(c.wires, w)
	}
	if c.leader == nil {
		c.stir()
		return
	}
	wait := c.leader.busy() // before anybody acts on it: until then the worker may seem to wait for a request that is held
	c.mu.Unlock()
	now := wait()
	c.mu.Lock()
	c.pass(now)
	c.stir()
}

type trackedBody struct {
	io.ReadCloser
	over func()
}

func (b *trackedBody) Close() error {
	b.over()
	return b.ReadCloser.Close()
}
