package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"notwice/agent"
	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/policy"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

// living is the present life of the product as its story sees it: in this process, or in one that can really be killed.
type living interface {
	// arm lets an announced crash strike in this life, and tells whether it did.
	arm(c Crash) (struck func() bool)
	// work begins steps that stand at a place of the story. The answers are whole when done is closed.
	work(at int, steps []Step, keys map[string]journal.Key) (answers []answer, done <-chan struct{})
	// died reports whether this life was struck.
	died() bool
	// end ends it as a crash does.
	end() error
}

// setting is what a life of the product finds.
type setting struct {
	file     *File
	path     string // of the journal
	provider string // its address
	model    string // the address of the model
	clock    timing
	wire     http.RoundTripper
	random   io.Reader
}

// product is one life of the product in this process.
type product struct {
	setting
	life  *life
	store *boltjournal.Store
	tools *toolbox.Toolbox
}

// live begins a life of the product over the journal as it is.
func live(s setting, l *life) (*product, error) {
	store, err := boltjournal.Open(s.path, boltjournal.Options{})
	if err != nil {
		return nil, err
	}
	p := &product{setting: s, life: l, store: store}
	p.tools, err = toolbox.New(context.Background(), toolbox.Options{
		Journal: lifeJournal{store, l}, Wire: lifeWire{toolbox.DirectWire(), l}, Clock: p.lifeClock(), Random: s.random,
	})
	if err != nil {
		return nil, err
	}
	tools, err := s.file.demonstration(s.provider, s.wire)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		if err := p.tools.Add(tool); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// demonstration are the tools of a story.
func (f *File) demonstration(provider string, wire http.RoundTripper) (tools []toolbox.Tool, err error) {
	place := "fake"
	if f.Provider.At != "" {
		place = "" // its address
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, provider, place, wire, Lay(f.Tools[name]))
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func (p *product) lifeClock() toolbox.Clock {
	if virtual, ok := p.clock.(*Clock); ok {
		return lifeClock{virtual: virtual, life: p.life}
	}
	return lifeClock{Clock: toolbox.RealClock(), life: p.life, start: func(f func()) { p.clock.worker(f, nil) }}
}

// agent is an agent in this life.
func (p *product) agent(wait time.Duration, account string) *agent.Agent {
	client := &http.Client{Transport: p.clock.Transport(&http.Transport{DisableKeepAlives: true})}
	return agent.New(agent.Options{
		Toolbox: p.tools, Model: lifeModel{agent.NewOpenAI(p.model, "none", "scripted", client), p.life},
		Transcript: lifeJournal{p.store, p.life}, Clock: p.lifeClock(), Wait: wait, Account: account,
	})
}

// lifeModel is the model of one life.
type lifeModel struct {
	agent.Model
	life *life
}

func (m lifeModel) Ask(ctx context.Context, c agent.Conversation) (r agent.Reply, err error) {
	m.life.around(ModelAsk, func() { r, err = m.Model.Ask(ctx, c) })
	return r, err
}

func (p *product) arm(c Crash) (struck func() bool) {
	found, left := false, c.Nth
	p.life.mu.Lock()
	p.life.strike = func(at Point) bool {
		if at != c.Point {
			return false
		}
		left--
		found = left == 0
		return found
	}
	p.life.mu.Unlock()
	return func() bool { return found }
}

func (p *product) died() bool { return p.life.ctx.Err() != nil }

func (p *product) end() error {
	p.life.end()
	p.clock.settle()
	return p.store.Drop()
}

// work runs steps as workers of this life.
func (p *product) work(_ int, steps []Step, keys map[string]journal.Key) ([]answer, <-chan struct{}) {
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
		p.clock.worker(func() {
			defer func() {
				if reason := recover(); reason != nil {
					a.err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
				}
			}()
			p.one(s, keys, a)
			a.ended = true
		}, over)
	}
	return answers, done
}

// one does the work of a step, in a worker.
func (p *product) one(s Step, keys map[string]journal.Key, a *answer) {
	switch {
	case s.Call != "":
		p.call(s, a)
	case s.Model != nil:
		p.turn(s, a)
	case s.Rule != "":
		p.rule(s, keys, a)
	case s.Reconcile == "due":
		_, a.err = p.tools.Due(context.Background(), 1000)
	default:
		key, err := p.keyOf(s, s.Reconcile, keys)
		if err != nil {
			a.err = err
			return
		}
		var op journal.Operation
		if op, a.err = p.tools.Step(context.Background(), key, true); a.err == nil {
			a.name, a.result = s.Reconcile, p.tools.Report(op)
		}
	}
}

// keyOf is the operation of a named call: of its latest answer, or, when it crashed before it had one, the newest in the
// journal that bears its values.
func (p *product) keyOf(s Step, name string, keys map[string]journal.Key) (journal.Key, error) {
	if key := keys[name]; key != "" {
		return key, nil
	}
	ops, err := operations(p.store)
	if err != nil {
		return "", err
	}
	call := p.file.Calls[name]
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

func (p *product) call(s Step, a *answer) {
	text, err := p.file.arguments(s)
	if err != nil {
		a.err = err
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.GivesUp != nil {
		ctx, cancel = p.clock.deadline(ctx, p.life.ctx, p.clock.Now().Add(seconds(*s.GivesUp)))
		defer cancel()
	}
	a.result, a.err = p.tools.Call(ctx, toolbox.Call{
		Tool: p.file.Calls[s.Call].Tool, Arguments: text, Task: s.Task, Turn: s.Turn, Account: s.Account, Wait: seconds(s.Wait),
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
func (p *product) rule(s Step, keys map[string]journal.Key, a *answer) {
	key, err := p.keyOf(s, s.Rule, keys)
	if err != nil {
		a.err = err
		return
	}
	ruling := toolbox.Ruling{Decision: s.Decision, By: "person", Why: s.Why, ExternalID: s.ExternalID, For: seconds(s.For), Wait: seconds(s.Wait)}
	if s.Change != nil {
		text, err := p.file.arguments(s)
		if err == nil {
			ruling.RequestHash, err = p.tools.RequestHash(toolbox.Call{Tool: p.file.Calls[s.Rule].Tool, Arguments: text})
		}
		if err != nil {
			a.err = err
			return
		}
	}
	a.name = s.Rule
	a.result, a.err = p.tools.Rule(context.Background(), key, ruling)
	var refused *policy.Refused
	if errors.As(a.err, &refused) {
		a.err, a.name = nil, ""
		a.result = toolbox.Result{Word: toolbox.InvalidCall, Message: "INVALID CALL: " + refused.Why}
	}
}

func (p *product) turn(s Step, a *answer) {
	a.model = true
	message := s.Model.User
	task := s.Task
	if task == "" {
		task = toolbox.DefaultTask
	}
	if s.Resume {
		message = ""
	}
	out, err := p.agent(seconds(s.Wait), s.Account).Turn(context.Background(), task, message)
	a.words, a.says, a.exit, a.err = out.Words, out.Text, out.Exit, err
	if len(out.Receipts) > 0 {
		a.result = out.Receipts[len(out.Receipts)-1]
	}
}
