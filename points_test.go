package main

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// Points are generated, never placed by hand: one call of a seam more in the product is two points more at which it is killed, before
// and after, in one process as with processes of its own.
func TestPointsGrowWithSeamCalls(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here to build a changed product with")
	}
	more := one("", "", "toolbox/call.go", "\t// 5: find or register,", `	if err := t.journal.Flush(ctx); err != nil {
		return Result{}, err
	}
	// 5: find or register,`)
	list := overlay(t, more.apply(t))
	for _, how := range []string{"--explore", "--processes"} {
		is, grown := pointsOf(t, how), pointsOf(t, how, "-overlay", list)
		if is < 2 || grown != is+2 {
			t.Errorf("%s: %d points, and %d with one call more", how, is, grown)
		}
	}
}

// pointsOf builds the program with flags and asks it how many points a story of one call has.
func pointsOf(t *testing.T, how string, flags ...string) int {
	run := exec.CommandContext(t.Context(), "go", append(append([]string{"run"}, flags...), ".", "test", "01-first-call", how, "--at", "crash:1", "--json")...)
	out, err := run.Output()
	var said struct{ Points int }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return said.Points
}
