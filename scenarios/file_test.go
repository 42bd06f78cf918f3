package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// story is a story with one call, ended by what a test adds.
const story = `story: One payment.
calls:
  pay: {tool: create_payment, args: {order_id: "817", amount_minor: 490000, currency: RUB}}
`

func play(t *testing.T, text string) Report {
	t.Helper()
	f, err := ParseFile("k.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// marked takes the bar out of a text, and says how an error at its place begins.
func marked(file, text string) (without, begins string) {
	before, after, found := strings.Cut(text, "|")
	if !found {
		return text, ""
	}
	line := before[strings.LastIndex(before, "\n")+1:]
	return before + after, fmt.Sprintf("%s:%d:%d: ", file, strings.Count(before, "\n")+1, len(line)+1)
}

// What is wrong is refused when the file is read, where it stands, and the file is named once.
func TestRefusedAtLoad(t *testing.T) {
	const steps = "steps:\n  - {call: pay, expect: {effects: 1}}\n"
	for name, c := range map[string]struct{ text, says string }{
		"empty expect":     {story + "steps:\n  - {call: pay, expect: |{}}\n", "nothing is expected"},
		"empty always":     {story + steps + "always: |{}\n", "nothing is expected"},
		"empty counts":     {story + "steps:\n  - {call: pay, expect: {requests: |{}}}\n", "no kind is counted"},
		"unknown kind":     {story + "steps:\n  - {call: pay, expect: {lookups: {|letters: 1}}}\n", "no kind"},
		"status":           {story + "steps:\n  - {call: pay, expect: {status: |succeded}}\n", "known are pending, in_progress"},
		"word":             {story + "steps:\n  - {call: pay, expect: {word: |DUN}}\n", "known are DONE"},
		"evidence":         {story + "steps:\n  - {call: pay, expect: {evidence: |lookup}}\n", "lookup_by_key"},
		"words":            {story + "steps:\n  - {call: pay, expect: {words: [DONE, |NOPE]}}\n", "NOPE"},
		"inside parallel":  {story + "steps:\n  - parallel:\n      - {call: pay, expect: {word: |DUN}}\n      - {call: pay}\n", "known are DONE"},
		"of several":       {story + "steps:\n  - parallel: [{call: pay}, {call: pay}]\n    expect: {|status: succeeded}\n", "several answers"},
		"two scripts":      {story + "steps:\n  - |parallel:\n      - model: {user: A., answers: [{say: Hm.}]}\n      - model: {user: B., answers: [{say: Hm.}]}\n" + steps[7:], "one script"},
		"omit":             {story + "steps:\n  - {|call: pay, omit: [nothing], expect: {effects: 1}}\n", "no argument"},
		"scope":            {story + "tools: {create_payment: {scope: |nowhere}}\n" + steps, "scope is journal"},
		"resend":           {story + "tools: {create_payment: {resend: |always}}\n" + steps, "resend is never"},
		"key":              {story + "tools:\n  create_payment:\n    key: {in: |nowhere}\n" + steps, "in is header, body"},
		"guard":            {story + "tools: {create_payment: {deadline: 5s, |guard: full}}\n" + steps, "takes no guard"},
		"contradiction":    {story + "tools: {create_payment: {|on_repeat: executes}}\n" + steps, "a second effect"},
		"look-up":          {story + "tools: {create_payment: {lookup: {|by: reference}}}\n" + steps, "does not send our number"},
		"profile":          {story + "tools: {create_payment: {profile: |nope}}\n" + steps, "not known"},
		"knob":             {story + "tools: {create_payment: {|deadlin: 5s}}\n" + steps, "unknown key"},
		"no map of knobs":  {story + "tools: {create_payment: |5}\n" + steps, "map of knobs"},
		"dialect":          {story + "provider: {dialect: |loud}\n" + steps, "only plain"},
		"provider's key":   {story + "provider: {key: |maybe}\n" + steps, "want honoured"},
		"page":             {story + "provider: {search: {page: |0}}\n" + steps, "at least 1"},
		"fault":            {story + "steps:\n  - fault:\n      - {on: payments.create, do: reject}\n      - {on: payments.create, do: |rejct}\n" + steps[7:], "unknown fault"},
		"fault's key":      {story + "steps:\n  - fault: [{on: payments.create, do: reject, |after: 5s}]\n" + steps[7:], "does not take it"},
		"fault's value":    {story + "steps:\n  - fault: {on: payments.create, do: reject, |status: 200}\n" + steps[7:], "not between"},
		"no fault":         {story + "steps:\n  - fault: |[]\n" + steps[7:], "names no fault"},
		"no answers":       {story + "steps:\n  - model: {user: Pay., answers: |[]}\n" + steps[7:], "list of one answer"},
		"nobody speaks":    {story + "steps:\n  - model: {|answers: [{say: Hm.}]}\n" + steps[7:], "user is missing"},
		"answer's key":     {story + "steps:\n  - model: {user: Pay., answers: [{say: Hm.}, {|sag: Hm.}]}\n" + steps[7:], "unknown field"},
		"answer's value":   {story + "steps:\n  - model: {user: Pay., answers: [{say: Hm., shape: [|round]}]}\n" + steps[7:], "unknown shape"},
		"answer's type":    {story + "steps:\n  - model: {user: Pay., answers: [{|say: 5}]}\n" + steps[7:], "cannot unmarshal"},
		"call of answer":   {story + "steps:\n  - model: {user: Pay., answers: [{calls: [{tool: a}, {|id: c}]}]}\n" + steps[7:], "no tool"},
		"order":            {story + "steps:\n  - model: {user: Pay., order: |any, answers: [{say: Hm.}]}\n" + steps[7:], "asked"},
		"model's file":     {story + "steps:\n  - model: |nowhere.yaml\n" + steps[7:], "cannot be read"},
		"a call not there": {story + "steps:\n  - {|call: buy, expect: {effects: 1}}\n", "no call"},
	} {
		t.Run(name, func(t *testing.T) {
			text, at := marked("k.yaml", c.text)
			_, err := ParseFile("k.yaml", []byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), at) || !strings.Contains(err.Error(), c.says) || strings.Count(err.Error(), "k.yaml") != 1 {
				t.Errorf("want %s and %q, got: %v", at, c.says, err)
			}
		})
	}
}

// The model of a step may stand in a file beside the story; what is wrong there is refused there.
func TestModelFromAFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("pays.yaml", `user: Pay order 817.
answers:
  - call: {tool: create_payment, args: {order_id: "817", amount_minor: 490000, currency: RUB}}
  - say: Paid.
`)
	wrong := write("wrong.yaml", "user: Pay.\nanswers:\n  - say: Hm.\n  - {sai: Hm.}\n")
	text := "story: A model in a file.\nsteps:\n  - model: pays.yaml\n    expect: {words: [DONE], says: Paid, exit: 0, requests: 1, effects: 1, model_requests: 2}\n"
	f, err := ParseFile(filepath.Join(dir, "story.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(f); err != nil || !r.Passed {
		t.Errorf("%v: %v", err, r)
	}
	_, err = ParseFile(filepath.Join(dir, "story.yaml"), []byte(strings.Replace(text, "pays", "wrong", 1)))
	if err == nil || !strings.HasPrefix(err.Error(), wrong+":4:6: ") {
		t.Errorf("want the place in wrong.yaml, got %v", err)
	}
}

func TestParseScriptHasPlaces(t *testing.T) {
	for _, c := range []string{
		"answers:\n  - say: Hm.\n",
		"answers:\n  - say: Hm.\n  - {call: {|tol: a}}\n",
		"answers:\n  - {break: {|status: 200}}\n",
		"answers:\n  - {say: Hm., wait: |soon}\n",
		"|order: asked\n",
		"answers:\n  - say: Hm.\n|user: Pay.\n",
		"answers:\n  - {say: Hm., |call: {tool: a}, calls: [{tool: b}]}\n",
		"answers:\n  - |Hm.\n",
	} {
		text, begins := marked("s.yaml", c)
		_, err := ParseScript("s.yaml", []byte(text))
		if begins == "" && err != nil || begins != "" && (err == nil || !strings.HasPrefix(err.Error(), begins)) {
			t.Errorf("%q: want %q, got %v", text, begins, err)
		}
	}
}

// What a step of parallel expects is compared with its own answer, and counts with the state after all of them.
func TestExpectInsideParallel(t *testing.T) {
	r := play(t, story+`steps:
  - parallel:
      - {call: pay, wait: 20s, expect: {status: succeeded, requests: 1, operations: 1}}
      - {call: pay, change: {amount_minor: 1.0}, expect: {word: INVALID CALL, exit: 2, effects: 1}}
`)
	if !r.Passed {
		t.Error(r)
	}
	r = play(t, story+`steps:
  - parallel:
      - {call: pay, wait: 20s, expect: {word: DONE, requests: 1}}
      - {name: the odd one, call: pay, omit: [currency], expect: {status: succeeded, effects: 2}}
`)
	for _, want := range []string{
		"the odd one (2 of 2): status: expected \"succeeded\", got nothing", "the odd one (2 of 2): effects: expected 2, got 1",
	} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("want %q in:\n%s", want, r)
		}
	}
	if len(r.Failures) != 2 {
		t.Error(r)
	}
}

func TestCountsByKind(t *testing.T) {
	const mail = `story: A payment, and its answer is lost.
calls:
  pay: {tool: create_payment, args: {order_id: "817", amount_minor: 490000, currency: RUB}}
  mail: {tool: send_email, args: {to: ada@example.test, subject: s, body: b}}
steps:
  - fault: {on: payments.create, do: commit_then_reset}
  - {call: pay, wait: 1m, expect: {status: succeeded, requests: {payments: 1, emails: 0}, lookups: {payments: ">=1", emails: 0}}}
`
	if r := play(t, mail+"  - {call: mail, expect: {requests: {payments: 1, emails: 1}}}\n"); !r.Passed {
		t.Error(r)
	}
	r := play(t, mail+"  - {call: mail, expect: {requests: {payments: 2, emails: 0}, lookups: {emails: 1}}}\n")
	for _, want := range []string{"requests of emails: expected 0, got 1", "requests of payments: expected 2, got 1", "lookups of emails: expected 1, got 0"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("want %q in:\n%s", want, r)
		}
	}
}

// A step without an answer of its own cannot meet what is expected of one, not even an absence.
func TestExpectNeedsAnAnswer(t *testing.T) {
	r := play(t, story+`steps:
  - {call: pay, expect: {effects: 1}}
  - {advance: 1m, expect: {external_id: absent}}
  - model: {user: Hello., answers: [{say: Hello.}]}
    expect: {waits: false}
`)
	if len(r.Failures) != 2 || !strings.Contains(r.String(), "an answer is expected, and the step has none") {
		t.Error(r)
	}
}

func TestReportNamesTheFile(t *testing.T) {
	r := play(t, story+"steps:\n  - {call: pay, expect: {effects: 1}}\n")
	if want := "ok    k.yaml: One payment.  (1 request, 1 effect)"; r.String() != want {
		t.Errorf("got %q, want %q", r, want)
	}
	r.Requests, r.Effects = 0, 2
	if !strings.Contains(r.String(), "(0 requests, 2 effects)") {
		t.Error(r)
	}
}

// A crash strikes whoever is under way; the steps inside parallel say so for themselves.
func TestCrashInsideParallel(t *testing.T) {
	const crash = story + `steps:
  - crash: {after: wire.send}
  - parallel:
      - {call: pay, wait: 20s, expect: {crashed: true, requests: 1}}
      - {call: pay, wait: 20s, expect: {%s}}
    expect: {crashed: true, effects: 1}
`
	if r := play(t, fmt.Sprintf(crash, "crashed: true")); !r.Passed {
		t.Error(r)
	}
	r := play(t, fmt.Sprintf(crash, "external_id: absent"))
	if len(r.Failures) != 1 || !strings.Contains(r.String(), "call pay (2 of 2): an answer is expected, and the step has none") {
		t.Error(r)
	}
}
