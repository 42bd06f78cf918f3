package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
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
	plain, changed := build(t), build(t, "-overlay", overlay(t, more.apply(t)))
	for _, how := range []string{"--explore", "--processes"} {
		if is, grown := pointsOf(t, plain, how), pointsOf(t, changed, how); is < 2 || grown != is+2 {
			t.Errorf("%s: %d points, and %d with one call more", how, is, grown)
		}
	}
}

// build builds the program.
func build(t *testing.T, flags ...string) string {
	program := filepath.Join(t.TempDir(), "notwice.exe")
	out, err := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), ".")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// pointsOf asks a program how many points a story of one call has.
func pointsOf(t *testing.T, program, how string) int {
	out, err := exec.Command(program, "test", "01-first-call", how, "--at", "crash:1", "--json").Output()
	var said struct{ Points int }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return said.Points
}
