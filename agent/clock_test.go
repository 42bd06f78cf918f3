package agent_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"notwice/journal"
)

// clock is time that moves only by what is waited for, for the agent, the toolbox and the provider: nobody sleeps. It is a
// toolbox.Clock; its fake is a fakeprovider.Clock.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration // what was waited for without anything else to wake the waiter
	ends  map[*deadline]bool
}

type deadline struct {
	at  time.Time
	end context.CancelFunc
}

var morning = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func newClock() *clock { return &clock{now: morning, ends: map[*deadline]bool{}} }

func (c *clock) Now() journal.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return journal.Moment{Wall: c.now, Up: time.Hour + c.now.Sub(morning)}
}

// Wait lets the time pass. A caller that cannot be called off does housekeeping: for it no time passes.
func (c *clock) Wait(ctx context.Context, until time.Time, done <-chan struct{}) error {
	if done != nil {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil || ctx.Done() == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.now) {
		c.waits = append(c.waits, until.Sub(c.now))
		c.now = until
	}
	return nil
}

func (c *clock) Deadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	d := &deadline{at, cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[d] = true
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ends, d)
		cancel()
	}
}

func (c *clock) Go(f func()) { go f() }

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) waited() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waits)
}

// provider is the clock as the provider sees it.
type provider struct{ *clock }

func (p provider) Now() time.Time { return p.clock.Now().Wall }

// Hold is where the time goes that a provider lets its callers wait: up to its answer, or up to their deadlines.
func (p provider) Hold(ctx context.Context, _ string, until time.Time) error {
	p.mu.Lock()
	if until.IsZero() {
		for d := range p.ends {
			if d.at.After(p.now) {
				p.now = d.at
			}
			d.end()
		}
	} else if until.After(p.now) {
		p.now = until
	}
	p.mu.Unlock()
	if until.IsZero() {
		<-ctx.Done()
	}
	return ctx.Err()
}
