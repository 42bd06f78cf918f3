package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// OpenAI is a model behind an OpenAI-compatible endpoint.
type OpenAI struct {
	client   *openai.Client
	name     string
	streamed bool
	text     func(piece string)
}

// NewOpenAI speaks to baseURL, such as http://127.0.0.1:11434/v1. client nil is http.DefaultClient.
func NewOpenAI(baseURL, key, name string, client *http.Client) *OpenAI {
	config := openai.DefaultConfig(key)
	config.BaseURL = baseURL
	if client == nil {
		client = http.DefaultClient
	}
	config.HTTPClient = patient{client}
	return &OpenAI{client: openai.NewClientWithConfig(config), name: name}
}

// Streamed returns a model that asks for its answers in pieces. text, where not nil, is given the words as they come; calls run
// only once the whole answer is there.
func (m *OpenAI) Streamed(text func(piece string)) *OpenAI {
	s := *m
	s.streamed, s.text = true, text
	return &s
}

// patient notes how long a server asks to wait, which the library does not tell.
type patient struct{ *http.Client }

type waitKey struct{}

func (p patient) Do(req *http.Request) (*http.Response, error) {
	res, err := p.Client.Do(req)
	if wait, ok := req.Context().Value(waitKey{}).(*time.Duration); ok && err == nil {
		if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil && seconds > 0 {
			*wait = min(time.Duration(seconds)*time.Second, maxModelWait)
		}
	}
	return res, err
}

// maxModelWait bounds what a server may ask for.
const maxModelWait = 5 * time.Minute

// Ask implements Model.
func (m *OpenAI) Ask(ctx context.Context, c Conversation) (Reply, error) {
	req := openai.ChatCompletionRequest{Model: m.name}
	if c.System != "" {
		req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: c.System})
	}
	for _, msg := range c.Messages {
		req.Messages = append(req.Messages, wireMessage(msg))
	}
	for _, t := range c.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	var wait time.Duration
	ctx = context.WithValue(ctx, waitKey{}, &wait)
	ask := m.whole
	if m.streamed {
		ask = m.stream
	}
	reply, err := ask(ctx, req)
	if err != nil {
		return Reply{}, modelError(err, wait)
	}
	return reply, nil
}

// whole asks for the answer at once.
func (m *OpenAI) whole(ctx context.Context, req openai.ChatCompletionRequest) (Reply, error) {
	res, err := m.client.CreateChatCompletion(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	if len(res.Choices) == 0 {
		return Reply{}, errors.New("the answer has no choices")
	}
	choice := res.Choices[0]
	reply := Reply{Text: choice.Message.Content, Finish: string(choice.FinishReason)}
	if reply.Text == "" {
		reply.Text = choice.Message.Refusal
	}
	for _, call := range choice.Message.ToolCalls {
		made := ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}
		if made.ID == "" || !slices.Contains(reply.Calls, made) { // the very same block twice is one call
			reply.Calls = append(reply.Calls, made)
		}
	}
	return reply, nil
}

func wireMessage(msg Message) openai.ChatCompletionMessage {
	out := openai.ChatCompletionMessage{Role: msg.Role, Content: msg.Text, ToolCallID: msg.CallID}
	for _, call := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments}})
	}
	return out
}

// modelError tells what may be tried again from what may not. The library has three shapes of errors.
func modelError(err error, wait time.Duration) error {
	status := 0
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.As(err, &api):
		status = api.HTTPStatusCode
	case errors.As(err, &request):
		status = request.HTTPStatusCode
	case errors.Is(err, context.Canceled):
		return err
	}
	wrapped := fmt.Errorf("%w: %w", ErrModel, err)
	busy := []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	if slices.Contains(busy, status) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &BusyError{Status: status, After: wait, Err: wrapped}
	}
	return wrapped
}
