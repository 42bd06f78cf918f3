package toolbox

import (
	"context"
	"fmt"
	"time"

	"notwice/journal"
)

// readTries bounds a read: it changes nothing, so it may be asked again.
const readTries = 3

func (t *Toolbox) read(ctx context.Context, r prepared) (Result, error) {
	request := Request{Tool: r.tool.Name, Args: r.args, Volatile: r.volatile, Secret: t.secrets, Before: func() error { return nil }}
	for try := 1; ; try++ {
		answer := t.readOnce(ctx, r, request)
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("read %s: %w", r.tool.Name, err)
		}
		if answer.Outcome == journal.Applied || answer.Outcome == journal.Rejected || try == readTries {
			return t.tellRead(r, answer), nil
		}
		if err := t.clock.Wait(ctx, t.clock.Now().Wall.Add(100*time.Millisecond*time.Duration(try)), nil); err != nil {
			return Result{}, fmt.Errorf("read %s: %w", r.tool.Name, err)
		}
	}
}

func (t *Toolbox) readOnce(ctx context.Context, r prepared, request Request) Answer {
	ctx, cancel := t.clock.Deadline(ctx, t.clock.Now().Wall.Add(r.policy.Deadline))
	defer cancel()
	return t.wire.Read(ctx, r.tool.Tool, request)
}
