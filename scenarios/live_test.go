package scenarios

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// TestMain lets this test's own binary be the product in a process of its own.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--life") {
		if err := Live(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A story that is explored with processes has the same points, histories and effects as in one process.
func TestExploreProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"00-seven-steps.yaml"}
	for _, f := range files {
		if !slices.Contains(wanted, f.Name) && os.Getenv("NOTWICE_EXPLORE") == "" {
			continue
		}
		here, err := Explore(f, "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		there, err := Explore(f, "", []string{self, "--life"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d points, %d histories, %d effects, %d duplicates, %d lost, %d waiting", f.Name, there.Points, there.Histories, there.Effects, there.Duplicates, there.Lost, there.Waiting)
		for _, v := range there.Violations {
			t.Errorf("%s --at %s (%s): %v", f.Name, v.At, v.Name, v.Broken)
		}
		if here.Points != there.Points || here.Histories != there.Histories || here.Effects != there.Effects || here.Waiting != there.Waiting {
			t.Errorf("%s: here %d points, %d histories, %d effects, %d waiting", f.Name, here.Points, here.Histories, here.Effects, here.Waiting)
		}
	}
}
