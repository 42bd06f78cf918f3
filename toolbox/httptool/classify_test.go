package httptool

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"notwice/canonical"
	"notwice/journal"
	"notwice/toolbox"
)

// Whatever a provider answers: rejected only by a listed status and code, applied only when the answer names the id and echoes the
// request, else unknown or a word of the rules; never a second opinion.
func FuzzClassify(f *testing.F) {
	for _, body := range []string{`{"id":"p1","status":"succeeded","order_id":"817","amount_minor":490000}`, `{"error":{"code":"card_declined"}}`,
		`{"id":"p1","status":"pending"}`, `<html>`, ``, `{"id":"p1","id":"p2"}`, `{"id":"","status":"succeeded","order_id":"817","amount_minor":4.9e5}`} {
		for _, status := range []int{200, 201, 302, 400, 402, 409, 422, 429, 500, 503, 504} {
			f.Add(status, body, "3")
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		if status < 100 || status > 999 {
			return
		}
		d := declare(t, "http://127.0.0.1:9", func(f *toolbox.Facts) {
			f.Answers = []toolbox.Rule{
				{When: toolbox.When{Status: []string{"402", "422"}, Body: "error.code", In: []any{"card_declined", "invalid"}}, Outcome: "rejected"},
				{When: toolbox.When{Status: []string{"429"}}, Outcome: "not_sent"},
				{When: toolbox.When{Status: []string{"409"}}, Outcome: "still_running"},
			}
		})
		tool := &Tool{d: d}
		a := answer{status: status, header: http.Header{"Retry-After": {after}}, text: []byte(body)}
		if v, err := canonical.Parse([]byte(body)); err == nil {
			a.body, a.parsed = v, true
		}
		out := tool.classify(a, toolbox.Request{Args: map[string]any{"order_id": "817", "amount_minor": canonical.Number("490000")}})
		var says struct {
			ID      string      `json:"id"`
			Status  string      `json:"status"`
			OrderID string      `json:"order_id"`
			Amount  json.Number `json:"amount_minor"`
			Error   struct{ Code string }
		}
		read := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&says)
		switch out.Outcome {
		case journal.Rejected:
			if status != 402 && status != 422 || !slices.Contains([]string{"card_declined", "invalid"}, says.Error.Code) {
				t.Fatalf("%d %q is taken for a refusal (%v)", status, body, read)
			}
		case journal.Applied:
			if amount, err := says.Amount.Float64(); status/100 != 2 || out.ExternalID == "" || says.Status != "succeeded" || err != nil || amount != 490000 {
				t.Fatalf("%d %q is taken for success: %+v (%v)", status, body, says, read)
			}
		case journal.NotSent:
			if status != 429 {
				t.Fatalf("%d %q is taken for not sent", status, body)
			}
		}
		if out.RetryAfter < 0 {
			t.Fatalf("Retry-After %q is %v", after, out.RetryAfter)
		}
	})
}
