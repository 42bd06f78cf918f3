package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"notwice/agent"
	"notwice/canonical/strictyaml"
	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// Process is one real process of the product in real time, with the same wrapped seams as a story: it can be told to kill
// itself at the n-th point.
type Process struct {
	Journal  string // file
	Provider string // URL of a provider in another process; its model is at /v1
	Task     string
	Message  string
	At       int // die at this point, from 1; 0: live
}

// Quick are the times of the demonstration.
func Quick(f toolbox.Facts) (toolbox.Facts, error) {
	const short = strictyaml.Duration(100 * time.Millisecond)
	f.Deadline = short
	f.Backoff = toolbox.BackoffFacts{First: short / 2, Max: short}
	if f.Lookup != nil {
		l := *f.Lookup
		l.Visibility, l.Backoff, l.Deadline = short, toolbox.BackoffFacts{First: short / 4, Max: short}, 2*short
		f.Lookup = &l
	}
	return f, nil
}

// Run does one turn and then follows what is open until it is final, rests or waits for a person. It returns the turn's
// outcome and how many points it passed.
func (p Process) Run(ctx context.Context) (out agent.Outcome, points int, err error) {
	store, err := boltjournal.Open(p.Journal, boltjournal.Options{})
	if err != nil {
		return out, 0, err
	}
	defer store.Close()
	l := newLife(func(Point) bool {
		points++
		return points == p.At
	})
	l.die = func() { // as hard as kill -9: nothing is flushed, no deferred call runs
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
		select {}
	}
	clock := lifeClock{Clock: toolbox.RealClock(), life: l}
	tools, err := toolbox.New(ctx, toolbox.Options{Journal: lifeJournal{store, l}, Wire: lifeWire{toolbox.DirectWire(), l}, Clock: clock})
	if err != nil {
		return out, 0, err
	}
	wire := httptool.NewTransport()
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, p.Provider, "fake", wire, Quick)
		if err == nil {
			err = tools.Add(tool)
		}
		if err != nil {
			return out, 0, err
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a := agent.New(agent.Options{
		Toolbox: tools, Model: lifeModel{agent.NewOpenAI(p.Provider+"/v1", "none", "scripted", client), l},
		Transcript: lifeJournal{store, l}, Clock: clock, Wait: 3 * time.Second,
	})
	if out, err = a.Turn(ctx, p.Task, p.Message); err != nil {
		return out, points, err
	}
	if err := follow(ctx, store, tools); err != nil {
		return out, points, err
	}
	tools.Drain(ctx)
	return out, points, tools.Close()
}

// follow works until nothing is due any more, for a few seconds at most.
func follow(ctx context.Context, store *boltjournal.Store, tools *toolbox.Toolbox) error {
	limit := time.Now().Add(5 * time.Second)
	for {
		open, _, err := store.List(ctx, journal.Query{Statuses: []journal.Status{journal.InProgress, journal.Unknown, journal.Pending}})
		if err != nil {
			return err
		}
		var next time.Time
		for _, op := range open {
			if op.Wait == nil && !op.Due.IsZero() && (next.IsZero() || op.Due.Before(next)) {
				next = op.Due
			}
		}
		switch {
		case next.IsZero():
			return nil
		case next.After(limit):
			return fmt.Errorf("%d operations stay open", len(open))
		}
		if err := toolbox.RealClock().Wait(ctx, next, nil); err != nil {
			return err
		}
		if _, err := tools.Due(ctx, 100); err != nil {
			return err
		}
	}
}
