package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"notwice/journal"
	"notwice/journal/memjournal"
	"notwice/toolbox"
)

const (
	notConfirmed = toolbox.NotConfirmed
	conflict     = toolbox.ConflictWord
)

// blind lets no look-up find out what happened.
const blind = `{"on":"payments.search","do":"lookup_error","times":99}`

func lost(on string) string { return `{"on":"` + on + `","do":"commit_then_timeout"}` }

// keys lists the keys of the writes that the provider received.
func (w *world) keys() (keys []string) {
	for _, r := range w.fake.Core().Requests().List {
		if r.Action == "create" {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

// Kind A: the agent, the task or its host asks again.

func TestCase001FreshProcessAfterATimeout(t *testing.T) {
	for fault, writes := range map[string]int{lost("payments.create"): 1, `{"on":"payments.create","do":"timeout_no_commit"}`: 2} {
		each(t, func(t *testing.T, streamed bool) {
			w := newWorld(t, streamed, call("create_payment", pay), say("I do not know."))
			w.arm(`[` + fault + `]`)
			out := w.turn("monday", "pay 817")
			w.want(out, notConfirmed)
			if out.Exit != 3 || out.Receipts[0].Status != "unknown" {
				t.Errorf("%+v", out)
			}
			w.begin() // killed; a fresh process, a fresh task, the same call byte for byte
			w.wait = 10 * time.Minute
			out = w.turn("tuesday", "pay 817")
			if out.Exit != 0 || out.Receipts[0].ExternalID != "pay_000001" {
				t.Errorf("%+v", out)
			}
			w.effects(writes, "817")
			if keys := w.keys(); keys[0] == "" || keys[0] != keys[len(keys)-1] {
				t.Errorf("keys on the wire: %q", keys)
			}
		})
	}
}

func TestCase002WholeTaskRunsAgain(t *testing.T) {
	w := newWorld(t, false, call("send_email", mail), say("Sent."))
	first := w.turn("t", "confirm the order")
	w.want(first, done)
	for range 2 { // the host's check of the output fails, so it runs the task again, in a process of its own
		w.begin()
		w.want(w.turn("t", "confirm the order"), done)
	}
	w.effects(1, "ada@example.test")
	w.script(say("-"), say("-"), call("send_email", mail), say("Sent another."))
	w.want(w.turn("t", "and once more, please"), done) // another message of the person is another turn, and another wish
	w.effects(2, "ada@example.test", "ada@example.test")

	// The model itself sends the mail again and again within the turn.
	w = newWorld(t, true, call("send_email", mail), call("send_email", mail), call("send_email", mail), say("Sent."))
	out := w.turn("t", "confirm the order")
	w.want(out, done, already, already)
	w.effects(1, "ada@example.test")
	if len(out.Receipts) != 1 || out.Receipts[0].Attempts != 1 {
		t.Errorf("%+v", out.Receipts)
	}

	// And without its transcript the task is still the same task.
	w = newWorld(t, false, call("send_email", mail), say("Sent."))
	for _, words := range [][]toolbox.Word{{done}, {already}, {already}} {
		w.options.Transcript = memjournal.New()
		w.want(w.turn("t", "confirm the order"), words...)
	}
	w.effects(1, "ada@example.test")
}

func TestCase003RewordedRetry(t *testing.T) {
	reworded := `{"to":"ada@example.test","subject":"Confirmation for order 817","body":"Thanks a lot!"}`
	w := newWorld(t, false, call("send_email", mail), call("send_email", reworded), say("Not known."))
	w.arm(`[` + lost("emails.create") + `]`)
	out := w.turn("t", "confirm the order")
	w.want(out, notConfirmed, conflict)
	w.effects(1, "ada@example.test")
	told := w.told()
	if !strings.Contains(told[1], "subject") || !strings.Contains(told[1], "body") || out.Exit != 3 {
		t.Errorf("%q, exit %d", told[1], out.Exit)
	}
	if all := w.operations(); len(all) != 1 || all[0].Status != journal.Unknown {
		t.Errorf("%+v", all)
	}
}

func TestCase005RetriedInTheTurnAndInTheNext(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, call("create_payment", pay), call("create_payment", pay), call("create_payment", pay), say("Not known."),
			call("create_payment", pay), say("Still not known."))
		w.arm(`[` + lost("payments.create") + `,` + blind + `]`)
		w.onAsk = func() { w.clock.advance(time.Second) }
		w.want(w.turn("t", "pay 817"), notConfirmed, notConfirmed, notConfirmed)
		w.want(w.turn("t", "try again"), notConfirmed)
		w.effects(1, "817")
		number := w.operations()[0].Number
		for _, text := range w.told() {
			if !strings.Contains(text, "Do not call again") || !strings.Contains(text, "817") {
				t.Errorf("%q does not stop the model", text)
			}
		}
		if out := w.turn("t", ""); out.Receipts[0].Number != number || out.Exit != 3 {
			t.Errorf("%+v", out)
		}
	})
}

// Kind B: a saved run is resumed or replayed.

func TestCase011ResumedWithoutItsCheckpoint(t *testing.T) {
	w := newWorld(t, false, call("send_email", mail), say("Sent. Shall I go on?"))
	w.want(w.turn("t", "confirm the order"), done)
	// The saved run is gone, and in the new one the mail stands elsewhere: only what the call means is left.
	w.begin()
	w.options.Transcript = memjournal.New()
	w.script(call("get_payment", `{"order_id":"817"}`), calls("", one("get_payment", `{"order_id":"817"}`, ""), one("send_email", mail, "")), say("Sent."))
	w.want(w.turn("t", "confirm the order"), done, done, already)
	w.effects(1, "ada@example.test")
}

func TestCase012PausedTwice(t *testing.T) {
	each(t, func(t *testing.T, streamed bool) {
		w := newWorld(t, streamed, call("create_payment", pay), say("Which colour?"), call("create_payment", pay), say("Which size?"), call("create_payment", pay), say("Done."))
		for i, message := range []string{"pay 817 and ask me", "blue", "small"} {
			words := []toolbox.Word{already}
			if i == 0 {
				words[0] = done
			}
			out := w.turn("t", message)
			w.want(out, words...)
			if out.Receipts[0].ExternalID != "pay_000001" {
				t.Errorf("%+v", out.Receipts)
			}
			w.begin()
		}
		w.effects(1, "817")
	})
}

// The process is killed at each point that it passes, and started again with nothing but the journal. Whatever the point, there
// is one payment, and the turn comes to its end with a receipt that says so.
func TestCase017KilledAnywhere(t *testing.T) {
	points := func(streamed bool) []string {
		w := newWorld(t, streamed, call("create_payment", pay), say("Paid."))
		w.turn("t", "pay 817")
		return w.life.passed
	}
	each(t, func(t *testing.T, streamed bool) {
		all := points(streamed)
		for _, must := range []string{"before claim", "after claim", "after send", "before settle", "after settle"} {
			if !slices.Contains(all, must) {
				t.Fatalf("%s is not among the points %q", must, all)
			}
		}
		for n, point := range all {
			for _, host := range []string{"resumes the task", "asks in a new task"} {
				w := newWorld(t, streamed, call("create_payment", pay), say("Paid."))
				w.life.nth = n + 1
				if _, err := w.agent().Turn(t.Context(), "t", "pay 817"); err == nil && n < len(all)-1 {
					t.Errorf("%s: the turn came to its end", point)
				}
				w.begin()
				w.clock.advance(time.Minute) // beyond the lease of whoever died
				w.wait = 10 * time.Minute
				task := "t"
				if host != "resumes the task" {
					task = "u"
				}
				out := w.turn(task, "pay 817")
				if len(out.Receipts) != 1 || out.Receipts[0].Status != "succeeded" || out.Exit != 0 || out.Text != "Paid." {
					t.Errorf("killed %s (%d), %s: %+v", point, n+1, host, out)
				}
				made, err := w.fake.Core().Effects(w.clock.Now().Wall)
				if err != nil || len(made) != 1 || len(w.operations()) != 1 {
					t.Errorf("killed %s (%d), %s: %d effects, %d operations, %v", point, n+1, host, len(made), len(w.operations()), err)
				}
			}
		}
	})
}

func TestCase022AskedAgainAfterARestart(t *testing.T) {
	w := newWorld(t, false, call("create_payment", pay), say("Paid."))
	w.want(w.turn("t", "pay 817"), done)
	w.want(w.turn("u", "pay 817"), already) // a new task of the same process
	w.begin()
	w.want(w.turn("v", "pay 817"), already) // and of the next one
	w.effects(1, "817")
}
