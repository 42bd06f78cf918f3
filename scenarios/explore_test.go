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
		x, err := Explore(f, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d points, %d histories, %d effects, %d duplicates, %d lost, %d waiting, %d beyond the limits", x.File, x.Points, x.Histories, x.Effects, x.Duplicates, x.Lost, x.Waiting, len(x.Limits))
		for _, v := range x.Violations {
			t.Errorf("%s --at %s (%s): %v", x.File, v.At, v.Name, v.Broken)
		}
	}
}
