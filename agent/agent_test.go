package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"notwice/agent"
	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

// rig is an agent over a journal, whose provider and model are the fake's, both over real HTTP.
type rig struct {
	*testing.T
	fake  *fakeprovider.Server
	store *memjournal.Store
	tools *toolbox.Toolbox
	agent *agent.Agent
}

const short = strictyaml.Duration(100 * time.Millisecond)

// begin is a process: it drops everything but the journal and the world outside.
func (r *rig) begin(streamed bool, steps int) {
	r.Helper()
	var err error
	if r.tools, err = toolbox.New(context.Background(), toolbox.Options{Journal: r.store, Clock: quickClock{toolbox.RealClock()}}); err != nil {
		r.Fatal(err)
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, r.fake.URL(), "fake", nil, func(f toolbox.Facts) (toolbox.Facts, error) {
			f.Deadline, f.Backoff = short, toolbox.BackoffFacts{First: short / 10, Max: short}
			if f.Lookup != nil {
				l := *f.Lookup
				l.Visibility, l.Backoff = short/2, toolbox.BackoffFacts{First: short / 10, Max: short / 2}
				f.Lookup = &l
			}
			return f, nil
		})
		if err == nil {
			err = r.tools.Add(tool)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	model := agent.NewOpenAI(r.fake.URL()+"/v1", "none", "scripted", &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	if streamed {
		model = model.Streamed(nil)
	}
	r.agent = agent.New(agent.Options{Toolbox: r.tools, Model: model, Transcript: r.store, Clock: quickClock{toolbox.RealClock()}, Wait: time.Second, MaxSteps: steps})
}

// quickClock does not wait for a busy model.
type quickClock struct{ toolbox.Clock }

func (c quickClock) Wait(ctx context.Context, until time.Time, done <-chan struct{}) error {
	if done == nil && time.Until(until) > 500*time.Millisecond {
		return ctx.Err()
	}
	return c.Clock.Wait(ctx, until, done)
}

func newRig(t *testing.T, streamed bool) *rig {
	t.Helper()
	fake, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, fake: fake, store: memjournal.New()}
	r.begin(streamed, 0)
	t.Cleanup(func() {
		r.tools.Drain(context.Background())
		fake.Close()
	})
	return r
}

func (r *rig) script(text string) {
	r.Helper()
	s, err := fakeprovider.ParseScript([]byte(text))
	if err != nil {
		r.Fatal(err)
	}
	r.fake.SetScript(s)
}

func (r *rig) turn(task, message string) (agent.Outcome, error) {
	return r.agent.Turn(context.Background(), task, message)
}

func (r *rig) effects() int {
	r.Helper()
	made, err := r.fake.Core().Effects(time.Now())
	if err != nil {
		r.Fatal(err)
	}
	return len(made)
}

func (r *rig) want(out agent.Outcome, effects int, words ...string) {
	r.Helper()
	if got := r.effects(); got != effects {
		r.Errorf("%d effects, want %d", got, effects)
	}
	if !slices.Equal(out.Words, words) {
		r.Errorf("words %q, want %q", out.Words, words)
	}
}

const (
	pay   = `{"tool":"create_payment","args":{"order_id":"817","amount_minor":490000,"currency":"RUB"}`
	done  = "DONE"
	again = "ALREADY DONE"
	wrong = "INVALID CALL"
)

func ticket(title, id string) string {
	return fmt.Sprintf(`{"tool":"create_ticket","args":{"project":"OPS","title":%q},"id":%q}`, title, id)
}

// What models and their servers do to calls (kinds C and D of the reported cases), streamed and not: how many effects follow.
func TestCallsOfOneAnswer(t *testing.T) {
	nine := make([]string, 9)
	for i := range nine {
		nine[i] = fmt.Sprintf(`%s,"id":"c%d"}`, pay, i+1)
	}
	three := strings.Join([]string{ticket("A", "t1"), ticket("B", "t2"), ticket("C", "t3")}, ",")
	two := pay + `,"id":"a"},` + strings.Replace(pay, "817", "818", 1) + `,"id":"b"}`
	glued := `{"order_id":"817","amount_minor":490000,"currency":"RUB"}{"order_id":"818","amount_minor":120000,"currency":"RUB"}`
	raw := func(args string) string { return fmt.Sprintf(`{"tool":"create_payment","raw":%q,"id":"c1"}`, args) }
	for name, c := range map[string]struct {
		answer  string
		effects int
		words   []string
	}{
		"case-023 nine equal calls":          {`"calls":[` + strings.Join(nine, ",") + `]`, 1, append([]string{done}, slices.Repeat([]string{again}, 8)...)},
		"case-025 three calls at once":       {`"calls":[` + three + `]`, 3, []string{done, done, done}},
		"case-027 equal ids":                 {`"shape":["equal_ids"],"calls":[` + three + `]`, 3, []string{done, done, done}},
		"case-027 empty ids":                 {`"shape":["empty_ids"],"calls":[` + three + `]`, 3, []string{done, done, done}},
		"case-029 a call twice":              {`"shape":["twice"],"calls":[` + pay + `,"id":"c1"}]`, 1, []string{done}},
		"case-031 snapshots":                 {`"shape":["snapshots"],"calls":[` + three + `]`, 3, []string{done, done, done}},
		"case-032 a preview and a call":      {`"calls":[` + pay + `,"id":"p1"},` + pay + `,"id":"p2"}]`, 1, []string{done, again}},
		"case-033 every index is 0":          {`"shape":["same_index"],"calls":[` + two + `]`, 2, []string{done, done}},
		"case-033 no index":                  {`"shape":["no_index"],"calls":[` + two + `]`, 2, []string{done, done}},
		"case-034 glued arguments":           {`"calls":[` + raw(glued) + `]`, 0, []string{wrong}},
		"case-038 cut arguments":             {`"calls":[` + raw(`{"order_id":"817","currency":"RUB","amount_minor":4900`) + `]`, 0, []string{wrong}},
		"case-038 cut at the length":         {`"shape":["finish_length"],"calls":[` + pay + `,"id":"c1"}]`, 0, []string{wrong}},
		"case-039 finish stop":               {`"shape":["finish_stop"],"calls":[` + pay + `,"id":"c1"}]`, 1, []string{done}},
		"case-040 empty arguments":           {`"calls":[` + raw("") + `]`, 0, []string{wrong}},
		"case-040 null arguments":            {`"calls":[` + raw("null") + `]`, 0, []string{wrong}},
		"case-042 ids and names wiped later": {`"calls":[` + three + `]`, 3, []string{done, done, done}},
		"case-043 double-encoded":            {`"calls":[` + raw(`"{\"order_id\":\"817\",\"amount_minor\":490000,\"currency\":\"RUB\"}"`) + `]`, 0, []string{wrong}},
		"an unknown tool":                    {`"calls":[{"tool":"approve","args":{"order_id":"817"},"id":"c1"}]`, 0, []string{wrong}},
		"a key of the model's":               {`"calls":[{"tool":"create_payment","args":{"order_id":"817","amount_minor":1,"currency":"RUB","idempotency_key":"k"},"id":"c1"}]`, 0, []string{wrong}},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %v", name, streamed), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, streamed)
				r.script(`{"answers":[{` + c.answer + `},{"say":"That is all."}]}`)
				out, err := r.turn("t", "do it")
				if err != nil {
					t.Fatal(err)
				}
				r.want(out, c.effects, c.words...)
				if out.Text != "That is all." {
					t.Errorf("the model's words are %q", out.Text)
				}
			})
		}
	}
}

// An answer that breaks off runs nothing, and is asked for again, a few times (case 36).
func TestCase036AnswerBreaksOff(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		r := newRig(t, streamed)
		cut := `{"break":"mid_stream","call":` + pay + `}}`
		r.script(`{"order":"asked","answers":[` + cut + `,` + cut + `,{"call":` + pay + `}},{"say":"Paid."}]}`)
		out, err := r.turn("t", "pay")
		if err != nil {
			t.Fatal(err)
		}
		r.want(out, 1, done)
		r.script(`{"order":"asked","answers":[` + strings.Join(slices.Repeat([]string{cut}, 9), ",") + `]}`)
		if _, err := r.turn("t2", "pay"); !errors.Is(err, agent.ErrModel) {
			t.Errorf("streamed %v: error %v", streamed, err)
		}
		if got := r.effects(); got != 1 {
			t.Errorf("streamed %v: %d effects", streamed, got)
		}
		for _, how := range []string{`"empty"`, `"html"`, `{"status":500}`} {
			r.script(`{"answers":[{"break":` + how + `}]}`)
			if _, err := r.turn("t-"+how, "pay"); !errors.Is(err, agent.ErrModel) {
				t.Errorf("streamed %v, %s: error %v", streamed, how, err)
			}
		}
	}
}

// A busy model is asked again, as long as it asks to wait.
func TestBusyModel(t *testing.T) {
	r := newRig(t, false)
	r.script(`{"order":"asked","answers":[{"break":{"status":429,"retry_after":"7s"}},{"break":{"status":503}},{"say":"Here I am."}]}`)
	out, err := r.turn("t", "hello")
	if err != nil || out.Text != "Here I am." || out.Exit != 0 {
		t.Errorf("%+v %v", out, err)
	}
}

// The same id in four answers is four calls (case 27).
func TestCase027OneIDForEver(t *testing.T) {
	r := newRig(t, false)
	var answers []string
	for i := range 4 {
		answers = append(answers, fmt.Sprintf(`{"call":%s}`, ticket(fmt.Sprint("T", i+1), "Z")))
	}
	r.script(`{"answers":[` + strings.Join(answers, ",") + `,{"say":"Four."}]}`)
	out, err := r.turn("t", "four tickets")
	if err != nil {
		t.Fatal(err)
	}
	r.want(out, 4, done, done, done, done)
}

// A host re-runs the whole task: the same message is the same turn, whatever ids and words the model uses now.
func TestHostRunsTheTaskAgain(t *testing.T) {
	r := newRig(t, false)
	mail := `{"tool":"send_email","args":{"to":"ada@example.test","subject":"Order 817","body":"Thank you."},"id":"c%d"}`
	r.script(`{"answers":[{"calls":[` + fmt.Sprintf(mail, 1) + `]},{"say":"Sent."}]}`)
	first, err := r.turn("t", "mail ada")
	if err != nil {
		t.Fatal(err)
	}
	r.want(first, 1, done)
	for range 2 {
		r.begin(false, 0)
		out, err := r.turn("t", "mail ada")
		if err != nil {
			t.Fatal(err)
		}
		r.want(out, 1, done) // the recorded turn, told again
	}
	r.script(`{"answers":[{"say":"-"},{"say":"-"},{"calls":[` + fmt.Sprintf(mail, 9) + `]},{"say":"Sent another."}]}`)
	out, err := r.turn("t", "and once more, please")
	if err != nil {
		t.Fatal(err)
	}
	r.want(out, 2, done) // another message of the person is another turn
}

// dying ends the process at the n-th use of the transcript or the toolbox's journal.
type dying struct {
	*memjournal.Store
	left *int
}

var errDied = errors.New("the process died")

func (d dying) Append(ctx context.Context, task string, n int, entry []byte) (bool, error) {
	if *d.left--; *d.left < 0 {
		return false, errDied
	}
	return d.Store.Append(ctx, task, n, entry)
}

// A task that is killed at any write of its transcript goes on where it was, also a day later: one payment, one mail.
func TestCase017KilledAtEveryEntry(t *testing.T) {
	const answers = `{"answers":[{"calls":[` + pay + `,"id":"c1"},{"tool":"send_email","args":{"to":"ada@example.test","subject":"Paid","body":"Thank you."},"id":"c2"}]},{"say":"Paid and told."}]}`
	for at := 0; ; at++ {
		r := newRig(t, false)
		r.script(answers)
		left := at
		model := agent.NewOpenAI(r.fake.URL()+"/v1", "none", "scripted", nil)
		dies := agent.New(agent.Options{Toolbox: r.tools, Model: model, Transcript: dying{r.store, &left}, Clock: toolbox.RealClock(), Wait: time.Second})
		_, err := dies.Turn(context.Background(), "t", "pay and tell")
		if err == nil {
			if at < 5 {
				t.Errorf("a turn has only %d entries", at)
			}
			return
		}
		if !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		r.begin(false, 0)
		out, err := r.turn("t", "pay and tell")
		if err != nil {
			t.Fatalf("killed at entry %d: %v", at, err)
		}
		if got := r.effects(); got != 2 || out.Text != "Paid and told." || out.Exit != 0 {
			t.Errorf("killed at entry %d: %d effects, %+v", at, got, out)
		}
	}
}

// Two processes go on with one task: one wins, the other stops before it does anything.
func TestTwoProcessesOneTask(t *testing.T) {
	r := newRig(t, false)
	r.script(`{"answers":[{"wait":"50ms","call":` + pay + `}},{"say":"Paid."}]}`)
	first := r.agent
	r.begin(false, 0)
	errs := make(chan error, 2)
	for _, a := range []*agent.Agent{first, r.agent} {
		go func() {
			_, err := a.Turn(context.Background(), "t", "pay 817")
			errs <- err
		}()
	}
	var taken, fine int
	for range 2 {
		switch err := <-errs; {
		case err == nil:
			fine++
		case errors.Is(err, agent.ErrTaken):
			taken++
		default:
			t.Error(err)
		}
	}
	if fine != 1 || taken != 1 || r.effects() != 1 {
		t.Errorf("%d went on, %d stopped, %d effects", fine, taken, r.effects())
	}
}

// The loop is bounded, and what was done stands in the receipt.
func TestEndlessModel(t *testing.T) {
	r := newRig(t, false)
	r.begin(false, 3)
	r.script(`{"answers":[` + strings.Join(slices.Repeat([]string{`{"call":` + pay + `}}`}, 10), ",") + `]}`)
	out, err := r.turn("t", "pay")
	if !errors.Is(err, agent.ErrSteps) || len(out.Receipts) != 1 || out.Receipts[0].Word != toolbox.AlreadyDone && out.Receipts[0].Word != toolbox.Done {
		t.Errorf("%+v %v", out, err)
	}
	r.want(out, 1, done, again, again)
}

// The receipt and the exit code come from the journal, whatever the model says; volatile values are not in the transcript.
func TestReceiptAndTranscript(t *testing.T) {
	r := newRig(t, false)
	faults, err := fakeprovider.ParseFaults([]byte(`{"on":"payments.create","do":"reject","status":422,"code":"card_declined"}`))
	if err == nil {
		err = r.fake.Arm(faults...)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.script(`{"answers":[{"call":` + strings.TrimSuffix(pay, "}") + `,"device":"MARKER-tok"}}},{"say":"It is paid, everything is fine."}]}`)
	out, err := r.turn("t", "pay")
	if err != nil || out.Exit != 1 || len(out.Receipts) != 1 || out.Receipts[0].Word != toolbox.Rejected {
		t.Errorf("%+v %v", out, err)
	}
	entries, err := r.store.Entries(context.Background(), "t")
	if err != nil || len(entries) != 4 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if strings.Contains(string(e), "MARKER") {
			t.Errorf("a volatile value stands in the transcript: %s", e)
		}
	}
}

// A person decides within the turn: what the model is told is what came of it.
func TestPersonIsAskedWithinTheTurn(t *testing.T) {
	r := newRig(t, false)
	r.script(`{"answers":[{"call":` + pay + `}},{"call":` + strings.Replace(pay, "490000", "480000", 1) + `}},{"say":"Twice."}]}`)
	asked := 0
	model := agent.NewOpenAI(r.fake.URL()+"/v1", "none", "scripted", nil)
	a := agent.New(agent.Options{Toolbox: r.tools, Model: model, Transcript: r.store, Clock: toolbox.RealClock(), Wait: time.Second,
		Person: func(ctx context.Context, c toolbox.Call, res toolbox.Result) (toolbox.Result, error) {
			asked++
			if res.Word != toolbox.ConflictWord {
				t.Errorf("asked about %s", res.Word)
			}
			op, err := r.tools.Find(ctx, res.Key)
			if err == nil {
				_, err = r.tools.Rule(ctx, op.Key, toolbox.Ruling{Decision: "again", By: "anna"})
			}
			if err != nil {
				return res, err
			}
			return r.tools.Call(ctx, c)
		}})
	out, err := a.Turn(context.Background(), "t", "pay twice")
	if err != nil {
		t.Fatal(err)
	}
	r.want(out, 2, done, done)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
