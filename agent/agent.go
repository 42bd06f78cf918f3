package agent

import (
	"context"
	"errors"
	"fmt"
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
DONE or ALREADY DONE: it happened. REJECTED: it did not and will not. NOT SENT: nothing was sent.
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

// Outcome is the end of a turn.
type Outcome struct {
	Task     string
	Text     string           // the model's words
	Receipts []toolbox.Result // what the journal holds of each operation of the turn, in the order of its calls
	Exit     int              // from the journal, not from the text
	Words    []string         // first words of the turn's tool answers, in order
}

// ErrSteps says that the model did not come to an end.
var ErrSteps = errors.New("the model did not come to an end")

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
		e := entry{Kind: "model", Text: reply.Text, Finish: reply.Finish}
		for _, call := range reply.Calls { // recorded before a tool runs; volatile values stay out
			call.Arguments = a.o.Toolbox.Blank(call.Name, call.Arguments)
			e.Calls = append(e.Calls, call)
		}
		if err := l.append(ctx, e); err != nil {
			return "", err
		}
	}
}

// modelTries bounds how often a busy model is asked.
const modelTries = 4

func (a *Agent) ask(ctx context.Context, c Conversation) (Reply, error) {
	for try := 1; ; try++ {
		reply, err := a.o.Model.Ask(ctx, c)
		var busy *BusyError
		if err == nil || !errors.As(err, &busy) || try == modelTries {
			return reply, err
		}
		wait := max(busy.After, time.Duration(try)*time.Second)
		a.o.Progress(fmt.Sprintf("%v; asking again in %s", busy, wait))
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
		r := a.call(answer, call)
		if r.Word == "" {
			if call.Name == checkName {
				r = a.check(ctx, call)
			}
		}
		if r.Word == "" {
			made := toolbox.Call{
				Tool: call.Name, Arguments: []byte(call.Arguments), Task: l.task, Turn: turn, Wait: a.o.Wait, Account: a.o.Account,
				Position: strings.Join([]string{l.task, strconv.Itoa(at), strconv.Itoa(i)}, "/"),
			}
			var err error
			if r, err = a.o.Toolbox.Call(ctx, made); err != nil {
				return err
			}
			if a.o.Person != nil && (r.Waits || r.Word == toolbox.ConflictWord) {
				if r, err = a.o.Person(ctx, made, r); err != nil {
					return err
				}
			}
		}
		e := entry{Kind: "tool", Text: r.Message, Message: at, Call: i, Number: r.Number, Word: string(r.Word), Exit: r.Word.Exit()}
		if err := l.append(ctx, e); err != nil { // before the model sees it
			return err
		}
		r.Delivered()
	}
	return nil
}

// call refuses what cannot be a whole call: an answer that was cut off may have lost the end of its arguments.
func (a *Agent) call(answer entry, call ToolCall) toolbox.Result {
	if answer.Finish == "length" {
		return toolbox.CutOff(call.Name)
	}
	return toolbox.Result{}
}

func (a *Agent) views() []ToolView {
	var views []ToolView
	for _, d := range a.o.Toolbox.Tools() {
		views = append(views, ToolView{Name: d.Name, Description: d.Description, Schema: d.ModelSchema()})
	}
	return append(views, ToolView{Name: checkName, Description: checkDescription, Schema: checkSchema})
}

// check_operation is the one tool of ours that the model sees: it looks, and changes nothing.
const (
	checkName        = "check_operation"
	checkDescription = "Look at an operation that was not confirmed, by the number that its answer gave. It sends nothing and changes nothing."
)

var checkSchema = map[string]any{"type": "object", "additionalProperties": false, "required": []string{"number"},
	"properties": map[string]any{"number": map[string]any{"type": "string", "description": "Operation number, such as 20260302-ABCDEFGHIJ"}}}

func (a *Agent) check(ctx context.Context, call ToolCall) toolbox.Result {
	return a.o.Toolbox.Check(ctx, []byte(call.Arguments))
}

// outcome reads the receipts of a turn from the journal.
func (a *Agent) outcome(ctx context.Context, l *log, text string) Outcome {
	out := Outcome{Task: l.task, Text: text}
	_, from := l.turn()
	seen, unfinished := map[string]bool{}, map[string]int{}
	for _, e := range l.entries[min(from, len(l.entries)):] {
		if e.Kind != "tool" {
			continue
		}
		out.Words = append(out.Words, e.Word)
		name := l.entries[e.Message].Calls[e.Call].Name
		if unfinished[name] = e.Exit; e.Number == "" { // a read, or a call that was refused: the last one of a tool counts
			continue
		}
		delete(unfinished, name)
		if seen[e.Number] && e.Word != string(toolbox.ConflictWord) {
			continue
		}
		seen[e.Number] = true
		r, err := a.o.Toolbox.Show(ctx, e.Number)
		if err != nil {
			out.Exit = Worse(out.Exit, 6)
			continue
		}
		out.Receipts = append(out.Receipts, r)
		exit := r.Word.Exit()
		if e.Word == string(toolbox.ConflictWord) {
			exit = e.Exit
		}
		out.Exit = Worse(out.Exit, exit)
	}
	for _, exit := range unfinished {
		out.Exit = Worse(out.Exit, exit)
	}
	return out
}

// severity orders exit codes: what a host must not overlook comes first.
var severity = []int{0, 2, 7, 1, 5, 3, 6}

// Worse is the exit code that must not be overlooked: of what is not known rather than of what failed.
func Worse(a, b int) int {
	rank := func(code int) int {
		for i, c := range severity {
			if c == code {
				return i
			}
		}
		return len(severity)
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
