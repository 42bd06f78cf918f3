package scenarios

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// simBudget is how many histories the test plays; NOTWICE_SIM raises it.
func simBudget(t *testing.T, small int) int {
	if text := os.Getenv("NOTWICE_SIM"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return small
}

func TestSimulation(t *testing.T) {
	r, err := Simulate(t.Context(), SimOptions{Seed: 1, Histories: simBudget(t, 1500)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d histories, %d operations, %d effects, %d duplicates, %d waiting; %d histories per CPU-hour; trace %s; never: %q",
		r.Histories, r.Operations, r.Effects, r.Duplicates, r.Waiting, r.PerHour, r.Trace, r.Never)
	for _, v := range r.Violations {
		shrunk, err := Shrink(r.Seed, v.History)
		t.Errorf("history %d (notwice sim --seed %d --at %d): %s\n%s %v", v.History, r.Seed, v.History, strings.Join(v.Broken, "\n"), shrunk, err)
	}
	if !r.OK() {
		t.Errorf("never seen: %q", r.Never)
	}
}

// One number chooses everything: the same seed leaves the same trace, another one another.
func TestEqualSeedEqualTrace(t *testing.T) {
	trace := func(seed uint64) string {
		r, err := Simulate(t.Context(), SimOptions{Seed: seed, Histories: 300})
		if err != nil {
			t.Fatal(err)
		}
		return r.Trace
	}
	first, again, other := trace(7), trace(7), trace(8)
	if first != again || first == other {
		t.Errorf("traces %s and %s of one seed, %s of another", first, again, other)
	}
}

// Each limit of what can be promised is really crossed, and what it costs is counted.
func TestSimulatedLimits(t *testing.T) {
	limits, err := SimulateLimits(1, simBudget(t, 300))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range limits {
		t.Logf("%s: %d histories, %d effects, %d duplicates, %d broken", l.Name, l.Histories, l.Effects, l.Duplicates, l.Broken)
		if l.Broken == 0 {
			t.Errorf("%s: nothing came of it; it is not tried", l.Name)
		}
	}
}
