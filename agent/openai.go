package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	openai "github.com/sashabaranov/go-openai"
)

// OpenAI is a model behind an OpenAI-compatible endpoint.
type OpenAI struct {
	client *openai.Client
	name   string
}

// NewOpenAI speaks to baseURL, such as http://127.0.0.1:11434/v1. client nil is http.DefaultClient.
func NewOpenAI(baseURL, key, name string, client *http.Client) *OpenAI {
	config := openai.DefaultConfig(key)
	config.BaseURL = baseURL
	if client != nil {
		config.HTTPClient = client
	}
	return &OpenAI{client: openai.NewClientWithConfig(config), name: name}
}

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
	res, err := m.client.CreateChatCompletion(ctx, req)
	if err != nil {
		return Reply{}, modelError(err)
	}
	if len(res.Choices) == 0 {
		return Reply{}, fmt.Errorf("%w: the answer has no choices", ErrModel)
	}
	choice := res.Choices[0]
	reply := Reply{Text: choice.Message.Content, Finish: string(choice.FinishReason)}
	if reply.Text == "" {
		reply.Text = choice.Message.Refusal
	}
	for _, call := range choice.Message.ToolCalls {
		reply.Calls = append(reply.Calls, ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
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
func modelError(err error) error {
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
	if status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
		return &BusyError{Status: status, Err: wrapped}
	}
	return wrapped
}
