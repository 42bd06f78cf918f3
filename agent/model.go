package agent

import (
	"context"
	"time"
)

// Model answers a conversation. Ask makes one request and does not retry.
type Model interface {
	Ask(ctx context.Context, c Conversation) (Reply, error)
}

// Conversation is what the model is shown.
type Conversation struct {
	System   string
	Messages []Message
	Tools    []ToolView
}

// Message is one message: of the person, of the model, or the result of a call.
type Message struct {
	Role   string // user, assistant, tool
	Text   string
	Calls  []ToolCall // assistant
	CallID string     // tool
	Name   string     // tool
}

// ToolCall is a call as the model wrote it: the arguments are text and may be anything.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolView is a tool as the model sees it.
type ToolView struct {
	Name, Description string
	Schema            any
}

// Reply is one answer of the model.
type Reply struct {
	Text   string
	Calls  []ToolCall
	Finish string // stop, tool_calls, length, …
}

// BusyError says that asking again is worth a try: the server asks to wait, or its answer was cut off and nothing of it ran.
type BusyError struct {
	Status int           // 429 or 5xx; 0: the answer was cut off
	After  time.Duration // 0: it did not say
	Err    error
}

func (e *BusyError) Error() string { return e.Err.Error() }
func (e *BusyError) Unwrap() error { return e.Err }
