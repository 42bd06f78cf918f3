package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Transcript keeps a task's entries durably. The journal's stores satisfy it, in the same file as the operations.
type Transcript interface {
	// Append adds entry number n, from 0. taken: somebody else has added it; nothing was written.
	Append(ctx context.Context, task string, n int, entry []byte) (taken bool, err error)
	// Entries returns all entries in order; none for an unknown task.
	Entries(ctx context.Context, task string) ([][]byte, error)
}

// entry is one line of a transcript.
type entry struct {
	V       int        `json:"v"`
	Kind    string     `json:"kind"` // user, model, tool
	Text    string     `json:"text,omitempty"`
	Calls   []ToolCall `json:"calls,omitempty"`   // model
	Finish  string     `json:"finish,omitempty"`  // model
	Message int        `json:"message,omitempty"` // tool: entry number of the model's message
	Call    int        `json:"call,omitempty"`    // tool: index of the call in it
	Number  string     `json:"number,omitempty"`  // tool: operation number, for the receipt
	Word    string     `json:"word,omitempty"`    // tool
	Exit    int        `json:"exit,omitempty"`    // tool

	live []ToolCall // model: the calls with their volatile values, which no record keeps; nil once the process has ended
}

// log is a task's transcript in memory, in step with the store.
type log struct {
	store   Transcript
	task    string
	entries []entry
}

func openLog(ctx context.Context, store Transcript, task string) (*log, error) {
	raw, err := store.Entries(ctx, task)
	if err != nil {
		return nil, fmt.Errorf("transcript of task %q: %w", task, err)
	}
	l := &log{store: store, task: task}
	for i, text := range raw {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil || e.V != 1 {
			return nil, fmt.Errorf("transcript of task %q: entry %d cannot be read", task, i)
		}
		l.entries = append(l.entries, e)
	}
	return l, nil
}

func (l *log) append(ctx context.Context, e entry) error {
	e.V = 1
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	taken, err := l.store.Append(ctx, l.task, len(l.entries), text)
	if err != nil {
		return fmt.Errorf("transcript of task %q: %w", l.task, err)
	}
	if taken {
		return fmt.Errorf("task %q: %w", l.task, ErrTaken)
	}
	l.entries = append(l.entries, e)
	return nil
}

// turn is the ordinal of the person's last message, and where it stands; 0 before the first.
func (l *log) turn() (ordinal, at int) {
	for i, e := range l.entries {
		if e.Kind == "user" {
			ordinal, at = ordinal+1, i
		}
	}
	return ordinal, at
}

// last returns the last model answer of this turn and its entry number, or nil.
func (l *log) last() (*entry, int) {
	_, from := l.turn()
	for i := len(l.entries) - 1; i > from; i-- {
		if l.entries[i].Kind == "model" {
			return &l.entries[i], i
		}
	}
	return nil, 0
}

// result returns the recorded result of a call, or nil.
func (l *log) result(message, call int) *entry {
	for i := message + 1; i < len(l.entries); i++ {
		if e := &l.entries[i]; e.Kind == "tool" && e.Message == message && e.Call == call {
			return e
		}
	}
	return nil
}

// messages is the conversation as the model is shown it. Calls get ids that are there and unique, whatever the model wrote.
func (l *log) messages() []Message {
	var out []Message
	for i, e := range l.entries {
		switch e.Kind {
		case "user":
			out = append(out, Message{Role: "user", Text: e.Text})
		case "model":
			m := Message{Role: "assistant", Text: e.Text}
			for n, call := range e.Calls {
				call.ID = callID(i, n)
				m.Calls = append(m.Calls, call)
			}
			out = append(out, m)
		case "tool":
			out = append(out, Message{Role: "tool", Text: e.Text, CallID: callID(e.Message, e.Call), Name: l.entries[e.Message].Calls[e.Call].Name})
		}
	}
	return out
}

func callID(message, call int) string { return fmt.Sprintf("call_%d_%d", message, call) }
