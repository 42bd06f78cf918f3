package fakeprovider

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// disguise turns the true answer into the one that the fault lets the client see. It changes no state; the true answer may be empty
// where nothing was executed.
func disguise(now time.Time, f *Fault, a Answer, r Request) Answer {
	switch f.Do {
	case "commit_then_timeout", "timeout_no_commit", "late_commit":
		return Answer{Fate: Hold}
	case "commit_then_reset", "reset_no_commit":
		return Answer{Fate: Reset}
	case "commit_then_error", "error_no_commit", "lookup_error":
		return f.errorAnswer()
	case "error_200":
		return errorAnswer(http.StatusOK, "failed", "the request failed")
	case "html_200":
		return page(http.StatusOK)
	case "truncated":
		return truncate(a)
	case "oversize":
		a.Size = int64(f.Bytes)
		if f.Bytes == 0 {
			a.Size = 16 << 20
		}
		return a
	case "drip":
		return f.drip(a)
	case "reject":
		return f.rejection()
	case "throttle":
		return f.withRetryAfter(errorAnswer(http.StatusTooManyRequests, "rate_limited", "too many requests"))
	case "still_running":
		return inProgress()
	case "wrong_echo":
		return f.wrongEcho(a)
	case "redirect":
		return f.redirect(r)
	}
	return a // commit_twice shows the second object as it is
}

func (f *Fault) status(otherwise int) int {
	if f.Status != 0 {
		return f.Status
	}
	return otherwise
}

func (f *Fault) withRetryAfter(a Answer) Answer {
	if f.RetryAfter > 0 {
		a.Header.Set("Retry-After", retryAfter(f.RetryAfter))
	}
	return a
}

func (f *Fault) errorAnswer() Answer {
	if f.EmptyObject {
		return jsonAnswer(http.StatusOK, []byte("{}"))
	}
	status := f.status(http.StatusInternalServerError)
	if f.HTML {
		return f.withRetryAfter(page(status))
	}
	return f.withRetryAfter(errorAnswer(status, "internal", "something went wrong here"))
}

func (f *Fault) rejection() Answer {
	code := f.Code
	if code == "" {
		code = "declined"
	}
	return errorAnswer(f.status(http.StatusUnprocessableEntity), code, "the provider declines this request")
}

// truncate states the whole length and sends about half of it.
func truncate(a Answer) Answer {
	if a.Status == 0 {
		a = jsonAnswer(http.StatusOK, []byte(`{"id":"","status":"processing"}`))
	}
	body := a.Body()
	a.Header.Set("Content-Length", strconv.Itoa(len(body)))
	a.Pieces, a.Fate = [][]byte{body[:len(body)/2]}, Cut
	return a
}

func (f *Fault) drip(a Answer) Answer {
	a.Every = f.Every
	if a.Every == 0 {
		a.Every = time.Second
	}
	a.Pieces = slices.Collect(slices.Chunk(a.Body(), max(f.Bytes, 1)))
	return a
}

// wrongEcho changes one field of an object that was made; errors and refusals stay as they are.
func (f *Fault) wrongEcho(a Answer) Answer {
	members, err := parseObject(a.Body())
	if err != nil || a.Status >= 300 {
		return a
	}
	changed := false
	for i, m := range members {
		if m.name == f.Field {
			members[i].value, changed = f.otherValue(m.value), true
		}
	}
	if !changed {
		members = append(members, member{f.Field, f.otherValue(nil)})
	}
	a.Pieces = [][]byte{encodeObject(members)}
	return a
}

func (f *Fault) otherValue(value json.RawMessage) json.RawMessage {
	switch text, isText := textOf(value); {
	case f.Value != nil:
		return f.Value
	case isText || value == nil:
		return encode(text + "-other")
	case string(value) == "1":
		return json.RawMessage("2")
	}
	return json.RawMessage("1")
}

func (f *Fault) redirect(r Request) Answer {
	status := f.status(http.StatusTemporaryRedirect)
	a := errorAnswer(status, "moved", "look elsewhere")
	to := f.To
	if to == "" {
		to = r.Path
		if len(r.Query) > 0 {
			to += "?" + r.Query.Encode()
		}
	}
	a.Header.Set("Location", to)
	return a
}

// otherAnswer shows another object of the same kind in place of the one that was made: the latest, or an invented one if there is none.
func (c *Core) otherAnswer(now time.Time, own *Effect, a Answer) Answer {
	if own == nil {
		return a
	}
	entries := c.ledger.effects(now)
	for _, e := range slices.Backward(entries) {
		if e.Effect.Kind == own.Kind && e.Effect.Action == own.Action && e.Effect.ID != own.ID {
			a.Pieces = [][]byte{encodeObject(e.Effect.object())}
			return a
		}
	}
	o := operations[own.Kind+"."+own.Action]
	invented := *own
	invented.ID, invented.Key = idOf(o.prefix, 0), ""
	invented.Fields = map[string]json.RawMessage{}
	for name, value := range own.Fields {
		invented.Fields[name] = value
	}
	field := o.required[0].field
	invented.Fields[field] = new(Fault).otherValue(own.Fields[field])
	a.Pieces = [][]byte{encodeObject(invented.object())}
	return a
}
