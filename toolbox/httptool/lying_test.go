package httptool

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/journal"
	"notwice/toolbox"
)

// upgrading is a provider that hands every connection over and then says nothing.
func upgrading(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// A provider that switches the protocol gives no answer, and keeps nobody beyond the deadline: not a write, not a look-up.
func TestSwitchedProtocolIsUnknown(t *testing.T) {
	base := upgrading(t)
	tool, err := New(declare(t, base, func(f *toolbox.Facts) { f.Lookup = byKey(base) }), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r := request(t, tool, "")
	begin := time.Now()
	if a := tool.Send(ctx, r); a.Outcome != journal.OutcomeUnknown {
		t.Errorf("the write is %s (%s)", a.Outcome, a.Reason)
	}
	if s := tool.Lookup(ctx, r, nil); s.Failed == "" {
		t.Errorf("the look-up found %+v", s)
	}
	if time.Since(begin) > 5*time.Second {
		t.Error("it waited for the provider to end")
	}
}

func byKey(base string) *toolbox.LookupFacts {
	return &toolbox.LookupFacts{By: "key", Complete: true, AllPages: true, Misses: 1, Items: "data", Next: "next_page", TrustEmpty: true,
		HTTP: &toolbox.HTTPRequest{Method: "GET", URL: base + "/payments", Query: map[string]string{"key": "${operation.key}"}}, Match: toolbox.MatchFacts{Path: "key"}}
}

// What a look-up answers that is no plain, complete list is a failed look-up, never "nothing there"; what is there and cannot be
// named goes to a person.
func TestLyingLookups(t *testing.T) {
	mine := `{"key":"01900000-0000-7000-8000-000000000001","id":"p1","order_id":"817","amount_minor":490000,"status":"succeeded"}`
	for name, c := range map[string]struct {
		status int
		body   string
		failed bool
		found  int
		id     string
	}{
		"found":                         {200, `{"data":[` + mine + `]}`, false, 1, "p1"},
		"nothing":                       {200, `{"data":[]}`, false, 0, ""},
		"nothing, no next":              {200, `{"data":[],"next_page":null}`, false, 0, ""},
		"another's":                     {200, `{"data":[{"key":"other","id":"p2"}]}`, false, 0, ""},
		"another's, without key":        {200, `{"data":[{"key":null,"id":"p2"}]}`, false, 0, ""},
		"next page an object":           {200, `{"data":[],"next_page":{"cursor":"abc"}}`, true, 0, ""},
		"next page true":                {200, `{"data":[],"next_page":true}`, true, 0, ""},
		"next page a list":              {200, `{"data":[],"next_page":["2"]}`, true, 0, ""},
		"the key field is renamed":      {200, `{"data":[` + strings.Replace(mine, `"key"`, `"idem"`, 1) + `]}`, true, 0, ""},
		"the key is a list":             {200, `{"data":[` + strings.Replace(mine, `"01900000-0000-7000-8000-000000000001"`, `["01900000-0000-7000-8000-000000000001"]`, 1) + `]}`, true, 0, ""},
		"one of two bears no key":       {200, `{"data":[` + mine + `,{"id":"p2"}]}`, false, 1, "p1"},
		"things that are no objects":    {200, `{"data":[null,1,"x",[]]}`, true, 0, ""},
		"a part":                        {206, `{"data":[]}`, true, 0, ""},
		"not ready":                     {202, `{"data":[]}`, true, 0, ""},
		"no content":                    {204, ``, true, 0, ""},
		"an empty object":               {200, `{}`, true, 0, ""},
		"a list without its object":     {200, `[]`, true, 0, ""},
		"HTML":                          {200, `<html>`, true, 0, ""},
		"cut":                           {200, `{"data":[`, true, 0, ""},
		"two lists under one name":      {200, `{"data":[` + mine + `],"data":[]}`, true, 0, ""},
		"an id as long as a book":       {200, `{"data":[` + strings.Replace(mine, "p1", strings.Repeat("y", 40_000), 1) + `]}`, false, 1, ""},
		"a blank id":                    {200, `{"data":[` + strings.Replace(mine, "p1", "  ", 1) + `]}`, false, 1, ""},
		"an error with a list in it":    {500, `{"data":[]}`, true, 0, ""},
		"a redirect to an empty list":   {302, `{"data":[]}`, true, 0, ""},
		"pages without end, and no end": {200, `{"data":[],"next_page":"1"}`, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			defer server.Close()
			tool, err := New(declare(t, server.URL, func(f *toolbox.Facts) { f.Lookup = byKey(server.URL) }), nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			s := tool.Lookup(ctx, request(t, tool, ""), nil)
			if (s.Failed != "") != c.failed || len(s.Found) != c.found {
				t.Errorf("failed %q, found %d, want failed %v, found %d", s.Failed, len(s.Found), c.failed, c.found)
			}
			if len(s.Found) == 1 && s.Found[0].ID != c.id {
				t.Errorf("id %.20q, want %q", s.Found[0].ID, c.id)
			}
			if strings.HasPrefix(name, "pages without end") && s.AllPages {
				t.Error("all pages of an endless list were read")
			}
		})
	}
}

// A refusal needs the provider's own error shape, and a success an id that is one.
func TestAnswersThatNameNothing(t *testing.T) {
	yes := true
	for body, want := range map[string]journal.Outcome{
		`422 {"error":{"code":"card_declined"}}`: journal.Rejected,
		`422 {"error":{"code":null}}`:            journal.OutcomeUnknown,
		`422 {"error":{}}`:                       journal.OutcomeUnknown,
		`200 {"id":"p1","status":"succeeded","order_id":"817","amount_minor":490000}`:    journal.Applied,
		`200 {"id":" ","status":"succeeded","order_id":"817","amount_minor":490000}`:     journal.OutcomeUnknown,
		`200 {"id":null,"status":"succeeded","order_id":"817","amount_minor":490000}`:    journal.OutcomeUnknown,
		`200 {"id":{"v":1},"status":"succeeded","order_id":"817","amount_minor":490000}`: journal.OutcomeUnknown,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var status int
			fmt.Sscan(body, &status)
			w.WriteHeader(status)
			w.Write([]byte(body[4:]))
		}))
		tool, err := New(declare(t, server.URL, func(f *toolbox.Facts) {
			f.Answers = []toolbox.Rule{{When: toolbox.When{Status: []string{"422"}, Body: "error.code", Exists: &yes}, Outcome: "rejected"}}
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := tool.Send(context.Background(), request(t, tool, "")); a.Outcome != want {
			t.Errorf("%s: %s (%s), want %s", body, a.Outcome, a.Reason, want)
		}
		server.Close()
	}
}

// Over a transport that is not ours nobody sees the first byte: an error proves nothing.
func TestForeignTransportIsUnknown(t *testing.T) {
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			c.Close()
		}
	}))
	defer closed.Close()
	for name, c := range map[string]struct {
		rt   http.RoundTripper
		base string
		want journal.Outcome
	}{
		"stock, answer lost":     {&http.Transport{DisableKeepAlives: true}, closed.URL, journal.OutcomeUnknown},
		"stock, nobody listens":  {&http.Transport{DisableKeepAlives: true}, "http://127.0.0.1:1", journal.OutcomeUnknown},
		"ours, answer lost":      {nil, closed.URL, journal.OutcomeUnknown},
		"ours, nobody listens":   {nil, "http://127.0.0.1:1", journal.NotSent},
		"ours, no such host":     {nil, "http://nowhere.invalid", journal.NotSent},
		"one that only says no":  {roundTrip(func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("no") }), closed.URL, journal.OutcomeUnknown},
		"an address that is bad": {nil, closed.URL, journal.NotSent},
	} {
		tool, err := New(declare(t, c.base, nil), c.rt)
		if err != nil {
			t.Fatal(err)
		}
		r := request(t, tool, "")
		if name == "an address that is bad" {
			r.Wire = []byte(strings.Replace(string(r.Wire), "http://", "http://%", 1))
		}
		if a := tool.Send(context.Background(), r); a.Outcome != c.want {
			t.Errorf("%s: %s (%s), want %s", name, a.Outcome, a.Reason, c.want)
		}
	}
}

// The date of a candidate: as text, in seconds, and not at all.
func TestDatesOfCandidates(t *testing.T) {
	want := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for text, undated := range map[string]bool{
		`"2026-03-02T09:00:00Z"`: false, `"2026-03-02T12:00:00+03:00"`: false, `1772442000`: false,
		`"yesterday"`: true, `null`: true, `-5`: true, `""`: true, `"02.03.2026"`: true, `{}`: true, `1772442000000`: true, `817`: true, `"1772442000"`: true,
	} {
		item, err := canonical.Parse([]byte(`{"created":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got, missing := dateAt(item, "created")
		if missing != undated || !undated && !got.Equal(want) {
			t.Errorf("%s: %s, undated %v", text, got, missing)
		}
	}
}

// An echo is compared in canonical form, and names arguments that exist.
func TestEchoIsExact(t *testing.T) {
	for echo, want := range map[string]bool{`"817"`: true, `817`: false, `"817 "`: false, `["817"]`: false, `null`: false} {
		body, err := canonical.Parse([]byte(`{"order_id":` + echo + `,"amount_minor":490000}`))
		if err != nil {
			t.Fatal(err)
		}
		tool, err := New(declare(t, "http://127.0.0.1:1", nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(tool.differs(body, request(t, tool, "").Args)) == 0; got != want {
			t.Errorf("echo %s: equal %v", echo, got)
		}
	}
	for _, wrong := range []map[string]string{{"amount_minor": "args.amount_minr"}, {"amount_minor": "amount_minor"}, {"amount_minor": "490000"}} {
		if _, err := New(declare(t, "http://127.0.0.1:1", func(f *toolbox.Facts) { f.Echo = wrong }), nil); err == nil {
			t.Errorf("the echo %v was taken", wrong)
		}
	}
	volatile := func(f *toolbox.Facts) {
		f.Lookup = byKey("http://127.0.0.1:1")
		f.Lookup.Match = toolbox.MatchFacts{Path: "token", Equals: "args.token"}
	}
	if _, err := New(declare(t, "http://127.0.0.1:1", volatile), nil); err == nil || !strings.Contains(err.Error(), "does not send") {
		t.Errorf("a look-up by a volatile field was taken: %v", err)
	}
}
