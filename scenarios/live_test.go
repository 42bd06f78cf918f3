package scenarios

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets this test's own binary be the product in a process of its own.
func TestMain(m *testing.M) {
	var in io.Reader
	switch {
	case slices.Contains(os.Args, "--life"):
		in = os.Stdin
	case slices.Contains(os.Args, "--fall"):
		in = &falling{os.Stdin}
	}
	if in != nil {
		if err := Live(in, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// falling is an input that ends before the first call is heard whole.
type falling struct{ io.Reader }

func (f *falling) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if at := strings.Index(string(b[:n]), "order_id"); at >= 0 {
		return at, io.EOF
	}
	return n, err
}

// A story that is explored with processes has the same points, histories and effects as in one process.
func TestExploreProcesses(t *testing.T) {
	self := executable(t)
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"00-seven-steps.yaml"}
	for _, f := range files {
		if !slices.Contains(wanted, f.Name) && os.Getenv("NOTWICE_EXPLORE") == "" {
			continue
		}
		here, err := Explore(t.Context(), f, ExploreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there, err := Explore(t.Context(), f, ExploreOptions{Product: []string{self, "--life"}})
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

func executable(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// The alarm rings with processes too, for what rings in one process.
func TestProcessesRing(t *testing.T) {
	f, err := ParseFile("rings.yaml", []byte(ringing))
	if err != nil {
		t.Fatal(err)
	}
	const at = "fault:payments.create:1:commit_then_timeout"
	x, err := Explore(t.Context(), f, ExploreOptions{Product: []string{executable(t), "--life"}, At: at})
	if err != nil || x.Histories != 1 || x.Duplicates == 0 || len(x.Violations) != 1 || x.Violations[0].At != at {
		t.Fatalf("%v: %+v", err, x)
	}
}

// A process that is none of the product's, and one that ends although nobody struck it, are errors and violations, never silence.
func TestProcessThatFalls(t *testing.T) {
	f, err := ParseFile("rings.yaml", []byte(ringing))
	if err != nil {
		t.Fatal(err)
	}
	self := executable(t)
	for _, product := range [][]string{{self, "-test.run=^$"}, {self + "-that-is-not-there"}} {
		if x, err := Explore(t.Context(), f, ExploreOptions{Product: product}); err == nil {
			t.Errorf("%q was taken for the product: %+v", product, x)
		}
	}
	e, err := f.playTwisted(twist{}, []string{self, "--fall"})
	if said := strings.Join(e.broken, "\n"); err != nil || !strings.Contains(said, "ended by itself: exit status 1: unexpected EOF") {
		t.Errorf("%v: %q", err, said)
	}
}
