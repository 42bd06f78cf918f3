package agent_test

import (
	"strings"
	"testing"

	"notwice/toolbox"
)

const (
	done    = toolbox.Done
	already = toolbox.AlreadyDone
	invalid = toolbox.InvalidCall
)

// told is one reported case of calls inside a model's answers: what the model sends, what it is told, what happens outside.
type told struct {
	name    string
	answers []string
	words   []toolbox.Word
	writes  int
	effects []string
	says    string // in what the model was told
	only    string // whole or streamed; empty: both
}

func (c told) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		each(t, func(t *testing.T, streamed bool) {
			if c.only == "whole" && streamed || c.only == "streamed" && !streamed {
				return // the other form cannot be told in this one
			}
			w := newWorld(t, streamed, append(c.answers, say("Reported."))...)
			out := w.turn("t", "do it")
			w.want(out, c.words...)
			w.effects(c.writes, c.effects...)
			if all := w.operations(); len(all) != len(c.effects) {
				t.Errorf("the journal holds %d operations", len(all))
			}
			results := w.told()
			if len(results) != len(c.words) || !strings.Contains(strings.Join(results, "\n"), c.says) {
				t.Errorf("the model was told %q", results)
			}
		})
	})
}

// Kind C: copies and identity of calls inside model turns.
func TestCopiesOfCalls(t *testing.T) {
	var nine []string
	for _, id := range strings.Fields("c1 c2 c3 c4 c5 c6 c7 c8 c9") {
		nine = append(nine, one("create_payment", pay, id))
	}
	copies := []string{one("create_payment", pay, "c1"), one("create_payment", pay, "c1")}
	three := []string{one("create_payment", payOrder("817"), "t1"), one("create_payment", payOrder("818"), "t2"), one("create_payment", payOrder("819"), "t3")}
	two := three[:2]
	tickets := []string{one("create_ticket", ticket("A"), ""), one("create_ticket", ticket("B"), ""), one("create_ticket", ticket("C"), "")}
	turns := func(shapes string) (list []string) {
		for _, title := range []string{"T1", "T2", "T3", "T4"} {
			list = append(list, calls(shapes, one("create_ticket", ticket(title), "Z")))
		}
		return list
	}
	preview := func(raw string) []string {
		return []string{one("create_payment", raw, "p1"), one("create_payment", pay, "p2")}
	}
	all := []string{"817", "818", "819"}
	for _, c := range []told{
		{name: "case-023 nine equal calls", answers: []string{calls("", nine...)}, writes: 1, effects: all[:1], says: "ALREADY DONE: create_payment",
			words: []toolbox.Word{done, already, already, already, already, already, already, already, already}},
		{name: "case-023 nine equal calls at one index", answers: []string{calls("same_index", nine...)}, writes: 1, effects: all[:1],
			words: []toolbox.Word{done, already, already, already, already, already, already, already, already}},
		{name: "case-025 three tickets", answers: []string{calls("", tickets...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"A", "B", "C"}},
		{name: "case-025 three tickets without index", answers: []string{calls("no_index in_pieces", tickets...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"A", "B", "C"}},
		{name: "case-027 one id in every turn", answers: turns(""), words: []toolbox.Word{done, done, done, done}, writes: 4, effects: []string{"T1", "T2", "T3", "T4"}},
		{name: "case-027 one id for every call", answers: []string{calls("equal_ids no_index", tickets...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: []string{"A", "B", "C"}},
		{name: "case-029 delivered twice", answers: []string{calls("twice", one("create_payment", pay, "c1"))}, words: []toolbox.Word{done}, writes: 1, effects: all[:1]},
		{name: "case-029 delivered twice in pieces", answers: []string{calls("twice in_pieces", one("create_payment", pay, "c1"))}, words: []toolbox.Word{done}, writes: 1, effects: all[:1]},
		{name: "case-029 two equal blocks", answers: []string{calls("", copies...)}, words: []toolbox.Word{done}, writes: 1, effects: all[:1]},
		{name: "case-029 two equal blocks without ids", answers: []string{calls("empty_ids", copies...)}, words: []toolbox.Word{done, already}, writes: 1, effects: all[:1]},
		{name: "case-031 snapshots", answers: []string{calls("snapshots", three...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: all},
		{name: "case-031 growing snapshots", answers: []string{calls("snapshots in_pieces no_index", three...)}, words: []toolbox.Word{done, done, done}, writes: 3, effects: all},
		{name: "case-032 preview and final form", answers: []string{calls("", preview(`{"order_id":"817","amo`)...)}, words: []toolbox.Word{invalid, done}, writes: 1, effects: all[:1]},
		{name: "case-032 preview at the same index", answers: []string{calls("same_index", preview(`{"order_id":"817"`)...)}, words: []toolbox.Word{invalid, done}, writes: 1, effects: all[:1]},
		{name: "case-032 preview of another tool, one id", answers: []string{calls("equal_ids no_index", one("create_payment", `{"order_id":"817"`, "Z"), one("create_ticket", ticket("A"), ""))}, words: []toolbox.Word{invalid, done}, writes: 1, effects: []string{"A"}},
		{name: "case-032 preview of the whole call", answers: []string{calls("no_index", preview(pay)...)}, words: []toolbox.Word{done, already}, writes: 1, effects: all[:1]},
		{name: "case-033 every call at index 0", answers: []string{calls("same_index", two...)}, words: []toolbox.Word{done, done}, writes: 2, effects: all[:2]},
		{name: "case-033 every call at index 0 in pieces", answers: []string{calls("same_index in_pieces", two...)}, words: []toolbox.Word{done, done}, writes: 2, effects: all[:2]},
		{name: "case-033 no index", answers: []string{calls("no_index", two...)}, words: []toolbox.Word{done, done}, writes: 2, effects: all[:2]},
		{name: "case-033 no index in pieces", answers: []string{calls("no_index in_pieces", two...)}, words: []toolbox.Word{done, done}, writes: 2, effects: all[:2]},
	} {
		c.run(t)
	}
}

// Every call has one answer under an id of its own, whatever ids the model used: a server refuses a conversation in which they
// do not match.
func TestEveryCallIsAnswered(t *testing.T) {
	w := newWorld(t, false, calls("equal_ids", one("create_ticket", ticket("A"), ""), one("create_ticket", ticket("B"), "")), say("Done."))
	w.turn("t", "go")
	shown := string(w.fake.Core().ModelRequests()[1])
	for _, id := range []string{"call_1_0", "call_1_1"} {
		if strings.Count(shown, `"tool_call_id":"`+id+`"`) != 1 || strings.Count(shown, `"id":"`+id+`"`) != 1 {
			t.Errorf("%s is not called and answered once in %s", id, shown)
		}
	}
	if key := w.operations()[0].Key; strings.Contains(shown, string(key)) {
		t.Error("the model was shown an operation key")
	}
}
