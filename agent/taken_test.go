package agent_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"notwice/agent"
	"notwice/toolbox/httptool"
)

// While one agent waits for its model another one goes on with the same task. The slower one stops before it does anything.
func TestTwoAgentsOnOneTask(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, call("create_payment", pay), say("Paid."))
		entered := false
		w.onAsk = func() {
			if !entered {
				entered = true
				w.want(w.turn("t", "pay"), done)
			}
		}
		if _, err := w.agent().Turn(t.Context(), "t", "pay"); !errors.Is(err, agent.ErrTaken) {
			t.Error(err)
		}
		w.effects(1, "817")
		if n := len(w.operations()); n != 1 {
			t.Errorf("%d operations", n)
		}
	})
}

// Two processes resume the same killed turn: the second comes to the recorded call while the first is at the provider. It is
// one call, and one of them goes on.
func TestTwoAgentsOnOneRecordedCall(t *testing.T) {
	w := newWorld(t, true, call("create_payment", pay), say("Let us see."))
	w.life.nth = slices.Index(pointsOf(t, true), "before claim") + 1
	if _, err := w.agent().Turn(t.Context(), "t", "pay"); err == nil {
		t.Fatal("the process was not killed")
	}
	w.effects(0)
	meet := &meeting{RoundTripper: httptool.NewTransport(), meet: func() { w.want(w.turn("t", "pay"), notConfirmed) }}
	w.onSend = meet
	w.begin()
	if _, err := w.agent().Turn(t.Context(), "t", "pay"); !errors.Is(err, agent.ErrTaken) {
		t.Error(err)
	}
	w.effects(1, "817")
	if out := w.turn("t", "pay"); len(out.Receipts) != 1 || out.Receipts[0].Status != "succeeded" || out.Exit != 0 {
		t.Errorf("%+v", out)
	}
}

// meeting lets something happen while the first write is on its way.
type meeting struct {
	http.RoundTripper
	meet func()
	met  bool
}

func (m *meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && !m.met {
		m.met = true
		m.meet()
	}
	return m.RoundTripper.RoundTrip(r)
}
