package agent_test

import (
	"context"
	"strings"
	"testing"

	"notwice/toolbox"
)

// A person decides within the turn: what the model is told is what came of it.
func TestPersonIsAskedWithinTheTurn(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, call("create_payment", pay), call("create_payment", strings.Replace(pay, "490000", "480000", 1)), say("Twice."))
		asked := 0
		w.options.Person = func(ctx context.Context, c toolbox.Call, r toolbox.Result) (toolbox.Result, error) {
			asked++
			if r.Word != conflict {
				t.Errorf("asked about %s", r.Word)
			}
			op, err := w.tools.Find(ctx, r.Key)
			if err == nil {
				_, err = w.tools.Rule(ctx, op.Key, toolbox.Ruling{Decision: "again", By: "anna"})
			}
			if err != nil {
				return r, err
			}
			return w.tools.Call(ctx, c)
		}
		w.want(w.turn("t", "pay twice"), done, done)
		w.effects(2, "817", "817")
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}
