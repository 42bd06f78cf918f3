package fakeprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// manualClock moves only when told to.
type manualClock struct {
	mu   sync.Mutex
	cond *sync.Cond
	now  time.Time
}

func newManualClock() *manualClock {
	c := &manualClock{now: start}
	c.cond = sync.NewCond(&c.mu)
	return c
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.cond.Broadcast()
}

func (c *manualClock) Hold(ctx context.Context, _ string, until time.Time) error {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cond.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil && (until.IsZero() || c.now.Before(until)) {
		c.cond.Wait()
	}
	return ctx.Err()
}

// world is a server with a clock of its own and a stock client.
type world struct {
	*testing.T
	*Server
	clock  *manualClock
	client *http.Client
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	clock := newManualClock()
	if o.Clock == nil {
		o.Clock = clock
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	w := &world{t, s, clock, &http.Client{Transport: transport}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// reply is what a client sees.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (w *world) do(ctx context.Context, method, path, key, body string) reply {
	w.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.URL()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		w.Fatal(err)
	}
	if key != "" {
		req.Header.Set(keyHeader, key)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(data), err}
}

func (w *world) post(path, key, body string) reply {
	w.Helper()
	return w.do(w.Context(), "POST", path, key, body)
}

func (w *world) get(path string) reply {
	w.Helper()
	return w.do(w.Context(), "GET", path, "", "")
}

// held waits until the server holds n requests.
func (w *world) held(n int) {
	w.Helper()
	w.until("held requests", func() bool { return len(w.Held()) == n })
}

// until waits for a condition that another goroutine is about to make true.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !ok() {
		runtime.Gosched()
		if time.Now().After(deadline) {
			w.Fatal("waited in vain for " + what)
		}
	}
}

func (w *world) arm(text string) {
	w.Helper()
	faults, err := ParseFaults([]byte(text))
	if err != nil {
		w.Fatal(err)
	}
	if err := w.Arm(faults...); err != nil {
		w.Fatal(err)
	}
}

func (w *world) effects() []Effect {
	w.Helper()
	list, err := w.Core().Effects(w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func (w *world) count(effects, writes, lookups int) {
	w.Helper()
	q := w.Core().Requests()
	if n := len(w.effects()); n != effects || q.Writes != writes || q.Lookups != lookups {
		w.Errorf("effects %d, writes %d, lookups %d; want %d, %d, %d", n, q.Writes, q.Lookups, effects, writes, lookups)
	}
}

func (r reply) want(t testing.TB, status int) reply {
	t.Helper()
	if r.err != nil || r.status != status {
		t.Fatalf("status %d, body %s, error %v; want %d", r.status, r.body, r.err, status)
	}
	return r
}

func (r reply) field(t testing.TB, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.body), &m); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return string(m[name])
}

func (r reply) code(t testing.TB) string {
	t.Helper()
	var e errorBody
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return e.Error.Code
}

// ids lists the objects of a search and says which page is next.
func (r reply) ids(t testing.TB) (ids []string, next int) {
	t.Helper()
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Next *int `json:"next_page"`
	}
	if err := json.Unmarshal([]byte(r.want(t, 200).body), &page); err != nil {
		t.Fatal(err)
	}
	for _, d := range page.Data {
		ids = append(ids, d.ID)
	}
	if page.Next != nil {
		next = *page.Next
	}
	return ids, next
}

const order817 = `{"order_id":"817","amount_minor":490000,"currency":"RUB","reference":"20260301-AAAABBBBCC"}`
const order818 = `{"order_id":"818","amount_minor":100,"currency":"USD","reference":"20260301-DDDDEEEEFF"}`
