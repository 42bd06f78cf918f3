package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// errCut says that an answer ended before it was whole.
var errCut = errors.New("its answer was cut off, so nothing of it was run")

// Streamed is the same model asked for its answer in pieces. Nothing changes but that text can be seen while it arrives:
// Ask still returns whole answers only, and an answer without a finish reason is an error. said gets each piece of text,
// and a line break behind the last one; nil: nobody watches. Text of an answer that is then cut off has been shown.
func (m *OpenAI) Streamed(said func(text string)) *OpenAI {
	streamed := *m
	streamed.streamed, streamed.said = true, said
	if said == nil {
		streamed.said = func(string) {}
	}
	return &streamed
}

// stream reads the pieces until the server ends them in order, also beyond the finish reason.
func (m *OpenAI) stream(ctx context.Context, req openai.ChatCompletionRequest) (Reply, error) {
	s, err := m.client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	defer s.Close()
	var a assembly
	defer func() {
		if a.text.Len() > 0 {
			m.said("\n")
		}
	}()
	for {
		chunk, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Reply{}, brokenStream(err)
		}
		a.chunks++
		for _, choice := range chunk.Choices {
			if choice.Index == 0 {
				a.take(choice, m.said)
			}
		}
	}
	if kind := s.Header().Get("Content-Type"); a.chunks == 0 && kind != "" && !strings.HasPrefix(kind, "text/event-stream") {
		return Reply{}, fmt.Errorf("it was asked to stream and answered %s; ask without streaming", strings.ToValidUTF8(kind, "?"))
	}
	return a.reply()
}

// brokenStream tells pieces that cannot be understood, and will not be the next time, from a stream that broke off.
func brokenStream(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return fmt.Errorf("a piece of its answer cannot be read: %w", err)
	}
	return fmt.Errorf("%w (%w)", errCut, err)
}

// assembly puts one answer together. Servers differ in what they say of the pieces of a call:
//
//   - the index may be missing, or 0 for every call: then a call begins with a new id or, without ids, with a name;
//   - an id may be missing, or one constant for all calls: then a complete call is over when another piece names a tool;
//   - id and name may be sent again, as they were, as "" or as the text "null": the first real value is kept;
//   - a call may be sent again whole, or longer each time: it stays one call.
//
// Arguments are never repaired. What this cannot make out is left as it is, for the strict parser to refuse.
type assembly struct {
	chunks  int
	text    strings.Builder
	refusal strings.Builder
	finish  string
	calls   []*part
	current *part // what a piece without any mark belongs to
}

// part is a call that is still growing.
type part struct {
	ToolCall
	index *int
}

func (a *assembly) take(choice openai.ChatCompletionStreamChoice, said func(string)) {
	if choice.Delta.Content != "" {
		a.text.WriteString(choice.Delta.Content)
		said(choice.Delta.Content)
	}
	a.refusal.WriteString(choice.Delta.Refusal)
	for _, piece := range choice.Delta.ToolCalls {
		a.add(piece.Index, piece.ID, piece.Function.Name, piece.Function.Arguments)
	}
	if finish := meant(string(choice.FinishReason)); finish != "" {
		a.finish = finish
	}
}

// meant is a mark, or nothing where a server wrote a null as text.
func meant(mark string) string {
	if mark == "null" {
		return ""
	}
	return mark
}

func (a *assembly) add(index *int, id, name, text string) {
	id, name = meant(id), meant(name)
	if id == "" && name == "" && text == "" {
		return
	}
	p := a.find(index, id, name)
	if p == nil {
		p = &part{index: index}
		a.calls = append(a.calls, p)
	}
	a.current = p
	if p.ID == "" {
		p.ID = id
	}
	if p.Name == "" {
		p.Name = name
	}
	if id+name != "" && p.Arguments != "" && strings.HasPrefix(text, p.Arguments) {
		p.Arguments = text // a snapshot: no JSON object goes on with its own beginning
		return
	}
	p.Arguments += text
}

// find returns the call that a piece goes on with; nil: a new one begins.
func (a *assembly) find(index *int, id, name string) *part {
	switch {
	case id == "" && name == "" && index == nil:
		return a.current
	case id == "" && name == "":
		return a.last(index, "")
	case id == "" && index == nil && (a.current == nil || a.current.Name != ""):
		return nil
	case id == "" && index == nil:
		return a.current
	}
	p := a.last(index, id)
	if p == nil && name == "" && index != nil { // an id that comes late
		if p = a.last(index, ""); p != nil && p.ID != "" {
			p = nil
		}
	}
	if p != nil && name != "" && p.Name != "" && (p.Name != name || json.Valid([]byte(p.Arguments))) {
		return nil
	}
	return p
}

// last is the newest call with this id, where one is given, at this index, where both have one.
func (a *assembly) last(index *int, id string) *part {
	for i := len(a.calls) - 1; i >= 0; i-- {
		p := a.calls[i]
		if (id == "" || p.ID == id) && (index == nil || p.index == nil || *index == *p.index) {
			return p
		}
	}
	return nil
}

// reply is the whole answer.
func (a *assembly) reply() (Reply, error) {
	if a.finish == "" {
		return Reply{}, fmt.Errorf("%w (no finish reason came)", errCut)
	}
	r := Reply{Text: a.text.String(), Finish: a.finish}
	if r.Text == "" {
		r.Text = a.refusal.String()
	}
	r.Calls = a.done()
	return r, nil
}

func (a *assembly) done() (calls []ToolCall) {
	for _, p := range a.calls {
		calls = append(calls, p.ToolCall)
	}
	return once(calls)
}

// once drops copies: a call that bears the id of an earlier one and says nothing else is that call. Equal calls with ids of
// their own, or without, stay: whether they are one wish is the toolbox's business.
func once(calls []ToolCall) []ToolCall {
	var kept []ToolCall
	for _, c := range calls {
		copied := false
		for _, k := range kept {
			copied = copied || c.ID != "" && c.ID == k.ID && c.Name == k.Name && c.Arguments == k.Arguments
		}
		if !copied {
			kept = append(kept, c)
		}
	}
	return kept
}
