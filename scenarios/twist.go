package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/scenarios/demo"
)

// twists are all histories of a story: the plain one showed how many points and which requests there are.
func (f *File) twists(plain end) []twist {
	var all []twist
	for n := 1; n <= plain.points; n++ {
		all = append(all, crashAt(n))
	}
	seen := map[string]int{}
	for _, r := range plain.requests {
		on := r.Kind + "." + r.Action
		if r.Kind == "" || r.Kind == "model" || r.Action == "" {
			continue
		}
		seen[on]++
		all = append(all, faultsAt(on, seen[on])...)
	}
	for _, b := range bends {
		if bent := b.bend(f); bent != nil {
			all = append(all, twist{at: "model:" + b.name, name: b.says, bend: b.bend})
		}
	}
	return all
}

// crashAt is the history in which the process dies at a point.
func crashAt(n int) twist {
	return twist{at: fmt.Sprintf("crash:%d", n), name: fmt.Sprintf("the process dies at point %d", n), strike: n}
}

// wrong is one fault that an exploration tries on every request of its sort. limit: nothing can be promised then (DESIGN §6): the
// provider lies in its look-up, or executes later than its tool declares.
type wrong struct {
	do    string
	more  string
	limit bool
}

var wrongWrites = []wrong{
	{do: "commit_then_timeout"}, {do: "timeout_no_commit"}, {do: "commit_then_reset"}, {do: "reset_no_commit"},
	{do: "late_commit", more: `,"after":"5s"`}, {do: "late_commit", more: `,"after":"1h"`, limit: true},
	{do: "commit_then_error", more: `,"status":500`}, {do: "error_no_commit", more: `,"status":500`},
	{do: "commit_then_error", more: `,"status":503,"html":true,"retry_after":"30s"`}, {do: "error_no_commit", more: `,"status":502,"html":true`},
	{do: "error_200"}, {do: "html_200", more: `,"commit":true`}, {do: "html_200", more: `,"commit":false`},
	{do: "truncated", more: `,"commit":true`}, {do: "truncated", more: `,"commit":false`}, {do: "drip", more: `,"bytes":1,"every":"100ms"`},
	{do: "reject", more: `,"status":422,"code":"declined"`}, {do: "throttle", more: `,"retry_after":"20s"`}, {do: "still_running"},
	{do: "other_operations_answer"}, {do: "wrong_echo", more: `,"field":"status","value":"odd"`},
	{do: "redirect", more: `,"status":307,"to":"/elsewhere","commit":true`}, {do: "redirect", more: `,"status":308,"to":"/elsewhere","commit":false`},
	{do: "commit_twice"}, {do: "slow", more: `,"for":"30s"`},
}

var wrongLooks = []wrong{
	{do: "lookup_error", more: `,"status":500`}, {do: "lookup_error", more: `,"html":true`}, {do: "lookup_error", more: `,"empty_object":true`},
	{do: "lookup_multi"}, {do: "slow", more: `,"for":"30s"`}, {do: "lookup_lag", more: `,"for":"1s"`},
	{do: "lookup_lag", more: `,"for":"1h"`, limit: true}, {do: "lookup_empty", limit: true}, {do: "lookup_miss", more: `,"every":1`, limit: true},
	{do: "lookup_renamed", more: `,"field":"key"`, limit: true}, {do: "lookup_hidden", more: `,"page":1`, limit: true},
}

// faultsAt are the histories in which the n-th request of a sort goes wrong.
func faultsAt(on string, n int) (all []twist) {
	list := wrongWrites
	if strings.HasSuffix(on, ".get") || strings.HasSuffix(on, ".search") {
		list = wrongLooks
	}
	tried := map[string]int{}
	for _, w := range list {
		faults, err := fakeprovider.ParseFaults(fmt.Appendf(nil, `{"on":%q,"do":%q,"nth":%d%s}`, on, w.do, n, w.more))
		if err != nil {
			continue // not on this sort of request
		}
		name := w.do
		if tried[w.do]++; tried[w.do] > 1 {
			name = fmt.Sprintf("%s#%d", w.do, tried[w.do])
		}
		all = append(all, twist{
			at: fmt.Sprintf("fault:%s:%d:%s", on, n, name), name: fmt.Sprintf("request %d of %s: %s%s", n, on, w.do, w.more), fault: &faults[0], limit: w.limit,
		})
	}
	return all
}

// bends are what a model does that re-plans: nothing of it is a new wish.
var bends = []struct {
	name, says string
	bend       func(*File) *File // nil: the story has nothing of the sort
}{
	{"repeat", "every call is made again", behind(repeated)},
	{"another-task", "every call is made again in another task, where the tool's scope is the journal", behind(inAnotherTask)},
	{"reword", "every call is made again in other words", behind(reworded)},
	{"invented-key", "every call is made again with a key of the model's own", behind(keyed)},
	{"nine", "every call is made nine times at once", nineTimes},
	{"twice-in-a-message", "every call of the model stands in its message twice, under other ids", twiceInAMessage},
}

// behind adds a step behind every call.
func behind(next func(*File, Step) (Step, bool)) func(*File) *File {
	return func(f *File) *File {
		bent := *f
		bent.Steps = nil
		for _, s := range f.Steps {
			bent.Steps = append(bent.Steps, s)
			if s.Call == "" || s.GivesUp != nil {
				continue
			}
			if more, ok := next(f, s); ok {
				more.Expect = nil
				bent.Steps = append(bent.Steps, more)
			}
		}
		if len(bent.Steps) == len(f.Steps) {
			return nil
		}
		return &bent
	}
}

func repeated(_ *File, s Step) (Step, bool) { return s, true }

func inAnotherTask(f *File, s Step) (Step, bool) {
	d, err := demo.Declare(f.Calls[s.Call].Tool, "http://127.0.0.1:1", "fake")
	if lay := Lay(f.Tools[d.Name]); err == nil && lay != nil {
		d.Facts, err = lay(d.Facts)
	}
	if err != nil || !d.Shape.HasIdentity() || d.Facts.Scope != "" && d.Facts.Scope != "journal" {
		return s, false
	}
	s.Task = "another"
	return s, true
}

func reworded(f *File, s Step) (Step, bool) {
	d, err := demo.Declare(f.Calls[s.Call].Tool, "http://127.0.0.1:1", "fake")
	if err != nil || !d.Shape.HasIdentity() {
		return s, false
	}
	i := slices.IndexFunc(d.Shape.Fields, func(field canonical.Field) bool { return field.Role == canonical.Prose })
	if i < 0 {
		return s, false
	}
	return withArgument(f, s, d.Shape.Fields[i].Name, "The same, in quite other words.")
}

func keyed(f *File, s Step) (Step, bool) {
	return withArgument(f, s, "idempotency_key", "a-fresh-one")
}

func withArgument(f *File, s Step, name string, value any) (Step, bool) {
	text, err := f.arguments(s)
	if err != nil {
		return s, false
	}
	args, err := canonical.ParseObject(text)
	if err != nil {
		return s, false
	}
	args[name] = value
	if text, err = canonical.Plain(args); err != nil {
		return s, false
	}
	raw := string(text)
	s.Raw, s.Change, s.Omit = &raw, nil, nil
	return s, true
}

func nineTimes(f *File) *File {
	bent, changed := *f, false
	bent.Steps = nil
	for _, s := range f.Steps {
		if s.Call != "" && s.GivesUp == nil {
			one := s
			one.Expect = nil
			s = Step{Node: s.Node, Name: s.Name, Parallel: slices.Repeat([]Step{one}, 9)}
			changed = true
		}
		bent.Steps = append(bent.Steps, s)
	}
	if !changed {
		return nil
	}
	return &bent
}

func twiceInAMessage(f *File) *File {
	bent, changed := *f, false
	bent.Steps = slices.Clone(f.Steps)
	for i, s := range bent.Steps {
		if s.Model == nil || s.Model.Script == nil {
			continue
		}
		m, script := *s.Model, *s.Model.Script
		script.Answers = slices.Clone(script.Answers)
		for n := range script.Answers {
			a := &script.Answers[n]
			calls := slices.Clone(a.Calls)
			if a.Call != nil {
				calls = append(calls, *a.Call)
			}
			for _, c := range slices.Clone(calls) {
				c.ID = ""
				calls, changed = append(calls, c), true
			}
			a.Call, a.Calls = nil, calls
		}
		m.Script = &script
		bent.Steps[i].Model = &m
	}
	if !changed {
		return nil
	}
	return &bent
}
