package agent_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"notwice/agent"
	"notwice/fakeprovider"
)

// script gives the model its answers, in JSON.
func (w *world) script(answers ...string) {
	w.Helper()
	w.play(`{"answers":[` + strings.Join(answers, ",") + `]}`)
}

// asked gives the model answers that follow each other however often a conversation is shown.
func (w *world) asked(answers ...string) {
	w.Helper()
	w.play(`{"order":"asked","answers":[` + strings.Join(answers, ",") + `]}`)
}

func (w *world) play(text string) {
	w.Helper()
	script, err := fakeprovider.ParseScript([]byte(text))
	if err != nil {
		w.Fatal(err)
	}
	w.fake.SetScript(script)
}

// model is the scripted model behind HTTP.
func (w *world) model() *agent.OpenAI {
	client := &http.Client{Transport: asking{&http.Transport{DisableKeepAlives: true}, w}}
	m := agent.NewOpenAI(w.fake.URL()+"/v1", "none", "scripted", client)
	if w.streamed {
		m = m.Streamed(func(text string) { w.said += text })
	}
	return m
}

type asking struct {
	http.RoundTripper
	w *world
}

func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.w.onAsk != nil {
		a.w.onAsk()
	}
	res, err := a.RoundTripper.RoundTrip(r)
	if err == nil && a.w.retryAfter != "" {
		res.Header.Set("Retry-After", a.w.retryAfter)
	}
	if err != nil || a.w.bent == nil {
		return res, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	res.Body, res.ContentLength = io.NopCloser(strings.NewReader(a.w.bent.Replace(string(body)))), -1
	return res, err
}

// call is an answer with one call.
func call(tool, args string) string { return `{"call":` + one(tool, args, "") + `}` }

// calls is an answer with several, delivered in shapes.
func calls(shapes string, list ...string) string {
	shape := `[]`
	if shapes != "" {
		shape = `["` + strings.ReplaceAll(shapes, " ", `","`) + `"]`
	}
	return `{"calls":[` + strings.Join(list, ",") + `],"shape":` + shape + `}`
}

// one is a call; its arguments are sent as they stand.
func one(tool, raw, id string) string {
	text, _ := json.Marshal(map[string]string{"tool": tool, "raw": raw, "id": id})
	return string(text)
}

func say(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"say":` + string(quoted) + `}`
}

func payOrder(id string) string {
	return `{"order_id":"` + id + `","amount_minor":490000,"currency":"RUB"}`
}

func ticket(title string) string { return `{"project":"OPS","title":"` + title + `"}` }

const mail = `{"to":"ada@example.test","subject":"Order 817 confirmed","body":"Thank you."}`

var pay = payOrder("817")
