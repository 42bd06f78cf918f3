package scenarios

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// timing is the time of a story: virtual, or that of the machine where the provider is in another process.
type timing interface {
	Now() time.Time
	advance(d time.Duration)
	worker(f, over func())
	runUntil(done <-chan struct{}) error
	settle()
	deadline(ctx, life context.Context, at time.Time) (context.Context, context.CancelFunc)
	Transport(rt http.RoundTripper) http.RoundTripper
}

// realTime is the machine's. What a story advances is really waited for.
type realTime struct{ running sync.WaitGroup }

func (*realTime) Now() time.Time { return time.Now() }

func (*realTime) advance(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// worker runs f; over is called also when f was struck.
func (t *realTime) worker(f, over func()) {
	t.running.Go(func() {
		defer func() {
			if over != nil {
				over()
			}
		}()
		f()
	})
}

func (*realTime) runUntil(done <-chan struct{}) error {
	<-done
	return nil
}

func (t *realTime) settle() { t.running.Wait() }

func (*realTime) deadline(ctx, life context.Context, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(ctx, at)
	stop := context.AfterFunc(life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (*realTime) Transport(rt http.RoundTripper) http.RoundTripper { return rt }
