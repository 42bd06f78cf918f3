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
	clock timing
	fake  *fakeprovider.Server // plays the model; the provider too, unless it is elsewhere
	out   outside
	path  string // of the journal
	wire  http.RoundTripper

	life   *life
	store  *boltjournal.Store
	tools  *toolbox.Toolbox
	random *rand.ChaCha8
	before *facts // as they were after the step before

	promises map[string]promise // of the tools, by name
	answers  []answerSeen       // of the present step

	observe Striker // of every life; nil: nobody watches
}

// newWorld starts the provider and the product's first life in an empty folder.
func newWorld(f *File, dir string) (*world, error) {
	w := &world{file: f, path: filepath.Join(dir, "journal.db"), random: rand.NewChaCha8([32]byte{1}), promises: map[string]promise{}}
	if err := w.provide(); err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	w.wire = w.clock.Transport(httptool.NewTransport())
	if err := w.begin(nil); err != nil {
		w.fake.Close()
		return nil, err
	}
	return w, nil
}

// provide starts the provider in virtual time, or finds the one that is elsewhere, in real time.
func (w *world) provide() (err error) {
	if at := w.file.Provider.At; at != "" {
		there, err := fakeprovider.Dial(at)
		if err != nil {
			return err
		}
		w.clock, w.out = &realTime{}, elsewhere{there}
		w.fake, err = fakeprovider.Start(fakeprovider.Options{})
		return err
	}
	clock := NewClock()
	options := w.file.Provider.options()
	options.Clock = clock
	if w.fake, err = fakeprovider.Start(options); err == nil {
		w.clock, w.out = clock, inProcess{w.fake}
	}
	return err
}

// begin starts a life of the product over the journal as it is.
func (w *world) begin(strike Striker) error {
	store, err := boltjournal.Open(w.path, boltjournal.Options{})
	if err != nil {
		return err
	}
	w.store, w.life = store, newLife(strike)
	w.life.observe = w.observe
	w.tools, err = toolbox.New(context.Background(), toolbox.Options{
		Journal: lifeJournal{store, w.life}, Wire: lifeWire{toolbox.DirectWire(), w.life}, Clock: w.lifeClock(), Random: w.random,
	})
	if err != nil {
		return err
	}
	place := "fake"
	if w.file.Provider.At != "" {
		place = "" // its address
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, w.out.URL(), place, w.wire, Lay(w.file.Tools[name]))
		if err != nil {
			return err
		}
		if err := w.tools.Add(tool); err != nil {
			return err
		}
		w.promises[name] = promiseOf(tool.Declare().Facts)
	}
	return nil
}

func (w *world) lifeClock() toolbox.Clock {
	if virtual, ok := w.clock.(*Clock); ok {
		return lifeClock{virtual: virtual, life: w.life}
	}
	return lifeClock{Clock: toolbox.RealClock(), life: w.life, start: func(f func()) { w.clock.worker(f, nil) }}
}

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
