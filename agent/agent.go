package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"notwice/toolbox"
)

// Options of an agent. Toolbox, Model, Transcript and Clock are required.
type Options struct {
	Toolbox    *toolbox.Toolbox
	Model      Model
	Transcript Transcript
	Clock      toolbox.Clock
	System     string        // the prompt; empty: DefaultSystem
	MaxSteps   int           // model answers in a turn; below 1: 20
	Wait       time.Duration // patience of each tool call
	Account    string        // empty: the tools' own
	Progress   func(line string)

	// Person, where not nil, is shown a call that only a person can let through, and what it was answered; it returns what
	// the model is told, after the person's decision or without one.
	Person func(ctx context.Context, c toolbox.Call, r toolbox.Result) (toolbox.Result, error)
}

// DefaultSystem is the prompt in the binary.
const DefaultSystem = `You act through tools. Each tool answer begins with a fixed word:
DONE or ALREADY DONE: it happened. REJECTED: it is final and will not be done. NOT SENT: it took no effect.
NOT CONFIRMED or QUEUED: it may have happened or may still happen; say so and stop. WAITING FOR A PERSON or CONFLICT: only a person can go on; say so and stop.
Call a tool once for each wish. Never repeat or reword a call to get another answer. Never invent values; ask. Report what the tools answered.`

// Agent runs turns of a task.
type Agent struct{ o Options }

// New makes an agent.
func New(o Options) *Agent {
	if o.System == "" {
		o.System = DefaultSystem
	}
	if o.MaxSteps < 1 {
		o.MaxSteps = 20
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &Agent{o}
}

// Turn answers a person's message. A task whose last turn has the same message goes on with that turn, also if it is
// finished; an empty message goes on with the last turn.
func (a *Agent) Turn(ctx context.Context, task, message string) (Outcome, error) {
	l, err := openLog(ctx, a.o.Transcript, task)
	if err != nil {
		return Outcome{Task: task}, err
	}
	ordinal, at := l.turn()
	switch {
	case message == "" && ordinal == 0:
		return Outcome{Task: task}, fmt.Errorf("task %q has no message to go on with", task)
	case message != "" && (ordinal == 0 || l.entries[at].Text != message):
		if err := l.append(ctx, entry{Kind: "user", Text: message}); err != nil {
			return Outcome{Task: task}, err
		}
	}
	text, err := a.loop(ctx, l)
	out := a.outcome(ctx, l, text)
	return out, err
}

// loop asks and runs tools until the model calls none.
func (a *Agent) loop(ctx context.Context, l *log) (text string, err error) {
	for step := 0; ; step++ {
		answer, at := l.last()
		if answer != nil {
			if err := a.tools(ctx, l, *answer, at); err != nil {
				return "", err
			}
			if len(answer.Calls) == 0 {
				return answer.Text, nil
			}
		}
		if step == a.o.MaxSteps {
			return "", fmt.Errorf("%w after %d answers", ErrSteps, step)
		}
		reply, err := a.ask(ctx, Conversation{System: a.o.System, Messages: l.messages(), Tools: a.views()})
		if err != nil {
			return "", err
		}
		e := entry{Kind: "model", Text: reply.Text, Finish: reply.Finish, live: reply.Calls}
		for _, call := range reply.Calls { // recorded before a tool runs; volatile values stay out
			call.Arguments = a.o.Toolbox.Blank(call.Name, call.Arguments)
			e.Calls = append(e.Calls, call)
		}
		if err := l.append(ctx, e); err != nil {
			return "", err
		}
	}
}

// A model that is busy, or whose answer was cut off, is asked again so often, and is not waited for longer than this.
const (
	modelTries   = 4
	modelWaitMax = 5 * time.Minute
)

func (a *Agent) ask(ctx context.Context, c Conversation) (Reply, error) {
	for try := 1; ; try++ {
		reply, err := a.o.Model.Ask(ctx, c)
		var busy *BusyError
		if err == nil || !errors.As(err, &busy) || try == modelTries {
			return reply, err
		}
		wait := max(busy.After, time.Duration(try)*time.Second)
		if wait > modelWaitMax {
			return Reply{}, fmt.Errorf("the model's server asks to wait %s: %w", wait, err)
		}
		why := "the model's answer was cut off and nothing of it was run"
		if busy.Status != 0 {
			why = fmt.Sprintf("the model is busy (%d)", busy.Status)
		}
		a.o.Progress(fmt.Sprintf("%s; asking again in %s", why, wait))
		if err := a.o.Clock.Wait(ctx, a.o.Clock.Now().Wall.Add(wait), nil); err != nil {
			return Reply{}, err
		}
	}
}

// tools runs the calls of one model answer, in order, those that have no recorded result yet.
func (a *Agent) tools(ctx context.Context, l *log, answer entry, at int) error {
	turn, _ := l.turn()
	for i, call := range answer.Calls {
		if l.result(at, i) != nil {
			continue
		}
		a.o.Progress("calling " + call.Name)
		if answer.live != nil {
			call = answer.live[i]
		}
		r, err := a.call(ctx, answer, toolbox.Call{
			Tool: call.Name, Arguments: []byte(call.Arguments), Task: l.task, Turn: turn, Wait: a.o.Wait, Account: a.o.Account,
			Position: strings.Join([]string{l.task, strconv.Itoa(at), strconv.Itoa(i)}, "/"),
		})
		if err != nil {
			return err
		}
		e := entry{Kind: "tool", Text: r.Message, Message: at, Call: i, Number: r.Number, Word: string(r.Word), Exit: r.Word.Exit()}
		if err := l.append(ctx, e); err != nil { // before the model sees it
			return err
		}
		r.Delivered()
	}
	return nil
}

// cut are the finish reasons of answers that were cut off by their server.
var cut = []string{"length", "max_tokens", "content_filter"}

// call runs one call. What cannot be a whole one is refused: an answer that was cut off may have lost the end of its arguments.
func (a *Agent) call(ctx context.Context, answer entry, c toolbox.Call) (toolbox.Result, error) {
	switch {
	case slices.Contains(cut, answer.Finish):
		return toolbox.CutOff(c.Tool, answer.Finish), nil
	case c.Tool == checkName:
		return a.o.Toolbox.Check(ctx, c.Arguments), nil
	}
	r, err := a.o.Toolbox.Call(ctx, c)
	if err == nil && a.o.Person != nil && (r.Waits || r.Word == toolbox.ConflictWord) {
		return a.o.Person(ctx, c, r)
	}
	return r, err
}

func (a *Agent) views() []ToolView {
	var views []ToolView
	for _, d := range a.o.Toolbox.Tools() {
		views = append(views, ToolView{Name: d.Name, Description: d.Description, Schema: d.ModelSchema()})
	}
	return append(views, ToolView{Name: checkName, Description: checkDescription, Schema: checkSchema})
}
