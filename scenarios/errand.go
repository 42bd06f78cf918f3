package scenarios

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"notwice/journal"
	"notwice/policy"
	"notwice/toolbox"
)

// errand is what one worker of the product is to do, in plain data: it may be told to another process. One of Call, Turn, Key and
// Due says what.
type errand struct {
	Call    *toolbox.Call
	GivesUp *time.Duration // after which the caller of Call leaves; nil: it stays
	Turn    *modelTurn
	Key     journal.Key     // of an operation that is looked after, or decided on
	Rule    *toolbox.Ruling // the decision
	About   *toolbox.Call   // the request that it is about; nil: the operation's
	Due     bool            // everything that is due
}

// modelTurn is a turn of an agent.
type modelTurn struct {
	Task, Message, Account string // an empty message takes up the task where it stands
	Wait                   time.Duration
}

// answer is what a worker came back with.
type answer struct {
	Result toolbox.Result
	Words  []string // of a turn
	Says   string
	Exit   int
	Err    string // empty: none
	Ours   bool   // the error is a fault of the product, whatever the world did to it
	Ended  bool   // the worker came to its end; false: it was struck

	name  string // of the call that the story makes, decides on or looks after
	model bool
}

// errand makes a step's errand.
func (r *runner) errand(s Step) (e errand, err error) {
	switch {
	case s.Call != "":
		e.Call, err = r.callOf(s, s.Call)
		if s.GivesUp != nil {
			after := seconds(*s.GivesUp)
			e.GivesUp = &after
		}
	case s.Model != nil:
		e.Turn = &modelTurn{Task: s.Task, Message: s.Model.User, Account: s.Account, Wait: seconds(s.Wait)}
		if s.Task == "" {
			e.Turn.Task = toolbox.DefaultTask
		}
		if s.Resume {
			e.Turn.Message = ""
		}
	case s.Rule != "":
		e.Rule = &toolbox.Ruling{Decision: s.Decision, By: "person", Why: s.Why, ExternalID: s.ExternalID, For: seconds(s.For), Wait: seconds(s.Wait)}
		if e.Key, err = r.keyOf(s, s.Rule); err == nil && s.Change != nil {
			e.About, err = r.callOf(s, s.Rule)
		}
	case s.Reconcile == "due":
		e.Due = true
	default:
		e.Key, err = r.keyOf(s, s.Reconcile)
	}
	return e, err
}

func (r *runner) callOf(s Step, name string) (*toolbox.Call, error) {
	text, err := r.file.arguments(s)
	return &toolbox.Call{
		Tool: r.file.Calls[name].Tool, Arguments: text, Task: s.Task, Turn: s.Turn, Account: s.Account, Wait: seconds(s.Wait),
	}, err
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

// run does an errand, in a worker.
func (p *product) run(e errand, a *answer) {
	defer func() {
		if reason := recover(); reason != nil {
			a.Err, a.Ours = fmt.Sprintf("panic: %v\n%s", reason, debug.Stack()), true
		}
	}()
	if err := p.one(e, a); err != nil {
		a.Err, a.Ours = err.Error(), errors.Is(err, journal.ErrInvariant)
	}
	a.Ended = true
}

func (p *product) one(e errand, a *answer) error {
	switch {
	case e.Call != nil:
		return p.call(e, a)
	case e.Turn != nil:
		return p.turn(e.Turn, a)
	case e.Rule != nil:
		return p.rule(e, a)
	case e.Due:
		_, err := p.tools.Due(context.Background(), 1000)
		return err
	}
	op, err := p.tools.Step(context.Background(), e.Key, true)
	if err == nil {
		a.Result = p.tools.Report(op)
	}
	return err
}

func (p *product) call(e errand, a *answer) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if e.GivesUp != nil {
		ctx, cancel = p.clock.deadline(ctx, p.life.ctx, p.clock.Now().Add(*e.GivesUp))
		defer cancel()
	}
	a.Result, err = p.tools.Call(ctx, *e.Call)
	switch {
	case err == nil:
		a.Result.Delivered()
	case ctx.Err() != nil:
		return nil // it gave up, as the story says
	}
	return err
}

// rule is a person's decision about an operation; with About, about exactly that request, as a person who was shown another would
// decide.
func (p *product) rule(e errand, a *answer) (err error) {
	ruling := *e.Rule
	if e.About != nil {
		if ruling.RequestHash, err = p.tools.RequestHash(*e.About); err != nil {
			return err
		}
	}
	a.Result, err = p.tools.Rule(context.Background(), e.Key, ruling)
	var refused *policy.Refused
	if errors.As(err, &refused) {
		a.Result, err = toolbox.Result{Word: toolbox.InvalidCall, Message: "INVALID CALL: " + refused.Why}, nil
	}
	return err
}

func (p *product) turn(t *modelTurn, a *answer) error {
	out, err := p.agent(t.Wait, t.Account).Turn(context.Background(), t.Task, t.Message)
	a.Words, a.Says, a.Exit = out.Words, out.Text, out.Exit
	if len(out.Receipts) > 0 {
		a.Result = out.Receipts[len(out.Receipts)-1]
	}
	return err
}
