package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"time"

	"notwice/agent"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// world is everything of one story: virtual time, the fake provider, and the product in its present life.
type world struct {
	file  *File
	clock *Clock
	fake  *fakeprovider.Server
	path  string // of the journal
	wire  http.RoundTripper

	life   *life
	store  *boltjournal.Store
	tools  *toolbox.Toolbox
	random *rand.ChaCha8
	before *facts // as they were after the step before
}

// newWorld starts the provider and the product's first life in an empty folder.
func newWorld(f *File, dir string) (*world, error) {
	w := &world{file: f, clock: NewClock(), path: filepath.Join(dir, "journal.db"), random: rand.NewChaCha8([32]byte{1})}
	options := f.Provider.options()
	options.Clock = w.clock
	var err error
	if w.fake, err = fakeprovider.Start(options); err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	w.wire = w.clock.Transport(httptool.NewTransport())
	if err := w.begin(nil); err != nil {
		w.fake.Close()
		return nil, err
	}
	return w, nil
}

// begin starts a life of the product over the journal as it is.
func (w *world) begin(strike Striker) error {
	store, err := boltjournal.Open(w.path, boltjournal.Options{})
	if err != nil {
		return err
	}
	w.store, w.life = store, newLife(strike)
	w.tools, err = toolbox.New(context.Background(), toolbox.Options{
		Journal: lifeJournal{store, w.life}, Wire: lifeWire{toolbox.DirectWire(), w.life}, Clock: w.lifeClock(), Random: w.random,
	})
	if err != nil {
		return err
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, w.fake.URL(), "fake", w.wire, Lay(w.file.Tools[name]))
		if err != nil {
			return err
		}
		if err := w.tools.Add(tool); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) lifeClock() toolbox.Clock { return lifeClock{virtual: w.clock, life: w.life} }

// restart ends the present life, as a crash does, and begins the next one.
func (w *world) restart() error {
	w.life.end()
	w.clock.settle()
	if err := w.store.Drop(); err != nil {
		return err
	}
	return w.begin(nil)
}

func (w *world) close() error {
	w.life.end()
	w.clock.settle()
	return errors.Join(w.store.Drop(), w.fake.Close())
}

// agent is an agent in the present life.
func (w *world) agent(wait time.Duration, account string) *agent.Agent {
	client := &http.Client{Transport: w.clock.Transport(&http.Transport{DisableKeepAlives: true})}
	return agent.New(agent.Options{
		Toolbox: w.tools, Model: lifeModel{agent.NewOpenAI(w.fake.URL()+"/v1", "none", "scripted", client), w.life},
		Transcript: lifeJournal{w.store, w.life}, Clock: w.lifeClock(), Wait: wait, Account: account,
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

// operations reads the whole journal by its public reads.
func (w *world) operations() ([]journal.Operation, error) {
	var all []journal.Operation
	q := journal.Query{Limit: 1000}
	for {
		page, next, err := w.store.List(context.Background(), q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		q.Before = next
	}
}
