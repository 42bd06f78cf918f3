package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shippedStory is one shipped story.
func shippedStory(t *testing.T, name string) *File {
	t.Helper()
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f *File) bool { return strings.HasPrefix(f.Name, name) })
	if i < 0 {
		t.Fatalf("no story %s is shipped", name)
	}
	return files[i]
}

// inOrder fails the test unless a telling has the parts, each "LANE: text", one behind the other.
func inOrder(t *testing.T, told Telling, parts ...string) {
	t.Helper()
	rest := told.Told
	for _, part := range parts {
		lane, text, _ := strings.Cut(part, ": ")
		i := slices.IndexFunc(rest, func(x Told) bool { return x.Lane == lane && strings.Contains(x.What, text) })
		if i < 0 {
			t.Fatalf("not there, or not behind the part before it: %q in\n%s", part, told)
		}
		rest = rest[i+1:]
	}
	if !slices.IsSortedFunc(told.Told, func(a, b Told) int { return int(a.At - b.At) }) {
		t.Errorf("not in the order of time:\n%s", told)
	}
}

func toldStory(t *testing.T, name string) Telling {
	t.Helper()
	r, told, err := RunTold(shippedStory(t, name))
	if err != nil || !r.Passed || len(told.Broken) > 0 {
		t.Fatalf("%v: %s", err, r)
	}
	return told
}

func TestTellingOfALostAnswer(t *testing.T) {
	inOrder(t, toldStory(t, "04-answer-lost-never-committed"),
		"provider: timeout_no_commit", "caller: create_payment", "journal: claimed", "wire: POST /payments", "wire: timeout_no_commit strikes it",
		"journal: outcome: attempt 1, unknown, timeout", "journal: is unknown", "caller: NOT CONFIRMED", "machine: 4s pass", "wire: GET /payments", "journal: look_up",
		"wire: POST /payments", "provider: effect", "journal: is succeeded", "caller: ALREADY DONE")
	inOrder(t, toldStory(t, "00-seven-steps"),
		"wire: POST /payments", "provider: effect", "journal: outcome: attempt 1, unknown, timeout", "wire: GET /payments", "journal: look_up", "journal: is succeeded", "caller: CONFLICT")
}

func TestTellingOfACrashAPersonAndAModel(t *testing.T) {
	inOrder(t, toldStory(t, "06-crash-after-the-call"),
		"provider: effect", "process: dies before journal.settle", "caller: due work", "wire: GET /payments", "journal: is succeeded")
	inOrder(t, toldStory(t, "24-a-person-says-it-happened"),
		"person: decides happened of pay, because it stands", "journal: ruled", "person: is answered", "person: decides resend")
	inOrder(t, toldStory(t, "21-two-equal-calls-in-one-message"),
		"caller: the model is told", "caller: the model is asked: Pay order 817", "provider: effect", "caller: the model called create_payment", "caller: ALREADY DONE", "caller: the turn ends")
}

// The telling of a failed story names what failed.
func TestTellingOfAFailure(t *testing.T) {
	f := shippedStory(t, "03-answer-lost-then-found")
	f.Steps = slices.Clone(f.Steps)
	for i := range f.Steps {
		if f.Steps[i].Expect != nil {
			f.Steps[i].Expect = &Expect{Effects: &Counts{all: &Number{n: 7}}}
		}
	}
	r, told, err := RunTold(f)
	if err != nil || r.Passed || len(told.Broken) != len(r.Failures) || !strings.Contains(fmt.Sprint(told.Broken), "effects: expected 7, got 1") {
		t.Errorf("%v: %v: %s", err, told.Broken, r)
	}
}

// A history of an exploration is told with what goes wrong in it, also where it breaks nothing.
func TestTellingOfAHistory(t *testing.T) {
	f := shippedStory(t, "00-seven-steps")
	told, err := TellHistory(f, ExploreOptions{At: "crash:4"})
	if err != nil || len(told.Broken) > 0 {
		t.Fatalf("%v: %v", err, told.Broken)
	}
	inOrder(t, told, "caller: create_payment", "process: the process dies before wire.send", "caller: pay has no answer", "process: a new process", "caller: create_payment", "machine: the story is over")
	if !strings.Contains(told.Plan, "and besides: the process dies at point 4") {
		t.Error(told.Plan)
	}
	told, err = TellHistory(f, ExploreOptions{At: "fault:payments.search:1:lookup_error"})
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, told, "wire: GET /payments", "wire: lookup_error strikes it", "journal: look_up")
	if _, err := TellHistory(f, ExploreOptions{At: "crash:99999"}); err == nil {
		t.Error("a history that does not exist was told")
	}
}

// Telling changes nothing: what is told ends as what is not.
func TestTellingChangesNothing(t *testing.T) {
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r, told, err := RunTold(f)
			if err != nil || !r.Passed {
				t.Fatalf("%v: %s", err, r)
			}
			effects := 0
			for _, x := range told.Told {
				if x.Lane == "provider" && strings.HasPrefix(x.What, "effect ") {
					effects++
				}
			}
			if effects != r.Effects {
				t.Errorf("%d of %d effects are told:\n%s", effects, r.Effects, told)
			}
		})
	}
}
