package scenarios

import (
	"os"
	"testing"
)

// A story in which one process, one provider and one model each go wrong in every way that is found.
func TestExploreSevenSteps(t *testing.T) {
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("NOTWICE_EXPLORE") == "" {
		files = files[:1]
	}
	for _, f := range files {
		x, err := Explore(t.Context(), f, ExploreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d points, %d histories, %d effects, %d duplicates, %d lost, %d waiting, %d beyond the limits", x.File, x.Points, x.Histories, x.Effects, x.Duplicates, x.Lost, x.Waiting, len(x.Limits))
		for _, v := range x.Violations {
			t.Errorf("%s --at %s (%s): %v", x.File, v.At, v.Name, v.Broken)
		}
	}
}

const ringing = `
story: The tool says that a look-up shows everything at once; the provider shows it after an hour, and ignores keys.
provider: {key: ignored, search: {lag: 1h}}
tools: {create_payment: {resend: after_absence, lookup: {visibility_window: 1s}}}
calls:
  pay: {tool: create_payment, args: {order_id: "817", amount_minor: 490000, currency: RUB}}
steps:
  - {call: pay, wait: 1m, expect: {status: succeeded, requests: 1, effects: 1}}
`

// The alarm rings: a tool that declares more than its provider keeps pays twice, and the exploration says so, with the history that
// replays it.
func TestExplorationRings(t *testing.T) {
	f, err := ParseFile("rings.yaml", []byte(ringing))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(f); err != nil || !r.Passed {
		t.Fatalf("by itself it passes: %v %s", err, r)
	}
	x, err := Explore(t.Context(), f, ExploreOptions{})
	if err != nil || x.Duplicates == 0 || len(x.Violations) == 0 {
		t.Fatalf("%v: %+v", err, x)
	}
	v := x.Violations[0]
	again, err := Explore(t.Context(), f, ExploreOptions{At: v.At})
	if err != nil || again.Histories != 1 || len(again.Violations) != 1 || again.Violations[0].At != v.At {
		t.Errorf("replay of %s: %v: %+v", v.At, err, again)
	}
	if _, err := Explore(t.Context(), f, ExploreOptions{At: "crash:100000"}); err == nil {
		t.Error("a history that does not exist was played")
	}
}
