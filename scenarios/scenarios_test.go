package scenarios

import (
	"strings"
	"testing"
)

func TestShipped(t *testing.T) {
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r, err := Run(f)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Passed {
				t.Error(r)
			}
		})
	}
}

// Case 8: effects are counted, not attempts. A provider that acts twice on one request fails the story, and the report says
// that the surplus arose behind us.
func TestCase008SurplusBehindUs(t *testing.T) {
	f, err := ParseFile("case-008.yaml", []byte(`
story: One mail is sent, and two arrive.
calls:
  mail: {tool: send_email, args: {to: ada@example.test, subject: s, body: b}}
steps:
  - fault: {on: emails.create, do: commit_twice}
  - call: mail
    expect: {attempts: 1, requests: 1, effects: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(f)
	if err != nil || r.Passed || !strings.Contains(r.String(), "2 of 1 request: the surplus arose behind Notwice") {
		t.Errorf("%v: %s", err, r)
	}
}
