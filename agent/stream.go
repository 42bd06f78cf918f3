package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// stream asks for the answer in pieces and returns it whole: nothing of it is run before its end has come. An answer that broke
// off is worth another try, since nothing of it was used.
func (m *OpenAI) stream(ctx context.Context, req openai.ChatCompletionRequest) (Reply, error) {
	s, err := m.client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	defer s.Close()
	var reply Reply
	var calls assembly
	for {
		piece, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Reply{}, err
		}
		for _, choice := range piece.Choices {
			if choice.Index != 0 {
				continue
			}
			reply.Text += choice.Delta.Content + choice.Delta.Refusal
			if m.text != nil && choice.Delta.Content != "" {
				m.text(choice.Delta.Content)
			}
			for _, call := range choice.Delta.ToolCalls {
				calls.add(call.Index, call.ID, call.Function.Name, call.Function.Arguments)
			}
			if choice.FinishReason != "" {
				reply.Finish = string(choice.FinishReason)
			}
		}
	}
	if reply.Finish == "" {
		return Reply{}, fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	reply.Calls = calls.done()
	return reply, nil
}

// assembly puts the calls of a streamed answer together. Servers number them wrongly or not at all, send ids and names again as
// nothing, send a whole call twice, or send all calls so far with every piece.
type assembly struct{ calls []*part }

type part struct {
	index          *int
	id, name, args string
}

// whole reports whether the arguments are a complete object.
func (p *part) whole() bool {
	return strings.HasPrefix(strings.TrimSpace(p.args), "{") && json.Valid([]byte(p.args))
}

// real is a name or an id, unless it only says that there is none.
func real(s string) string {
	if s == "null" {
		return ""
	}
	return s
}

func (a *assembly) add(index *int, id, name, args string) {
	id, name = real(id), real(name)
	p := a.find(index, id)
	switch {
	case p == nil && id != "" && slices.ContainsFunc(a.calls, func(o *part) bool { return o.id == id && o.name == name && o.args == args && o.whole() }):
		return // the same call once more, under another number
	case p == nil:
	case p.whole() && args == p.args && (name == "" || name == p.name): // the same call once more
		return
	case name != "" && p.name != "" && name != p.name:
		p = nil
	case (id != "" || name != "") && p.whole() && strings.HasPrefix(strings.TrimSpace(args), "{"): // another one under the same id or number
		p = nil
	case name != "" && p.args != "" && len(args) > len(p.args) && strings.HasPrefix(args, p.args): // all of it so far
		p.args = args
		return
	}
	if p == nil {
		p = &part{index: index, id: id}
		a.calls = append(a.calls, p)
	}
	if p.name == "" {
		p.name = name
	}
	p.args += args
}

// find is the call that a piece belongs to: by its id, where the numbers do not speak against it, else by its number, else the
// latest.
func (a *assembly) find(index *int, id string) *part {
	for i := len(a.calls) - 1; i >= 0; i-- {
		p := a.calls[i]
		switch {
		case id != "" && p.id == id && (index == nil || p.index == nil || *index == *p.index), id == "" && index == nil:
			return p
		case id == "" && p.index != nil && *p.index == *index:
			return p
		}
	}
	return nil
}

func (a *assembly) done() (calls []ToolCall) {
	for _, p := range a.calls {
		calls = append(calls, ToolCall{ID: p.id, Name: p.name, Arguments: p.args})
	}
	return calls
}
