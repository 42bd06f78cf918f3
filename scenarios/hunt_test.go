package scenarios

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestHunt says after how many histories a rule is first seen broken. It is run over a product that was broken on purpose
// (TestMutants, in the root); over a sound one it finds nothing. NOTWICE_HUNT names the rule.
func TestHunt(t *testing.T) {
	rule := os.Getenv("NOTWICE_HUNT")
	if rule == "" {
		t.Skip("NOTWICE_HUNT names no rule; TestMutants of the root sets it")
	}
	others := map[string]bool{}
	if n := huntSimulation(t, rule, others); n > 0 {
		fmt.Printf("HUNT caught %s simulation %d\n", rule, n)
		return
	}
	if n := huntStories(t, rule, others); n > 0 {
		fmt.Printf("HUNT caught %s stories %d\n", rule, n)
		return
	}
	var names []string
	for name := range others {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Printf("HUNT missed %s; broken were: %s\n", rule, strings.Join(names, "; "))
}

const huntBudget = 16384

func huntSimulation(t *testing.T, rule string, others map[string]bool) int {
	kinds, err := simKinds()
	if err != nil {
		t.Fatal(err)
	}
	r := SimReport{Seed: 1, Sometimes: map[string]int{}}
	for from := 0; from < huntBudget; from += 256 {
		ends, err := r.play(kinds, "", uint64(from), 256)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range ends {
			if breaks(e.broken, rule, others) {
				return from + i + 1
			}
		}
	}
	return 0
}

func huntStories(t *testing.T, rule string, others map[string]bool) int {
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		r, err := Run(f)
		if err != nil {
			continue
		}
		var broken []string
		for _, failure := range r.Failures {
			broken = append(broken, failure.What)
		}
		if breaks(broken, rule, others) {
			return huntBudget + i + 1
		}
	}
	return 0
}

func breaks(broken []string, rule string, others map[string]bool) (found bool) {
	for _, b := range broken {
		name, _, _ := strings.Cut(b, ":")
		if name == rule {
			found = true
		} else if len(others) < 12 {
			others[strings.Join(strings.Fields(b)[:min(8, len(strings.Fields(b)))], " ")] = true
		}
	}
	return found
}
