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

	product living
	store   *boltjournal.Store // what the checkers read
	random  *rand.ChaCha8
	before  *facts // as they were after the step before

	promises map[string]promise // of the tools, by name
	answers  []answerSeen       // of the present step

	watched bool // the points of every life are counted
	points  int  // so far
	strike  int  // the point at which the product dies; 0: none

	teller *teller // hears what happens; nil: nobody does
}

// newWorld starts the provider and the product's first life in an empty folder.
func newWorld(f *File, dir string) (*world, error) {
	w := &world{file: f, path: filepath.Join(dir, "journal.db"), random: rand.NewChaCha8([32]byte{1}), promises: map[string]promise{}}
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
	tools, err := w.file.demonstration(w.out.URL(), w.wire)
	for _, tool := range tools {
		d := tool.Declare()
		w.promises[d.Name] = promiseOf(d.Facts)
	}
	return err
}

// begin starts a life of the product over the journal as it is.
func (w *world) begin() error {
	l := newLife(nil)
	if w.watched {
		l.observe = w.passed
	}
	p, err := live(w.setting(), l)
	if err != nil {
		return err
	}
	w.product, w.store = p, p.store
	return nil
}

func (w *world) setting() setting {
	return setting{w.file, w.path, w.out.URL(), w.fake.URL() + "/v1", w.clock, w.wire, w.random}
}

// watch counts the points of this life and of those to come, and lets the product die at one of them; 0: at none.
func (w *world) watch(strike int) {
	w.watched, w.strike = true, strike
	l := w.product.(*product).life
	l.mu.Lock()
	l.observe = w.passed
	l.mu.Unlock()
}

func (w *world) passed(p Point) bool {
	w.teller.passes(p)
	w.points++
	return w.points == w.strike
}

// restart ends the present life, as a crash does, and begins the next one.
func (w *world) restart() error {
	w.teller.dies(w)
	if err := w.product.end(); err != nil {
		return err
	}
	return w.begin()
}

func (w *world) close() error {
	w.teller.look(w.store)
	return errors.Join(w.product.end(), w.fake.Close())
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
