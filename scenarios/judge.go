package scenarios

import (
	"errors"
	"fmt"

	"notwice/journal"
)

// combine makes one sight of what the workers came back with, beside the sight of each.
func (r *runner) combine(answers []answer, steps []Step) (all told, each []told, err error) {
	for i, a := range answers {
		if !a.Ended && r.product.died() && a.Err == "" {
			each = append(each, told{crashed: true})
			continue
		}
		if a.Err != "" && len(steps) > 1 {
			a.Err = innerTitle(steps, i) + ": " + a.Err
		}
		if a.Err != "" {
			return all, nil, errors.New(a.Err)
		}
		r.remember(a)
		one := a.told()
		each = append(each, one)
		all.words, all.says, all.exit = append(all.words, one.words...), one.says, one.exit
	}
	if len(each) == 1 {
		return each[0], each, nil
	}
	return all, each, nil
}

// remember keeps which operation a named call last was.
func (r *runner) remember(a answer) {
	if a.Result.Key != "" && a.name != "" {
		r.keys[a.name] = journal.Key(a.Result.Key)
	}
}

// innerTitle is what a report calls one of several steps that ran at once.
func innerTitle(steps []Step, i int) string {
	return fmt.Sprintf("%s (%d of %d)", steps[i].title(), i+1, len(steps))
}

// told is what an answer says.
func (a answer) told() (t told) {
	res := a.Result
	if a.model {
		t.words, t.says, t.exit = a.Words, a.Says, a.Exit
	} else if res.Word != "" {
		t.words = []string{string(res.Word)}
		t.exit = res.Word.Exit()
	}
	if res.Word == "" {
		return t
	}
	t.answered = true
	t.status, t.word, t.evidence, t.externalID, t.message = res.Status, string(res.Word), res.Evidence, res.ExternalID, res.Message
	t.attempts, t.repeat, t.heuristic, t.waits, t.rests, t.differs = res.Attempts, res.Repeat, res.Heuristic, res.Waits, res.Rests, res.Differs
	return t
}

// judge compares what is seen with what is expected, and checks the invariants. What the steps of parallel expect is compared
// with their own answers, and with the state after all of them.
func (r *runner) judge(n int, s Step, got told, inner []told) error {
	state, err := r.look()
	if err != nil {
		return err
	}
	fail := func(what string) {
		r.report.Failures = append(r.report.Failures, Failure{n, s.title(), what})
	}
	for _, miss := range s.misses(seen{got, state}) {
		fail(miss)
	}
	for i, step := range s.Parallel {
		for _, miss := range step.misses(seen{inner[i], state}) {
			fail(innerTitle(s.Parallel, i) + ": " + miss)
		}
	}
	if r.file.Always != nil {
		for _, miss := range r.file.Always.misses(seen{got, state}) {
			fail("always: " + miss)
		}
	}
	for _, broken := range r.check() {
		fail(broken)
	}
	return nil
}

// misses lists what the step expects and does not see.
func (s Step) misses(got seen) []string {
	if s.Expect == nil {
		return nil
	}
	if s.Expect.ofAnswer(s.Model != nil) && !got.answered {
		return []string{"an answer is expected, and the step has none"}
	}
	return s.Expect.misses(got)
}

// look counts at the provider and in the journal.
func (r *runner) look() (got counted, err error) {
	effects, err := r.out.effects(r.clock.Now())
	if err != nil {
		return got, err
	}
	for _, e := range effects {
		got.effects.add(kindOf(e.Kind, e.Action))
	}
	requests, err := r.out.requests()
	if err != nil {
		return got, err
	}
	for _, q := range requests.List {
		switch q.Action {
		case "create", "cancel":
			got.requests.add(kindOf(q.Kind, q.Action))
		case "get", "search":
			got.lookups.add(q.Kind)
		}
	}
	got.models = r.fake.Core().Requests().Model
	ops, err := r.operations()
	if err != nil {
		return got, err
	}
	got.operations = len(ops)
	for _, op := range ops {
		if op.InReview() {
			got.review++
		}
		got.contradictions += len(op.Flags)
	}
	for _, body := range r.fake.Core().ModelRequests() {
		got.sees = append(got.sees, string(body))
	}
	r.report.Requests, r.report.Effects = got.requests.all, got.effects.all
	return got, nil
}

// kindOf is the name under which a story counts a write or an effect.
func kindOf(kind, action string) string {
	if action == "cancel" {
		return kind + ".cancel"
	}
	return kind
}
