package toolbox_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

// rig is a toolbox over a journal and a fake provider.
type rig struct {
	t     *testing.T
	fake  *fakeprovider.Server
	store journal.Journal
	tools *toolbox.Toolbox
}

type rigOptions struct {
	store   journal.Journal
	fake    *fakeprovider.Server
	options fakeprovider.Options
	clock   toolbox.Clock
	wire    toolbox.Wire
	rt      http.RoundTripper
	lay     func(toolbox.Facts) (toolbox.Facts, error)
	log     func(string)
	notify  func(toolbox.Result)
	secrets func(string) (string, error)
}

const short = strictyaml.Duration(100 * time.Millisecond)

// quick gives a tool times that a test can wait for.
func quick(f toolbox.Facts) (toolbox.Facts, error) {
	f.Deadline = short
	f.Backoff = toolbox.BackoffFacts{First: short / 10, Max: short}
	if f.Lookup != nil {
		l := *f.Lookup
		l.Visibility, l.Backoff = short/2, toolbox.BackoffFacts{First: short / 10, Max: short / 2}
		f.Lookup = &l
	}
	return f, nil
}

func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, fake: o.fake, store: o.store}
	var err error
	if r.fake == nil {
		if r.fake, err = fakeprovider.Start(o.options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.fake.Close() })
	}
	if r.store == nil {
		r.store = memjournal.New()
	}
	if r.tools, err = toolbox.New(context.Background(), toolbox.Options{Journal: r.store, Clock: o.clock, Wire: o.wire, Log: o.log, Notify: o.notify, Secrets: o.secrets}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.tools.Drain(context.Background()) })
	if o.lay == nil {
		o.lay = quick
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, r.fake.URL(), "fake", o.rt, o.lay)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.tools.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) arm(text string) {
	r.t.Helper()
	faults, err := fakeprovider.ParseFaults([]byte(text))
	if err == nil {
		err = r.fake.Arm(faults...)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

const pay = `{"order_id":"817","amount_minor":490000,"currency":"RUB"}`

func (r *rig) call(tool, args string, wait time.Duration) toolbox.Result {
	r.t.Helper()
	res, err := r.tools.Call(context.Background(), toolbox.Call{Tool: tool, Arguments: []byte(args), Wait: wait})
	if err != nil {
		r.t.Fatal(err)
	}
	res.Delivered()
	return res
}

func (r *rig) want(res toolbox.Result, word toolbox.Word, requests, effects int) {
	r.t.Helper()
	if res.Word != word {
		r.t.Errorf("word %s, want %s: %s", res.Word, word, res.Message)
	}
	r.counts(requests, effects)
}

func (r *rig) counts(requests, effects int) {
	r.t.Helper()
	made, err := r.fake.Core().Effects(time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	if got := r.fake.Core().Requests().Writes; got != requests || len(made) != effects {
		r.t.Errorf("the provider saw %d requests and made %d effects, want %d and %d", got, len(made), requests, effects)
	}
}
