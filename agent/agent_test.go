package agent_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"notwice/agent"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// A killed turn goes on where it was: what the model has answered is not asked again, what a tool has told is not called again.
func TestKilledTurnGoesOn(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, calls("", one("create_payment", payOrder("817"), "a"), one("create_payment", payOrder("818"), "b")), call("create_payment", payOrder("819")), say("All paid."))
		w.life.nth = slices.Index(pointsOf(t, streamed), "after send") + 1
		if _, err := w.agent().Turn(t.Context(), "t", "pay three"); err == nil {
			t.Fatal("the process was not killed")
		}
		w.effects(1, "817")
		w.begin()
		w.clock.advance(time.Minute)
		w.wait = 10 * time.Minute
		w.want(w.turn("t", ""), already, done, done)
		w.effects(3, "817", "818", "819")
		if n := w.fake.Core().Requests().Model; n != 3 {
			t.Errorf("the model was asked %d times", n)
		}
		if out := w.turn("t", "pay three"); out.Text != "All paid." || len(out.Receipts) != 3 {
			t.Errorf("%+v", out)
		}
	})
}

func pointsOf(t *testing.T, streamed bool) []string {
	w := newWorld(t, streamed, call("create_payment", pay), say("Paid."))
	w.turn("t", "pay")
	return w.life.passed
}

func TestNothingToGoOnWith(t *testing.T) {
	w := newWorld(t, false, say("Hello."))
	if _, err := w.agent().Turn(t.Context(), "nobody", ""); err == nil {
		t.Error("went on")
	}
}

func TestModelWithoutEnd(t *testing.T) {
	w := newWorld(t, false)
	w.asked(call("create_payment", pay), call("create_payment", pay), call("create_payment", pay), say("At last."))
	w.options.MaxSteps = 2
	out, err := w.agent().Turn(t.Context(), "t", "pay")
	if !errors.Is(err, agent.ErrSteps) || len(out.Receipts) != 1 || out.Receipts[0].Status != "succeeded" {
		t.Errorf("%+v, %v", out, err)
	}
	w.effects(1, "817")
	w.want(w.turn("t", ""), done, already, already) // going on with it gives it as many steps again
}

// A model that runs into its token limit is told that its calls did not run, and may make them again.
func TestCutAtTheLimit(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, calls("finish_length", one("create_payment", payOrder("817"), ""), one("create_payment", `{"order_id":"81`, "")), call("create_payment", pay), say("Paid."))
		w.want(w.turn("t", "pay"), invalid, invalid, done)
		w.effects(1, "817")
		if told := w.told(); !strings.Contains(told[0], "cut off (length)") {
			t.Errorf("%q", told)
		}
	})
}

func TestCallsThatAreRefused(t *testing.T) {
	for _, c := range []told{
		{name: "a tool that does not exist", answers: []string{call("refund_payment", pay)}, words: []toolbox.Word{invalid}, says: `no tool "refund_payment"`},
		{name: "a key of the model's own", answers: []string{call("create_payment", strings.Replace(pay, "{", `{"idempotency_key":"k-1",`, 1))}, words: []toolbox.Word{invalid}, says: "not for the caller to give"},
		{name: "an approval of the model's own", answers: []string{call("create_payment", strings.Replace(pay, "{", `{"approved":true,`, 1))}, words: []toolbox.Word{invalid}, says: "only a person approves"},
		{name: "a state of the model's own", answers: []string{call("create_payment", strings.Replace(pay, "{", `{"operation_state":"failed_final",`, 1))}, words: []toolbox.Word{invalid}, says: "not for the caller to give"},
		{name: "a field that nobody knows", answers: []string{call("create_payment", strings.Replace(pay, "{", `{"colour":"blue",`, 1))}, words: []toolbox.Word{invalid}, says: "colour"},
		{name: "the refusal ends nothing", answers: []string{call("create_payment", `{"order_id":817}`), call("create_payment", pay)}, words: []toolbox.Word{invalid, done}, writes: 1, effects: []string{"817"}},
	} {
		c.run(t)
	}
}

func TestModelSeesNoKeyAndNoVolatileField(t *testing.T) {
	w := newWorld(t, false, say("Hello."))
	w.turn("t", "hello")
	shown := string(w.fake.Core().ModelRequests()[0])
	for _, word := range []string{"device", "key", "approv", "volatile", "x-", "${"} {
		if strings.Contains(shown[strings.Index(shown, `"tools"`):], word) {
			t.Errorf("the tools that the model sees hold %q: %s", word, shown)
		}
	}
}

// header notes what a header of each request held.
type header struct {
	http.RoundTripper
	name string
	got  *[]string
}

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		*h.got = append(*h.got, r.Header.Get(h.name))
	}
	return h.RoundTripper.RoundTrip(r)
}

// A volatile value goes to the provider with the call that brings it, and into no record.
func TestVolatileValuesAreNotRecorded(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, call("create_payment", strings.Replace(pay, "{", `{"device":"d-4711",`, 1)), say("Paid."))
		var devices []string
		w.onSend = header{httptool.NewTransport(), "X-Device", &devices}
		w.begin()
		w.want(w.turn("t", "pay"), done)
		w.effects(1, "817")
		if !slices.Equal(devices, []string{"d-4711"}) {
			t.Errorf("the provider saw %q", devices)
		}
		entries, err := w.journal.Entries(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(string(e), "4711") {
				t.Errorf("recorded: %s", e)
			}
		}
		if asked := w.fake.Core().ModelRequests(); strings.Contains(string(asked[1]), "4711") {
			t.Errorf("shown again: %s", asked[1])
		}
	})
}

// A turn that was killed has the call, but not its volatile value: it does not send without it, and a call that brings it goes on.
func TestResumedWithoutItsVolatileValue(t *testing.T) {
	w := newWorld(t, true, call("create_payment", strings.Replace(pay, "{", `{"device":"d-4711",`, 1)), say("Not sent."),
		call("create_payment", strings.Replace(pay, "{", `{"device":"d-4712",`, 1)), say("Paid."))
	w.life.nth = slices.Index(pointsOf(t, true), "before send") + 1
	if _, err := w.agent().Turn(t.Context(), "t", "pay"); err == nil {
		t.Fatal("the process was not killed")
	}
	w.begin()
	w.clock.advance(time.Minute)
	w.wait = 10 * time.Second
	w.want(w.turn("t", "pay"), toolbox.NotSent)
	w.effects(0)
	w.want(w.turn("t", "now?"), done)
	w.effects(1, "817")
}

// Whatever the model says, the receipt and the exit code are the journal's, as it is when the turn ends.
func TestReceiptsComeFromTheJournal(t *testing.T) {
	for _, c := range []struct {
		name, fault string
		answers     []string
		exit        int
		statuses    []string
	}{
		{"it says that it paid, and nothing left", `{"on":"payments.create","do":"refuse"}`, []string{call("create_payment", pay), say("Paid.")}, 7, []string{"pending"}},
		{"it says that it paid, and was rejected", `{"on":"payments.create","do":"reject"}`, []string{call("create_payment", pay), say("Paid.")}, 1, []string{"failed_final"}},
		{"it says that it paid, and nobody knows", lost("payments.create"), []string{call("create_payment", pay), say("Paid.")}, 3, []string{"unknown"}},
		{"it says that it failed, and paid", "", []string{call("create_payment", pay), say("That failed, sorry.")}, 0, []string{"succeeded"}},
		{"it says that it paid, and called nothing", "", []string{say("Paid.")}, 0, nil},
		{"one of two is not known", lost("payments.create"), []string{call("create_payment", payOrder("817")), call("create_payment", payOrder("818")), say("Paid.")}, 3, []string{"unknown", "succeeded"}},
		{"a conflict outlasts a success", "", []string{call("create_payment", pay), call("create_payment", strings.Replace(pay, "49", "48", 1)), say("Paid.")}, 5, []string{"succeeded", "succeeded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, false, c.answers...)
			if c.fault != "" && !strings.Contains(c.fault, `"refuse"`) {
				w.arm(`[` + c.fault + `]`)
			}
			if strings.Contains(c.fault, `"refuse"`) {
				w.onSend = refusing{func() {}}
				w.begin()
			}
			out := w.turn("t", "pay")
			var statuses []string
			for _, r := range out.Receipts {
				statuses = append(statuses, r.Status)
			}
			if out.Exit != c.exit || !slices.Equal(statuses, c.statuses) {
				t.Errorf("exit %d, %q: %+v", out.Exit, statuses, out)
			}
		})
	}
}

// refusing is a network in which nobody listens where the provider should; the model still can be reached.
type refusing struct{ tried func() }

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.tried()
	elsewhere := req.Clone(req.Context())
	elsewhere.URL.Host = "127.0.0.1:1"
	return httptool.NewTransport().RoundTrip(elsewhere)
}

// The patience of a call is for all its tries together.
func TestPatienceEnds(t *testing.T) {
	w := newWorld(t, false, call("create_payment", pay), say("Not sent."))
	w.wait = 10 * time.Minute
	tries := 0
	w.onSend = refusing{func() {
		if tries++; tries == 100 {
			w.life.kill()
		}
	}}
	w.begin()
	began := w.clock.Now().Wall
	out, err := w.agent().Turn(t.Context(), "t", "pay")
	if took := w.clock.Now().Wall.Sub(began); err != nil || took > 15*time.Minute {
		t.Errorf("%d tries in %s: %v", tries, took, err)
	}
	w.want(out, toolbox.NotSent)
}
