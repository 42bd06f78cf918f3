package scenarios

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"notwice/canonical/strictyaml"
	"notwice/journal"
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
func Run(f *File) (Report, error) { return f.play(nil) }

// play plays the story; t, where not nil, hears what happens.
func (f *File) play(t *teller) (Report, error) {
	r := Report{File: f.Name, Title: f.Title(), Steps: len(f.Steps)}
	dir, err := os.MkdirTemp("", "notwice-story-*")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	w, err := newWorld(f, dir, way{teller: t})
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
	crash  *Crash                 // strikes in the next step
}

func (r *runner) step(n int, s Step) error {
	struck := r.arm()
	r.way.teller.begins(r.world, s)
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
		if !struck() {
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

// arm lets a crash that was announced strike from this step on. What it returns tells whether it struck; nil: none was announced.
func (r *runner) arm() (struck func() bool) {
	if r.crash == nil {
		return nil
	}
	return r.product.arm(*r.crash)
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

// together runs steps as workers of the present life and moves time until all are over. A step of which nothing can be asked has an
// answer that says so.
func (r *runner) together(steps []Step) ([]answer, error) {
	answers := make([]answer, len(steps))
	var errands []errand
	var places []int
	for i, s := range steps {
		if s.Model != nil && s.Model.Script != nil {
			r.fake.SetScript(s.Model.Script)
		}
		e, err := r.errand(s)
		if err != nil {
			answers[i] = answer{Err: err.Error(), Ended: true}
			continue
		}
		errands, places = append(errands, e), append(places, i)
	}
	got, done := r.product.work(errands)
	err := r.clock.runUntil(done)
	for n, i := range places {
		answers[i] = got[n]
	}
	for i, s := range steps {
		a := &answers[i]
		a.model = s.Model != nil
		if a.name = s.Call + s.Rule + s.Reconcile; a.Ended && a.Err == "" && a.Result.Key != "" { // a step has one verb
			r.answers = append(r.answers, seenOf(a.Result))
		}
	}
	r.way.teller.answered(r.world, steps, answers)
	return answers, err
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
