package fakeprovider

import (
	"context"
	"time"
)

// Clock is the time in which the provider lives. Implementations must be safe for concurrent use.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// Hold keeps a request until the given time (zero: for ever) or until ctx ends because the client left or the server was closed.
	// conn is the request's RemoteAddr, so that a virtual clock can tell whose caller is waiting. It returns ctx.Err() if ctx ended first.
	Hold(ctx context.Context, conn string, until time.Time) error
}

// RealClock is the machine's clock.
func RealClock() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Hold(ctx context.Context, _ string, until time.Time) error {
	if until.IsZero() {
		<-ctx.Done()
		return ctx.Err()
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
