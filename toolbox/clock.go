package toolbox

import (
	"context"
	"sync"
	"time"

	"notwice/journal"
)

// Clock is the seam through which the toolbox and the agent know the time, wait and run beside each other.
type Clock interface {
	// Now is the wall clock together with the machine's uptime.
	Now() journal.Moment
	// Wait returns nil when done is closed or until is reached (a zero until never is), and ctx's error when ctx ends
	// first. A nil done is never closed.
	Wait(ctx context.Context, until time.Time, done <-chan struct{}) error
	// Deadline is ctx that ends at t by this clock, with context.DeadlineExceeded.
	Deadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc)
	// Go runs f beside the caller.
	Go(f func())
}

// RealClock is the machine's clock.
func RealClock() Clock { return realClock{} }

type realClock struct{}

// boot names the present boot of the machine; empty where nothing names it.
var boot = sync.OnceValue(bootName)

func (realClock) Now() journal.Moment {
	return journal.Moment{Wall: time.Now().Round(0), Up: uptime(), Boot: boot()}
}

func (realClock) Go(f func()) { go f() }

func (realClock) Deadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Until(t)) // by the monotonic clock: a wall clock that is set does not stretch it
}

func (realClock) Wait(ctx context.Context, until time.Time, done <-chan struct{}) error {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-done:
		return nil
	case <-alarm:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
