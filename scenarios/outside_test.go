package scenarios

import (
	"strings"
	"testing"

	"notwice/fakeprovider"
)

const elsewhereStory = `
story: The provider is another process, and time is the machine's.
provider: {at: "URL"}
clock: real
tools: {create_payment: {deadline: 200ms, lookup: {visibility_window: 50ms, backoff: {first: 20ms, max: 50ms}}}}
calls:
  pay: {tool: create_payment, args: {order_id: "817", amount_minor: 490000, currency: RUB}}
steps:
  - fault: {on: payments.create, do: commit_then_timeout}
  - {call: pay, expect: {status: unknown, requests: 1, effects: 1}}
  - crash: now
  - {call: pay, wait: 5s, expect: {status: succeeded, evidence: lookup_by_key, requests: {payments: 1}, effects: {payments: 1}}}
  - model:
      user: Pay 818.
      answers: [{call: {tool: create_payment, args: {order_id: "818", amount_minor: 1, currency: RUB}}}, {say: Paid.}]
    expect: {words: [DONE], says: Paid, requests: 2, effects: 2, model_requests: 2}
`

// A story against a provider in another process counts what happens from its own beginning on, each time it runs.
func TestProviderElsewhere(t *testing.T) {
	there, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	f, err := ParseFile("elsewhere.yaml", []byte(strings.Replace(elsewhereStory, "URL", there.URL(), 1)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(f); err != nil || !r.Passed {
		t.Fatalf("%v: %s", err, r)
	}
	there.Close()
	if _, err := Run(f); err == nil || !strings.Contains(err.Error(), "no fake provider") {
		t.Errorf("nobody is there: %v", err)
	}
}

func TestProviderElsewhereRefused(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`provider: {at: "URL"}`, `provider: {at: "nowhere"}`}:                             "a URL such as",
		{`provider: {at: "URL"}`, `provider: {at: "http://127.0.0.1:1", key: ignored}`}:    "set up where it runs",
		{`provider: {at: "URL"}`, `provider: {key: ignored}`}:                              "beside a provider that is at a URL",
		{`clock: real`, `clock: virtual`}:                                                  "clock takes real",
		{`provider: {at: "URL"}`, `provider: {at: "http://user:secret@127.0.0.1:1/path"}`}: "a URL such as",
	} {
		text := strings.Replace(strings.Replace(elsewhereStory, change[0], change[1], 1), "URL", "http://127.0.0.1:1", 1)
		if _, err := ParseFile("k.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "k.yaml:") {
			t.Errorf("%s: %v, want %q", change[1], err, want)
		}
	}
}
