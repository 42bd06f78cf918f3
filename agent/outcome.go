package agent

import (
	"context"

	"notwice/toolbox"
)

// Outcome is the end of a turn.
type Outcome struct {
	Task     string
	Text     string           // the model's words
	Receipts []toolbox.Result // what the journal holds of each operation of the turn, in the order of its calls
	Exit     int              // from the journal, not from the text
	Words    []string         // first words of the turn's tool answers, in order
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
		if name == checkName { // it only looked
			continue
		}
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
