package scenarios

import (
	"fmt"
	"io"
	"os"
	"reflect"
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
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	here, err := Explore(t.Context(), files[0], ExploreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	there, err := Explore(t.Context(), files[0], ExploreOptions{Product: []string{executable(t), "--life"}})
	if err != nil {
		t.Fatal(err)
	}
	there.Processes = false
	if here.Histories < 50 || len(here.Violations) > 0 || !reflect.DeepEqual(here, there) {
		t.Errorf("in this process %+v\nin others %+v", here, there)
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
