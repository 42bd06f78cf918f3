package httptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"notwice/canonical"
	"notwice/journal"
	"notwice/toolbox"
)

// Limits of one answer.
const (
	maxBody   = 64 << 20 // read at most
	maxParsed = 16 << 20 // judged at most
	maxResult = 64 << 10 // kept at most
)

// Tool calls one HTTP provider as its declaration says. It is a toolbox.Tool, Builder and Lookuper.
type Tool struct {
	d      toolbox.Declaration
	client *http.Client
}

// New makes a tool. rt carries its requests; nil is NewTransport. Error: a declaration whose request, key or look-up
// cannot work.
func New(d toolbox.Declaration, rt http.RoundTripper) (*Tool, error) {
	if rt == nil {
		rt = NewTransport()
	}
	t := &Tool{d: d, client: noRedirects(rt)}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("tool %s: %w", d.Name, err)
	}
	return t, nil
}

// Place is where a provider is, for the intent: scheme, host and port.
func Place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	if u.Port() == "" {
		port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
		return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

func (t *Tool) check() error {
	f := t.d.Facts
	if f.HTTP == nil {
		return errors.New("it has no http request")
	}
	if u, err := url.Parse(reference.ReplaceAllString(f.HTTP.URL, "x")); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("url %q needs a literal scheme, host and port", f.HTTP.URL)
	}
	if f.Effect == toolbox.Write && f.Success == nil {
		return errors.New("a write by http needs a success rule: a 2xx can be a failure")
	}
	if f.Lookup != nil {
		return t.checkLookup()
	}
	return nil
}

// Declare implements toolbox.Tool.
func (t *Tool) Declare() toolbox.Declaration { return t.d }

// Build implements toolbox.Builder: the request of every attempt, with the key where the facts say.
func (t *Tool) Build(r toolbox.Request) (canonical.Raw, error) {
	w, err := build(*t.d.Facts.HTTP, values{args: r.Args, volatile: r.Volatile, key: r.Key, number: r.Number})
	if err != nil {
		return nil, err
	}
	if t.d.Facts.Effect == toolbox.Write {
		for _, place := range append([]toolbox.KeyPlace{t.d.Facts.Key}, t.d.Facts.Key.Also...) {
			if err := w.put(place, encodeKey(place, r.Key, r.Number)); err != nil {
				return nil, err
			}
		}
	}
	return canonical.EncodeRecord(w)
}

// Send implements toolbox.Tool.
func (t *Tool) Send(ctx context.Context, r toolbox.Request) toolbox.Answer {
	text := r.Wire
	if text == nil { // a read
		var err error
		if text, err = t.Build(r); err != nil {
			return toolbox.Answer{Outcome: journal.NotSent, Reason: "request_unreadable", Text: err.Error()}
		}
	}
	var w wire
	if err := canonical.DecodeRecord(text, &w); err != nil {
		return toolbox.Answer{Outcome: journal.NotSent, Reason: "request_unreadable", Text: err.Error()}
	}
	w.URL = t.rebased(w.URL)
	f := filler{volatile: r.Volatile, secret: r.Secret}
	w = f.fill(w)
	switch {
	case f.err != nil:
		return toolbox.Answer{Outcome: journal.NotSent, Reason: "authentication", Waits: "the owner of the secret", Text: f.err.Error()}
	case f.missing != "":
		return toolbox.Answer{Outcome: journal.NotSent, Reason: "needs_caller", Text: f.missing + " is only with a caller"}
	}
	a, g, err := t.exchange(ctx, w, r.Before)
	if err != nil {
		return failed(ctx, g, err)
	}
	if t.d.Facts.Effect == toolbox.Read {
		return t.classifyRead(a)
	}
	return t.classify(a, r)
}

// rebased is the address of a registered request. A provider that is named by a word, as the fake inside a process is, may
// listen elsewhere by now; any other is where it was when the request was registered.
func (t *Tool) rebased(registered string) string {
	here := t.d.Facts.HTTP.URL
	if t.d.Facts.Place == "" || t.d.Facts.Place == Place(here) {
		return registered
	}
	was, err := url.Parse(registered)
	now, failed := url.Parse(reference.ReplaceAllString(here, "x"))
	if err != nil || failed != nil {
		return registered
	}
	was.Scheme, was.Host = now.Scheme, now.Host
	return was.String()
}

// exchange makes one request on a connection of its own and reads the answer.
func (t *Tool) exchange(ctx context.Context, w wire, before func() error) (answer, *gate, error) {
	g := &gate{before: before}
	ctx = context.WithValue(ctx, gateKey{}, g)
	req, err := http.NewRequestWithContext(ctx, w.Method, w.URL, strings.NewReader(w.Body))
	if err != nil {
		return answer{}, g, err
	}
	req.GetBody = nil // nothing below may send the body a second time
	for name, value := range w.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Accept", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		return answer{}, g, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 { // the connection was handed over: there is no answer to read, and nothing would end the reading
		return answer{}, g, fmt.Errorf("status %d is no answer: %w", res.StatusCode, io.ErrUnexpectedEOF)
	}
	defer context.AfterFunc(ctx, func() { res.Body.Close() })()
	a := answer{status: res.StatusCode, header: res.Header}
	a.text, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return answer{}, g, fmt.Errorf("answer cut short: %w", err)
	}
	if len(a.text) > maxBody {
		return answer{}, g, errTooLarge
	}
	a.parse()
	return a, g, nil
}

func (a *answer) parse() {
	if body, err := canonical.ParseLimit(a.text, maxParsed); err == nil {
		a.body, a.parsed = body, true
	}
}

var errTooLarge = errors.New("answer too large")

// failed says what an error of the exchange proves: before the first byte nothing was executed, after it nothing is known.
func failed(ctx context.Context, g *gate, err error) toolbox.Answer {
	out := toolbox.Answer{Outcome: journal.OutcomeUnknown, Reason: "connection_lost", Text: "the connection was lost"}
	switch {
	case g.held.Load():
		out.Outcome, out.Reason = journal.NotSent, "lease_over_before_sending"
	case !g.sent.Load():
		out.Outcome, out.Reason = journal.NotSent, "not_connected"
		if errors.Is(err, syscall.ECONNREFUSED) {
			out.Reason = "connection_refused"
		}
	case errors.Is(err, errTooLarge):
		out.Reason = "answer_too_large"
	case ctx.Err() != nil || isTimeout(err):
		out.Reason, out.Text = "timeout", "no answer came in time"
	case errors.Is(err, io.ErrUnexpectedEOF):
		out.Reason = "answer_cut_short"
	}
	return out
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// classifyRead hands a readable answer on; anything else may be asked again.
func (t *Tool) classifyRead(a answer) toolbox.Answer {
	out := toolbox.Answer{Outcome: journal.OutcomeUnknown, Reason: fmt.Sprintf("status_%d", a.status), Text: shown(a)}
	switch {
	case a.parsed && a.status >= 200 && a.status < 300:
		out.Outcome, out.Result = journal.Applied, t.result(a.body)
		if len(t.d.Facts.Result) == 0 && len(a.text) <= maxResult {
			out.Result = a.text
		}
	case a.parsed && (a.status == 404 || a.status == 400 || a.status == 422):
		out.Outcome = journal.Rejected
	}
	return out
}
