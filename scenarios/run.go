package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"notwice/canonical/strictyaml"
	"notwice/journal"
	"notwice/policy"
	"notwice/toolbox"
)

// Report is the end of one story.
type Report struct {
	File     string        `json:"file"`
	Title    string        `json:"title"`
	Passed   bool          `json:"passed"`
	Steps    int           `json:"steps"`
	Failures []Failure     `json:"failures,omitempty"`
	Requests int           `json:"requests"` // writes the provider received
	Effects  int           `json:"effects"`
	Virtual  time.Duration `json:"virtual_ns"` // how far the story's time moved
}

// Failure is what was not as expected, or an invariant that broke, at a step.
type Failure struct {
	Step  int    `json:"step"` // from 1; 0: the story as a whole
	Title string `json:"title"`
	What  string `json:"what"`
}

// Run plays one story. An error means that the story could not be played at all.
func Run(f *File) (Report, error) {
	r := Report{File: f.Name, Title: f.Title(), Steps: len(f.Steps)}
	dir, err := os.MkdirTemp("", "notwice-story-*")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	w, err := newWorld(f, dir)
	var placed *strictyaml.Error
	switch {
	case errors.As(err, &placed):
		return r, placed // it names the file
	case err != nil:
		return r, fmt.Errorf("%s: %w", f.Name, err)
	}
	began := w.clock.Now()
	run := runner{world: w, report: &r, keys: map[string]journal.Key{}}
	for i, step := range f.Steps {
		if err := run.step(i+1, step); err != nil {
			r.Failures = append(r.Failures, Failure{i + 1, step.title(), err.Error()})
			break
		}
	}
	run.finish()
	if err := w.close(); err != nil && len(r.Failures) == 0 {
		r.Failures = append(r.Failures, Failure{0, "end", err.Error()})
	}
	r.Virtual = w.clock.Now().Sub(began)
	r.Passed = len(r.Failures) == 0
	return r, nil
}

type runner struct {
	*world
	report *Report
	keys   map[string]journal.Key // operation of the latest answer of each named call
	turns  map[string]int
	crash  *Crash // strikes in the next step
}

// answer is what one worker of a step came back with.
type answer struct {
	name   string
	result toolbox.Result
	words  []string
	says   string
	exit   int
	err    error
	model  bool
	ended  bool // the worker came to its end; false: it was struck
}

func (r *runner) step(n int, s Step) error {
	struck := r.arm(s)
	var got told
	var inner []told
	var err error
	switch {
	case s.Fault != nil && s.Fault.clear:
		if err = r.unstruck(); err == nil {
			err = r.out.clear()
		}
	case !s.works():
		err = r.befall(s)
	default:
		steps := s.together()
		var answers []answer
		if answers, err = r.together(steps); err == nil {
			got, inner, err = r.combine(answers, steps)
		}
	}
	if err != nil {
		return err
	}
	if struck != nil {
		if !*struck {
			return fmt.Errorf("the crash %s never struck", r.crash.Point)
		}
		r.crash = nil
		got.crashed = true
		if err := r.restart(); err != nil {
			return err
		}
	}
	return r.judge(n, s, got, inner)
}

// arm lets a crash that was announced strike in this step. It returns nil when none was.
func (r *runner) arm(s Step) *bool {
	if r.crash == nil {
		return nil
	}
	struck, left := false, r.crash.Nth
	point := r.crash.Point
	r.life.mu.Lock()
	r.life.strike = func(p Point) bool {
		if p != point {
			return false
		}
		left--
		struck = left == 0
		return struck
	}
	r.life.mu.Unlock()
	return &struck
}

// befall is a step in which the product does nothing: something happens to it.
func (r *runner) befall(s Step) error {
	switch {
	case s.Advance != nil:
		r.clock.advance(seconds(*s.Advance))
	case s.Fault != nil && s.Fault.clear:
		return r.out.clear()
	case s.Fault != nil:
		return r.out.arm(s.Fault.faults...)
	case s.Crash != nil && s.Crash.Now:
		return r.restart()
	case s.Crash != nil:
		r.crash = s.Crash
	}
	return nil
}

func (r *runner) unstruck() error {
	left, err := r.out.unstruck()
	for _, f := range left {
		return fmt.Errorf("the fault %s on %s never struck", f.Do, f.On)
	}
	return err
}

// together runs steps as workers of the present life and moves time until all are over.
func (r *runner) together(steps []Step) ([]answer, error) {
	answers := make([]answer, len(steps))
	var left atomic.Int32
	left.Store(int32(len(steps)))
	done := make(chan struct{})
	over := func() {
		if left.Add(-1) == 0 {
			close(done)
		}
	}
	for i, s := range steps {
		a := &answers[i]
		a.name = s.Call
		r.clock.worker(func() {
			defer func() {
				if p := recover(); p != nil {
					a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}()
			r.one(s, a)
			a.ended = true
		}, over)
	}
	err := r.clock.runUntil(done)
	for _, a := range answers {
		if a.ended && a.err == nil && a.result.Key != "" {
			r.answers = append(r.answers, seenOf(a.result))
		}
	}
	return answers, err
}

// one does the work of a step, in a worker.
func (r *runner) one(s Step, a *answer) {
	switch {
	case s.Call != "":
		r.call(s, a)
	case s.Model != nil:
		r.model(s, a)
	case s.Rule != "":
		r.rule(s, a)
	case s.Reconcile == "due":
		_, a.err = r.tools.Due(context.Background(), 1000)
	default:
		key, err := r.keyOf(s, s.Reconcile)
		if err != nil {
			a.err = err
			return
		}
		var op journal.Operation
		if op, a.err = r.tools.Step(context.Background(), key, true); a.err == nil {
			a.name, a.result = s.Reconcile, r.tools.Report(op)
		}
	}
}

// keyOf is the operation of a named call: of its latest answer, or, when it crashed before it had one, the newest in the
// journal that bears its values.
func (r *runner) keyOf(s Step, name string) (journal.Key, error) {
	if key := r.keys[name]; key != "" {
		return key, nil
	}
	ops, err := r.operations()
	if err != nil {
		return "", err
	}
	call := r.file.Calls[name]
	for _, op := range ops {
		if op.Tool == call.Tool && bears(op, call) {
			return op.Key, nil
		}
	}
	return "", s.Node.Errorf("the call %q has no operation yet", name)
}

func bears(op journal.Operation, call CallFacts) bool {
	for _, f := range op.Fields {
		if f.Value == "" {
			continue
		}
		if given := call.Args.Get(f.Name); given == nil || fmt.Sprint(given.Value) != f.Value {
			return false
		}
	}
	return true
}

func (r *runner) call(s Step, a *answer) {
	text, err := r.file.arguments(s)
	if err != nil {
		a.err = err
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.GivesUp != nil {
		ctx, cancel = r.clock.deadline(ctx, r.life.ctx, r.clock.Now().Add(seconds(*s.GivesUp)))
		defer cancel()
	}
	a.result, a.err = r.tools.Call(ctx, toolbox.Call{
		Tool: r.file.Calls[s.Call].Tool, Arguments: text, Task: s.Task, Turn: s.Turn, Account: s.Account, Wait: seconds(s.Wait),
	})
	switch {
	case a.err == nil:
		a.result.Delivered()
	case ctx.Err() != nil:
		a.err = nil // it gave up, as the story says
	}
}

// rule is a person's decision about the operation of a named call. With `change` it is about exactly those arguments, as a
// person who was shown others would decide.
func (r *runner) rule(s Step, a *answer) {
	key, err := r.keyOf(s, s.Rule)
	if err != nil {
		a.err = err
		return
	}
	ruling := toolbox.Ruling{Decision: s.Decision, By: "person", Why: s.Why, ExternalID: s.ExternalID, For: seconds(s.For), Wait: seconds(s.Wait)}
	if s.Change != nil {
		text, err := r.file.arguments(s)
		if err == nil {
			ruling.RequestHash, err = r.tools.RequestHash(toolbox.Call{Tool: r.file.Calls[s.Rule].Tool, Arguments: text})
		}
		if err != nil {
			a.err = err
			return
		}
	}
	a.name = s.Rule
	a.result, a.err = r.tools.Rule(context.Background(), key, ruling)
	var refused *policy.Refused
	if errors.As(a.err, &refused) {
		a.err, a.name = nil, ""
		a.result = toolbox.Result{Word: toolbox.InvalidCall, Message: "INVALID CALL: " + refused.Why}
	}
}

func (r *runner) model(s Step, a *answer) {
	a.model = true
	message := s.Model.User
	if s.Model.Script != nil {
		r.fake.SetScript(s.Model.Script)
	}
	task := s.Task
	if task == "" {
		task = toolbox.DefaultTask
	}
	if s.Resume {
		message = ""
	}
	out, err := r.agent(seconds(s.Wait), s.Account).Turn(context.Background(), task, message)
	a.words, a.says, a.exit, a.err = out.Words, out.Text, out.Exit, err
	if len(out.Receipts) > 0 {
		a.result = out.Receipts[len(out.Receipts)-1]
	}
}

// finish says what never happened.
func (r *runner) finish() {
	if len(r.report.Failures) > 0 {
		return
	}
	if err := r.unstruck(); err != nil {
		r.report.Failures = append(r.report.Failures, Failure{0, "end", err.Error()})
	}
	if r.crash != nil {
		r.report.Failures = append(r.report.Failures, Failure{0, "end", fmt.Sprintf("the crash %s never struck", r.crash.Point)})
	}
}

// String is a report for people.
func (r Report) String() string {
	var b strings.Builder
	word := "ok  "
	if !r.Passed {
		word = "FAIL"
	}
	fmt.Fprintf(&b, "%s  %s: %s  (%s, %s)", word, r.File, r.Title, countOf(r.Requests, "request"), countOf(r.Effects, "effect"))
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\n      step %d, %s: %s", f.Step, f.Title, f.What)
	}
	return b.String()
}
