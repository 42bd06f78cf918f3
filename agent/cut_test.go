package agent_test

import (
	"context"
	"errors"
	"testing"

	"notwice/agent"
	"notwice/canonical"
	"notwice/journal"
	"notwice/toolbox"
)

// Kind D: arguments that are cut, merged, empty or encoded twice.
func TestDamagedArguments(t *testing.T) {
	glued := payOrder("817") + payOrder("818")
	encodedTwice := `"{\"order_id\":\"817\",\"amount_minor\":490000,\"currency\":\"RUB\"}"`
	three := []string{one("create_payment", payOrder("817"), "t1"), one("create_payment", payOrder("818"), "t2"), one("create_payment", payOrder("819"), "t3")}
	for _, c := range []told{
		{name: "case-034 two objects in one call", answers: []string{call("create_payment", glued)}, words: []toolbox.Word{invalid}, says: "more than one JSON value"},
		{name: "case-034 two objects, no index", answers: []string{calls("no_index in_pieces", one("create_payment", glued, "a"))}, words: []toolbox.Word{invalid}, says: "more than one JSON value"},
		{name: "case-034 the same object twice", answers: []string{calls("", one("create_payment", pay+pay, "a"))}, words: []toolbox.Word{invalid}, says: "more than one JSON value"},
		{name: "case-038 cut at the token limit, said to be whole", words: []toolbox.Word{invalid}, says: "ends in the middle",
			answers: []string{call("create_payment", `{"order_id":"817","currency":"RUB","amount_minor":4900`)}},
		{name: "case-038 cut at the token limit, said so", answers: []string{calls("finish_length", one("create_payment", pay, "a"))}, words: []toolbox.Word{invalid}, says: "cut off"},
		{name: "case-040 no arguments for a payment", answers: []string{call("create_payment", "")}, words: []toolbox.Word{invalid}, says: "Nothing was sent"},
		{name: "case-040 blank arguments for a payment", answers: []string{call("create_payment", "  ")}, words: []toolbox.Word{invalid}, says: "Nothing was sent"},
		{name: "case-040 null for a payment", answers: []string{call("create_payment", "null")}, words: []toolbox.Word{invalid}, says: "Nothing was sent"},
		{name: "case-042 later pieces blank the names", answers: []string{calls("blank_later", three...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"817", "818", "819"}},
		{name: "case-042 at one index", answers: []string{calls("blank_later same_index in_pieces", three...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"817", "818", "819"}},
		{name: "case-042 without index", answers: []string{calls("blank_later no_index in_pieces", three...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"817", "818", "819"}},
		{name: "case-043 encoded twice, then plain", answers: []string{call("create_payment", encodedTwice), call("create_payment", pay)}, words: []toolbox.Word{invalid, done}, says: "a text, not an object", writes: 1, effects: []string{"817"}},
		{name: "case-045 an unknown object in every piece", answers: []string{calls("extra_fields", three[0])}, words: []toolbox.Word{done}, writes: 1, effects: []string{"817"}},
		{name: "case-045 the text null as a name", answers: []string{calls("extra_fields null_later", three[0])}, words: []toolbox.Word{done}, writes: 1, effects: []string{"817"}},
		{name: "case-045 the text null as a name, no index", answers: []string{calls("extra_fields null_later no_index in_pieces empty_pieces", three...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"817", "818", "819"}},
	} {
		c.run(t)
	}
}

// The payment of the case was to be a trial; cut behind the order, it looked like the real thing.
func TestCase036StreamCutInTheArguments(t *testing.T) {
	cut := `{"break":"mid_stream","call":` + one("cancel_payment", `{"order_id":"817","note":"only a trial"}`, "a") + `}`
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, cut)
		_, err := w.agent().Turn(t.Context(), "t", "cancel 817")
		var busy *agent.BusyError
		if !errors.As(err, &busy) || !errors.Is(err, agent.ErrModel) {
			t.Error(err)
		}
		w.effects(0)
		if n, all := w.fake.Core().Requests().Model, w.operations(); n != 4 || len(all) != 0 {
			t.Errorf("asked %d times, %d operations", n, len(all))
		}

		// The host lets the task go on, and this time the answer is whole.
		w.asked(cut, `{"shape":["no_finish"],"call":`+one("cancel_payment", `{"order_id":"817"}`, "a")+`}`, call("cancel_payment", `{"order_id":"817"}`), say("Cancelled."))
		if !streamed { // without a stream a missing reason says nothing: the JSON was whole
			w.asked(cut, call("cancel_payment", `{"order_id":"817"}`), say("Cancelled."))
		}
		w.want(w.turn("t", ""), done)
		w.effects(1, "817")
	})
}

func TestCase039FinishedWithStop(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, calls("finish_stop", one("create_payment", pay, "a")), say("Paid."))
		w.want(w.turn("t", "pay 817"), done)
		again := w.turn("t", "pay 817") // the host sends the prompt again: the turn is over
		if again.Text != "Paid." || w.fake.Core().Requests().Model != 2 {
			t.Errorf("%+v", again)
		}
		w.want(w.turn("u", "pay 817"), already) // and in a task of its own: the model calls again
		w.effects(1, "817")
	})
}

// ping is a tool without parameters.
type ping struct{ got []string }

func (p *ping) Declare() toolbox.Declaration {
	return toolbox.Declaration{Name: "ping", Facts: toolbox.Facts{Effect: toolbox.Read}, Schema: map[string]any{"type": "object", "additionalProperties": false}}
}

func (p *ping) Send(_ context.Context, r toolbox.Request) toolbox.Answer {
	text, _ := canonical.Plain(r.Args)
	p.got = append(p.got, string(text))
	return toolbox.Answer{Outcome: journal.Applied, Result: canonical.Raw(`"pong"`)}
}

func TestCase040NoArgumentsForAToolWithoutParameters(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, call("ping", ""), call("ping", "  "), call("ping", "null"), call("ping", "{}"), call("ping", `{"key":"x"}`), say("Done."))
		p := &ping{}
		if err := w.tools.Add(p); err != nil {
			t.Fatal(err)
		}
		w.want(w.turn("t", "ping"), done, done, done, done, invalid)
		for _, args := range p.got {
			if args != "{}" {
				t.Errorf("called with %s", args)
			}
		}
	})
}
