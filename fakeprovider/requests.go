package fakeprovider

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"
)

// Requests tells what the provider has received since it started. Counted are requests, not effects.
type Requests struct {
	Writes  int           `json:"writes"`  // create and cancel, whatever became of them
	Lookups int           `json:"lookups"` // get and search
	Model   int           `json:"model"`   // chat completions
	List    []RequestSeen `json:"list"`
}

// RequestSeen is one received request. Kind and Action are empty for an unknown path or method.
type RequestSeen struct {
	N      int             `json:"n"` // from 1
	Method string          `json:"method"`
	Path   string          `json:"path"` // with the query
	Kind   string          `json:"kind,omitempty"`
	Action string          `json:"action,omitempty"`
	Key    string          `json:"key,omitempty"`  // header Idempotency-Key as sent, also where the provider does not read it
	Body   json.RawMessage `json:"body,omitempty"` // JSON as sent, anything else as a JSON text; cut at 64 KiB
	At     time.Time       `json:"at"`
	Conn   string          `json:"conn,omitempty"`
}

const bodyLimit = 64 << 10

// record enters a request and returns its number.
func (q *Requests) record(now time.Time, r Request, to route) int {
	seen := RequestSeen{N: len(q.List) + 1, Method: r.Method, Path: r.Path, Kind: to.kind, Action: to.action, At: now, Conn: r.Conn}
	if len(r.Query) > 0 {
		seen.Path += "?" + r.Query.Encode()
	}
	seen.Key = r.Header.Get(keyHeader)
	seen.Body = bodySeen(r.Body)
	q.List = append(q.List, seen)
	switch {
	case to.kind == modelKind && to.action == actionChat:
		q.Model++
	case to.write():
		q.Writes++
	case to.look():
		q.Lookups++
	}
	return seen.N
}

func bodySeen(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	if len(body) <= bodyLimit && json.Valid(body) {
		return slices.Clone(body)
	}
	if len(body) > bodyLimit {
		body = body[:bodyLimit]
		for len(body) > 0 && !utf8.Valid(body[max(0, len(body)-utf8.UTFMax):]) && !utf8.RuneStart(body[len(body)-1]) {
			body = body[:len(body)-1]
		}
	}
	return encode(string(body))
}

func (q *Requests) copy() Requests {
	c := *q
	c.List = append([]RequestSeen{}, q.List...)
	return c
}
