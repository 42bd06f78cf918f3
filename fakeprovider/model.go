package fakeprovider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// model plays the script. It remembers what it was asked; which answer is next follows from the conversation itself, so a client that
// was killed and starts again with the same messages gets the same answer.
type model struct {
	script *Script
	asked  []json.RawMessage
	played int // answers given, for order "asked"
}

// chatRequest is the part of OpenAI's request that a script needs.
type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role string `json:"role"`
	} `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (m *model) handle(now time.Time, r Request, to route) Answer {
	if m.script == nil {
		return modelError(http.StatusNotFound, "not_found_error", "no_model", "this provider has no model")
	}
	if to.action == actionModels {
		return modelList(now)
	}
	m.asked = append(m.asked, modelBody(r.Body))
	var q chatRequest
	if err := json.Unmarshal(r.Body, &q); err != nil || len(q.Messages) == 0 {
		return modelError(http.StatusBadRequest, "invalid_request_error", "malformed", "want a JSON object with messages")
	}
	n := m.next(q)
	if n > len(m.script.Answers) {
		return modelError(http.StatusInternalServerError, "server_error", "script_ended", fmt.Sprintf("the script has no answer %d", n))
	}
	a := m.script.Answers[n-1].play(now, n, q)
	if wait := m.script.Answers[n-1].Wait; wait > 0 {
		a.Until = now.Add(time.Duration(wait))
	}
	return a
}

// next is the number of the answer, from 1.
func (m *model) next(q chatRequest) int {
	if m.script.Order == "asked" {
		m.played++
		return m.played
	}
	n := 1
	for _, message := range q.Messages {
		if message.Role == "assistant" {
			n++
		}
	}
	return n
}

func modelBody(body []byte) json.RawMessage {
	if json.Valid(body) {
		return slices.Clone(body)
	}
	return encode(string(body))
}

// play renders an answer for a stream or at once.
func (a *ScriptAnswer) play(now time.Time, n int, q chatRequest) Answer {
	if b := a.Break; b != nil {
		switch {
		case b.Status != 0:
			return a.broken()
		case b.How == "html":
			return page(http.StatusOK)
		case b.How == "empty" && q.Stream:
			return typed(http.StatusOK, eventStream, nil)
		case b.How == "empty":
			return typed(http.StatusOK, jsonType, nil)
		}
	}
	s := speech{ScriptAnswer: a, n: n, model: q.Model, created: now.Unix(), usage: q.StreamOptions.IncludeUsage}
	if q.Stream {
		return s.stream()
	}
	return s.whole()
}

func (a *ScriptAnswer) broken() Answer {
	kind := "server_error"
	if a.Break.Status < 500 {
		kind = "invalid_request_error"
	}
	if a.Break.Status == http.StatusTooManyRequests {
		kind = "rate_limit_error"
	}
	out := modelError(a.Break.Status, kind, "scripted", "the script breaks here")
	if a.Break.RetryAfter > 0 {
		out.Header.Set("Retry-After", retryAfter(a.Break.RetryAfter))
	}
	return out
}

func modelError(status int, kind, code, message string) Answer {
	body := map[string]any{"error": map[string]any{"message": message, "type": kind, "code": code, "param": nil}}
	return jsonAnswer(status, encode(body))
}

func modelList(now time.Time) Answer {
	one := map[string]any{"id": "scripted", "object": "model", "created": now.Unix(), "owned_by": "fakeprovider"}
	return jsonAnswer(http.StatusOK, encode(map[string]any{"object": "list", "data": []any{one}}))
}
