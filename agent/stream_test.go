package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"notwice/agent"
)

var hello = agent.Conversation{Messages: []agent.Message{{Role: "user", Text: "go"}}}

// However a server is known to deliver calls, the model's answer is the same; where it cannot be made out, no argument is invented.
func TestAnswersOfAllShapes(t *testing.T) {
	f, g, h := `{"a":"one"}`, `{"b":[1,2,{"c":""}]}`, `{"a":"three"}`
	three := []string{"x f " + f, "y g " + g, "z f " + h}
	numbered := []string{" f " + f, " g " + g, " f " + h}
	constant := []string{"x f " + f, "x g " + g, "x f " + h}
	list := func(ids ...string) []string {
		return []string{one("f", f, ids[0]), one("g", g, ids[1]), one("f", h, ids[2])}
	}
	for _, c := range []struct {
		shapes string
		want   []string
	}{
		{"", three}, {"same_index", three}, {"no_index", three}, {"empty_pieces", three}, {"extra_fields", three}, {"finish_stop", three},
		{"same_index in_pieces", three}, {"no_index in_pieces", three}, {"no_index in_pieces empty_pieces null_later", three},
		{"blank_later", three}, {"null_later", three}, {"blank_later same_index in_pieces", three}, {"null_later no_index in_pieces", three},
		{"again_later", three}, {"again_later no_index in_pieces", three}, {"again_later same_index in_pieces", three}, {"interleaved", three},
		{"name_last", three}, {"name_last no_index in_pieces", three}, {"name_last same_index in_pieces", three}, {"id_last", three}, {"id_last interleaved", three},
		{"snapshots", three}, {"snapshots in_pieces", three}, {"snapshots no_index", three}, {"snapshots in_pieces no_index", three},
		{"snapshots in_pieces same_index", three},
		{"twice", three}, {"twice in_pieces", three}, {"twice no_index", three}, {"twice no_index in_pieces", three}, {"twice same_index in_pieces", three},
		{"empty_ids", numbered}, {"empty_ids same_index", numbered}, {"empty_ids no_index", numbered}, {"empty_ids no_index in_pieces", numbered},
		{"empty_ids same_index in_pieces blank_later", numbered},
		{"empty_ids again_later", numbered}, {"empty_ids again_later same_index in_pieces", numbered}, {"empty_ids interleaved", numbered},
		{"equal_ids interleaved", constant}, {"equal_ids again_later", constant}, {"equal_ids again_later no_index in_pieces", constant},
		{"equal_ids", constant}, {"equal_ids same_index", constant}, {"equal_ids no_index", constant}, {"equal_ids no_index in_pieces", constant},
		{"equal_ids same_index in_pieces null_later", constant},
	} {
		t.Run(c.shapes, func(t *testing.T) {
			each(t, func(t *testing.T, streamed bool) {
				w := newWorld(t, streamed, calls(c.shapes, list("x", "y", "z")...))
				reply, err := w.model().Ask(t.Context(), hello)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, call := range reply.Calls {
					got = append(got, call.ID+" "+call.Name+" "+call.Arguments)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
			})
		})
	}
}

func TestTextIsSeenWhileItArrives(t *testing.T) {
	w := newWorld(t, true, say("Order 817 is paid, ж."))
	reply, err := w.model().Ask(t.Context(), hello)
	if err != nil || reply.Text != "Order 817 is paid, ж." || w.said != reply.Text+"\n" {
		t.Errorf("%+v, %q, %v", reply, w.said, err)
	}
}

// An answer that is not whole is no answer, and whether asking again is worth a try is said.
func TestBrokenAnswers(t *testing.T) {
	for _, c := range []struct {
		answer        string
		whole, stream string // what the error says; "busy" in front: worth a try
	}{
		{`{"break":"empty"}`, "busy cut off", "busy no finish reason"},
		{`{"break":"html"}`, "invalid character", "answered text/html"},
		{`{"break":"mid_stream","say":"one two"}`, "busy unexpected EOF", "busy unexpected EOF"},
		{`{"say":"one two","shape":["no_finish"]}`, "", "busy no finish reason"},
		{`{"break":{"status":500}}`, "500", "500"},
		{`{"break":{"status":400}}`, "400", "400"},
		{`{"break":{"status":429,"retry_after":"7s"}}`, "busy 429 7s", "busy 429 7s"},
		{`{"break":{"status":503}}`, "busy 503 0s", "busy 503 0s"},
	} {
		each(t, func(t *testing.T, streamed bool) {
			w := newWorld(t, streamed, c.answer)
			_, err := w.model().Ask(t.Context(), hello)
			want := c.whole
			if streamed {
				want = c.stream
			}
			if want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.answer, err)
				}
				return
			}
			said := fmt.Sprint(err)
			var busy *agent.BusyError
			if errors.As(err, &busy) {
				said = "busy " + said
				if busy.Status != 0 {
					said = fmt.Sprintf("busy %d %s", busy.Status, busy.After)
				}
			}
			first, rest, _ := strings.Cut(want, " ")
			if !errors.Is(err, agent.ErrModel) || strings.HasPrefix(said, "busy") != (first == "busy") || !strings.Contains(said, rest) || !strings.Contains(said, first) {
				t.Errorf("%s: %s, want %s", c.answer, said, want)
			}
		})
	}
}

// Arguments that are an object and no text fail the whole answer, for good: nothing is guessed.
func TestArgumentsThatAreNoText(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, calls("same_index", one("create_payment", `{}`, "a")), say("Done."))
		w.bent = strings.NewReplacer(`"arguments":"{}"`, `"arguments":`+pay)
		_, err := w.agent().Turn(t.Context(), "t", "pay")
		var busy *agent.BusyError
		if !errors.Is(err, agent.ErrModel) || errors.As(err, &busy) || !strings.Contains(err.Error(), "cannot unmarshal object") {
			t.Error(err)
		}
		w.effects(0)
	})
}

// An error in the middle of a stream ends it, though the server sends it with status 200.
func TestErrorInTheMiddleOfAStream(t *testing.T) {
	w := newWorld(t, true, calls("same_index", one("create_payment", pay, "a")))
	w.bent = strings.NewReplacer("data: [DONE]", `data: {"error":{"message":"overloaded","type":"server_error","code":null}}`)
	_, err := w.model().Ask(t.Context(), hello)
	var busy *agent.BusyError
	if !errors.As(err, &busy) || !strings.Contains(err.Error(), "overloaded") {
		t.Error(err)
	}
}

// Only the first choice is ours: nobody asked for more.
func TestOtherChoicesAreNotRead(t *testing.T) {
	w := newWorld(t, true, say("One."))
	w.bent = strings.NewReplacer("data: [DONE]", `data: {"choices":[{"index":1,"delta":{"content":"Two."},"finish_reason":"length"}]}`+"\n\ndata: [DONE]")
	if reply, err := w.model().Ask(t.Context(), hello); err != nil || reply.Text != "One." || reply.Finish != "stop" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestRetryAfterADate(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"Mon, 02 Mar 2026 09:01:30 GMT": 90 * time.Second, "Mon, 02 Mar 2026 08:00:00 GMT": 0, "soon": 0, "-5": 0, "": 0, "3": 3 * time.Second,
	} {
		w := newWorld(t, false, `{"break":{"status":429}}`)
		w.retryAfter = text
		_, err := w.model().Ask(t.Context(), hello)
		var busy *agent.BusyError
		if !errors.As(err, &busy) || busy.After != want {
			t.Errorf("Retry-After %q: %v, want %s", text, err, want)
		}
	}
}

// A person who interrupts is not made to wait for another try.
func TestInterruptedWhileAsking(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, `{"wait":"1s","say":"Late."}`)
		ctx, cancel := context.WithCancel(t.Context())
		w.onAsk = cancel
		if _, err := w.agent().Turn(ctx, "t", "hello"); !errors.Is(err, context.Canceled) || errors.Is(err, agent.ErrModel) {
			t.Error(err)
		}
	})
}

// A busy server says how long to wait, and a turn waits so long by its clock; not for ever, and not an hour.
func TestBusyModelIsWaitedFor(t *testing.T) {
	busy := func(after string) string { return `{"break":{"status":429,"retry_after":"` + after + `"}}` }
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed)
		w.asked(busy("7s"), `{"break":{"status":503}}`, call("create_payment", pay), `{"break":"empty"}`, say("Paid."))
		w.want(w.turn("t", "pay"), "DONE")
		w.effects(1, "817")
		if got := w.clock.waited(); !slices.Equal(got, []time.Duration{7 * time.Second, 2 * time.Second, time.Second}) {
			t.Errorf("waited %v", got)
		}
		if text := strings.Join(w.progress, "\n"); !strings.Contains(text, "busy (429); asking again in 7s") || !strings.Contains(text, "cut off and nothing of it was run") {
			t.Error(text)
		}

		w.asked(busy("1s"), busy("1s"), busy("1s"), busy("1s"), say("never asked"))
		before := w.fake.Core().Requests().Model
		if _, err := w.agent().Turn(t.Context(), "u", "pay"); !errors.Is(err, agent.ErrModel) {
			t.Error(err)
		}
		if n := w.fake.Core().Requests().Model - before; n != 4 {
			t.Errorf("asked %d times", n)
		}

		w.asked(busy("1h"))
		if _, err := w.agent().Turn(t.Context(), "v", "pay"); !errors.Is(err, agent.ErrModel) || !strings.Contains(err.Error(), "asks to wait 1h") {
			t.Error(err)
		}
	})
}
