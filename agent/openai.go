package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// OpenAI is a model behind an OpenAI-compatible endpoint.
type OpenAI struct {
	client   *openai.Client
	name     string
	streamed bool
	said     func(text string)
}

// NewOpenAI speaks to baseURL, such as http://127.0.0.1:11434/v1. client nil is http.DefaultClient.
func NewOpenAI(baseURL, key, name string, client *http.Client) *OpenAI {
	config := openai.DefaultConfig(key)
	config.BaseURL = baseURL
	if client == nil {
		client = http.DefaultClient
	}
	config.HTTPClient = listener{client}
	return &OpenAI{client: openai.NewClientWithConfig(config), name: name}
}

// Ask implements Model.
func (m *OpenAI) Ask(ctx context.Context, c Conversation) (Reply, error) {
	ask := m.whole
	if m.streamed {
		ask = m.stream
	}
	after := new(time.Duration)
	reply, err := ask(context.WithValue(ctx, afterKey{}, after), m.request(c))
	if err != nil {
		return Reply{}, modelError(err, *after)
	}
	return reply, nil
}

func (m *OpenAI) request(c Conversation) openai.ChatCompletionRequest {
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
	return req
}

func wireMessage(msg Message) openai.ChatCompletionMessage {
	out := openai.ChatCompletionMessage{Role: msg.Role, Content: msg.Text, ToolCallID: msg.CallID}
	for _, call := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments}})
	}
	return out
}

// whole asks for the answer in one piece.
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
		reply.Calls = append(reply.Calls, ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	reply.Calls = once(reply.Calls)
	return reply, nil
}

// modelError tells what may be asked again from what may not. The library has three shapes of errors; an answer that ended
// too early was never whole, so nothing of it has run and asking again is harmless.
func modelError(err error, after time.Duration) error {
	wrapped := fmt.Errorf("%w: %w", ErrModel, err)
	status := 0
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errCut):
		return &BusyError{Err: wrapped}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return &BusyError{Err: fmt.Errorf("%w: %w (%w)", ErrModel, errCut, err)}
	case errors.As(err, &api):
		status = api.HTTPStatusCode
	case errors.As(err, &request):
		status = request.HTTPStatusCode
	}
	if status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
		return &BusyError{Status: status, After: after, Err: wrapped}
	}
	return wrapped
}

// listener hears how long a busy server asks to wait: the library's errors do not say.
type listener struct{ client *http.Client }

type afterKey struct{}

func (l listener) Do(req *http.Request) (*http.Response, error) {
	res, err := l.client.Do(req)
	if after, ok := req.Context().Value(afterKey{}).(*time.Duration); ok && err == nil {
		*after = retryAfter(res.Header)
	}
	return res, err
}

// retryAfter reads both forms of Retry-After (RFC 9110 §10.2.3). A date is counted from the server's own Date, so that
// neither clock needs to be right.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, until.Sub(now))
}
