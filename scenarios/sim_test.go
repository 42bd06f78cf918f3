package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestSimulation(t *testing.T) {
	kinds, err := simKinds()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	bad := 0
	for n := range uint64(20000) {
		w, err := playSim(draw(1, n, kinds), false)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range w.seen {
			seen[k] += v
		}
		if len(w.broken) > 0 {
			if bad++; bad < 6 {
				t.Errorf("%s%v", w.plan, w.broken)
			}
		}
	}
	t.Log(bad, seen)
}

func TestReplay(t *testing.T) {
	kinds, _ := simKinds()
	var n uint64
	fmt.Sscan(os.Getenv("N"), &n)
	w, _ := playSim(draw(1, n, kinds), true)
	t.Logf("%s\n%s\n%v", w.plan, strings.Join(w.story, "\n"), w.broken)
}
