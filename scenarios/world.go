package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"

	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/boltjournal"
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

	way     way
	product living
	store   *boltjournal.Store // what the checkers read
	random  *rand.ChaCha8
	points  int    // passed in lives that are over
	lives   byte   // begun
	before  *facts // as they were after the step before

	promises map[string]promise // of the tools, by name
	answers  []answerSeen       // of the present step
}

// way is how a story is played.
type way struct {
	strike  int      // the point at which the product dies; 0: none
	product []string // command line of a program that calls Live: the product lives in a process of its own; nil: in this one
	teller  *teller  // hears what happens; nil: nobody does
}

// newWorld starts the provider and the product's first life in an empty folder.
func newWorld(f *File, dir string, how way) (*world, error) {
	w := &world{file: f, way: how, path: filepath.Join(dir, "journal.db"), random: rand.NewChaCha8([32]byte{1}), promises: map[string]promise{}}
	if err := w.provide(); err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	w.wire = w.clock.Transport(httptool.NewTransport())
	err := w.promise()
	if err == nil {
		err = w.begin()
	}
	if err != nil {
		w.fake.Close()
		return nil, err
	}
	how.teller.hear(w)
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

// promise notes what the tools declare.
func (w *world) promise() error {
	tools, err := w.tools().demonstration(w.wire)
	for _, tool := range tools {
		d := tool.Declare()
		w.promises[d.Name] = promiseOf(d.Facts)
	}
	return err
}

// begin starts a life of the product over the journal as it is.
func (w *world) begin() error {
	if w.way.product != nil {
		return w.beginFar()
	}
	p, err := live(setting{w.tools(), w.path, w.fake.URL() + "/v1", w.clock, w.wire, w.random, w.points, w.way.strike, w.way.teller.passes}, newLife(nil))
	if err != nil {
		return err
	}
	w.product, w.store = p, p.store
	return nil
}

// beginFar starts a life in a process of its own. The journal is one file, which this process reads beside it.
func (w *world) beginFar() (err error) {
	if w.store == nil {
		if w.store, err = boltjournal.Open(w.path, boltjournal.Options{}); err != nil {
			return err
		}
	}
	tools := w.tools()
	born := birth{
		Journal: w.path, Provider: tools.provider, Place: tools.place, Model: w.fake.URL() + "/v1", Knobs: map[string][]byte{},
		Seed: [32]byte{1, w.lives}, Points: w.points, Strike: w.way.strike,
	}
	for name, n := range tools.knobs {
		born.Knobs[name] = n.JSON()
	}
	f, err := liveFar(w.way.product, w.clock.(*Clock), born)
	if err != nil {
		return err
	}
	w.product = f
	w.lives++
	return nil
}

func (w *world) tools() toolset {
	place := "fake"
	if w.file.Provider.At != "" {
		place = ""
	}
	return toolset{w.out.URL(), place, w.file.Tools}
}

// restart ends the present life, as a crash does, and begins the next one.
func (w *world) restart() error {
	w.way.teller.dies(w)
	if err := w.die(); err != nil {
		return err
	}
	return w.begin()
}

func (w *world) die() error {
	err := w.product.end()
	w.points = w.product.passed()
	return err
}

func (w *world) close() error {
	w.way.teller.look(w.store)
	err := errors.Join(w.die(), w.fake.Close())
	if w.way.product != nil {
		err = errors.Join(err, w.store.Drop())
	}
	return err
}

// operations reads the whole journal by its public reads.
func (w *world) operations() ([]journal.Operation, error) { return operations(w.store) }

func operations(store *boltjournal.Store) ([]journal.Operation, error) {
	var all []journal.Operation
	q := journal.Query{Limit: 1000}
	for {
		page, next, err := store.List(context.Background(), q)
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
