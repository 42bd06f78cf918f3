package agent_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"notwice/agent"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// world is an agent with the demonstration tools, over a journal that outlives it, against a provider in this process.
type world struct {
	*testing.T
	streamed bool
	wait     time.Duration // patience of each tool call
	options  agent.Options // MaxSteps, System, Transcript

	clock      *clock
	fake       *fakeprovider.Server
	journal    *memjournal.Store
	life       *life
	tools      *toolbox.Toolbox
	said       string            // pieces of text as they came
	progress   []string          // lines
	onSend     http.RoundTripper // under the tools; nil: the tools' own
	onAsk      func()            // before each question to the model
	retryAfter string            // put into the model's answers
	bent       *strings.Replacer // what is changed in the model's answers on their way
}

func newWorld(t *testing.T, streamed bool, answers ...string) *world {
	t.Helper()
	w := &world{T: t, streamed: streamed, clock: newClock(), journal: memjournal.New()}
	var err error
	w.fake, err = fakeprovider.Start(fakeprovider.Options{Clock: provider{w.clock}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.tools.Drain(context.Background())
		w.life.kill()
		w.fake.Close()
	})
	w.begin()
	if len(answers) > 0 {
		w.script(answers...)
	}
	return w
}

// each runs a test with whole answers and with streamed ones.
func each(t *testing.T, test func(t *testing.T, streamed bool)) {
	t.Run("whole", func(t *testing.T) { test(t, false) })
	t.Run("streamed", func(t *testing.T) { test(t, true) })
}

// begin starts a life of the process: of an earlier one only the journal remains.
func (w *world) begin() {
	w.Helper()
	if w.life != nil {
		w.life.kill()
	}
	w.life = &life{}
	var err error
	w.tools, err = toolbox.New(w.Context(), toolbox.Options{Journal: store{w.journal, w.life}, Wire: wire{toolbox.DirectWire(), w.life}, Clock: w.clock})
	if err != nil {
		w.Fatal(err)
	}
	rt := w.onSend
	if rt == nil {
		rt = httptool.NewTransport()
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, w.fake.URL(), "fake", rt, nil)
		if err == nil {
			err = w.tools.Add(tool)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// arm lets something go wrong at the provider.
func (w *world) arm(text string) {
	w.Helper()
	faults, err := fakeprovider.ParseFaults([]byte(text))
	if err == nil {
		err = w.fake.Arm(faults...)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) agent() *agent.Agent {
	o := w.options
	o.Toolbox, o.Model, o.Clock, o.Wait = w.tools, w.model(), w.clock, w.wait
	o.Progress = func(line string) { w.progress = append(w.progress, line) }
	if o.Transcript == nil {
		o.Transcript = store{w.journal, w.life}
	}
	return agent.New(o)
}

// turn runs one turn that must come to its end.
func (w *world) turn(task, message string) agent.Outcome {
	w.Helper()
	out, err := w.agent().Turn(w.Context(), task, message)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// want compares the words of a turn, in order.
func (w *world) want(out agent.Outcome, words ...toolbox.Word) {
	w.Helper()
	var got []toolbox.Word
	for _, word := range out.Words {
		got = append(got, toolbox.Word(word))
	}
	if !slices.Equal(got, words) {
		w.Errorf("the turn's words are %q, want %q; the model was told %q", got, words, w.told())
	}
}

// effects compares what happened at the provider, by what names each effect, and how many writes it received.
func (w *world) effects(writes int, names ...string) {
	w.Helper()
	made, err := w.fake.Core().Effects(w.clock.Now().Wall)
	if err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, e := range made {
		for _, field := range []string{"order_id", "to", "title", "applicant_id"} {
			var text string
			if json.Unmarshal(e.Fields[field], &text) == nil {
				got = append(got, text)
			}
		}
	}
	if seen := w.fake.Core().Requests().Writes; seen != writes || !slices.Equal(got, names) {
		w.Errorf("the provider received %d writes and did %q, want %d and %q", seen, got, writes, names)
	}
}

// operations reads the journal.
func (w *world) operations() []journal.Operation {
	w.Helper()
	all, _, err := w.journal.List(w.Context(), journal.Query{})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// told is what the model was told of its calls, as it was shown last.
func (w *world) told() (texts []string) {
	all := w.fake.Core().ModelRequests()
	if len(all) == 0 {
		return nil
	}
	var shown struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(all[len(all)-1], &shown); err != nil {
		w.Fatal(err)
	}
	for _, m := range shown.Messages {
		if m.Role == "tool" {
			texts = append(texts, m.Content)
		}
	}
	return texts
}
