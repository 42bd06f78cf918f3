package scenarios

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"notwice/agent"
	"notwice/canonical/strictyaml"
	"notwice/journal/boltjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

// living is the present life of the product as its story sees it: in this process, or in one that can really be killed.
type living interface {
	// arm lets an announced crash strike in this life, and tells whether it did.
	arm(c Crash) (struck func() bool)
	// work begins errands, each in a worker of its own. The answers are whole when done is closed.
	work(errands []errand) (answers []answer, done <-chan struct{})
	// died reports whether this life was struck.
	died() bool
	// passed is how many points were passed, with those of earlier lives.
	passed() int
	// end ends it as a crash does.
	end() error
}

// setting is what a life of the product finds.
type setting struct {
	toolset
	path   string // of the journal
	model  string // the address of the model
	clock  timing
	wire   http.RoundTripper
	random io.Reader
	points int         // passed in earlier lives
	strike int         // the point at which it dies; 0: none
	passes func(Point) // hears of every point; may be nil
}

// product is one life of the product in this process.
type product struct {
	setting
	life   *life
	store  *boltjournal.Store
	tools  *toolbox.Toolbox
	points atomic.Int64
}

// live begins a life of the product over the journal as it is.
func live(s setting, l *life) (*product, error) {
	store, err := boltjournal.Open(s.path, boltjournal.Options{})
	if err != nil {
		return nil, err
	}
	p := &product{setting: s, life: l, store: store}
	p.points.Store(int64(s.points))
	l.observe = func(at Point) bool {
		if s.passes != nil {
			s.passes(at)
		}
		return p.points.Add(1) == int64(s.strike)
	}
	p.tools, err = toolbox.New(context.Background(), toolbox.Options{
		Journal: lifeJournal{store, l}, Wire: lifeWire{toolbox.DirectWire(), l}, Clock: p.lifeClock(), Random: s.random,
	})
	if err != nil {
		return nil, err
	}
	tools, err := s.demonstration(s.wire)
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

// toolset is which tools a life has.
type toolset struct {
	provider string                      // its address
	place    string                      // what the journal calls it; empty: its address
	knobs    map[string]*strictyaml.Node // laid over the built-in tools
}

// demonstration are the built-in tools, as a story wants them.
func (t toolset) demonstration(wire http.RoundTripper) (tools []toolbox.Tool, err error) {
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, t.provider, t.place, wire, Lay(t.knobs[name]))
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

func (p *product) passed() int { return int(p.points.Load()) }

func (p *product) end() error {
	p.life.end()
	p.clock.settle()
	return p.store.Drop()
}

// work runs errands as workers of this life.
func (p *product) work(errands []errand) ([]answer, <-chan struct{}) {
	answers := make([]answer, len(errands))
	var left atomic.Int32
	left.Store(int32(len(errands)))
	done := make(chan struct{})
	over := func() {
		if left.Add(-1) == 0 {
			close(done)
		}
	}
	for i, e := range errands {
		p.clock.worker(func() { p.run(e, &answers[i]) }, over)
	}
	if len(errands) == 0 {
		close(done)
	}
	return answers, done
}
