package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"notwice/journal"
	"notwice/toolbox"
)

func opsCommand() *cli.Command {
	one := []cli.Flag{configFlag(), journalFlag(), jsonFlag()}
	return &cli.Command{
		Name:  "ops",
		Usage: "show operations of the journal",
		Description: "KEY is a whole operation key, an operation number, or a unique beginning of eight characters or more.\n" +
			"  notwice ops list --status unknown\n  notwice ops history 20260302-ABCDEFGHIJ",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list operations, newest first", Action: opsList, Flags: append(slices.Clone(one),
				&cli.StringSliceFlag{Name: "status", Usage: "only this `STATE` (may be repeated): pending, in_progress, unknown, succeeded, failed_final"},
				&cli.StringFlag{Name: "tool", Usage: "only this `TOOL`"},
				&cli.StringFlag{Name: "task", Usage: "only this `TASK`"},
				&cli.IntFlag{Name: "limit", Value: 50, Usage: "at most `N`"},
				&cli.StringFlag{Name: "before", Usage: "go on behind this `KEY`"})},
			{Name: "show", Usage: "show one operation", ArgsUsage: "KEY", Flags: one, Action: opsShow},
			{Name: "history", Usage: "show everything that happened to one operation", ArgsUsage: "KEY", Flags: one, Action: opsHistory},
			{Name: "stop", Usage: "end an operation that nothing has sent", ArgsUsage: "KEY", Action: opsStop, Flags: append(slices.Clone(one),
				&cli.StringFlag{Name: "why", Usage: "the reason, for the history"})},
		},
	}
}

func opsList(c *cli.Context) error {
	q := journal.Query{Tool: c.String("tool"), Task: c.String("task"), Limit: c.Int("limit")}
	for _, s := range c.StringSlice("status") {
		if !slices.Contains(journal.Statuses(), journal.Status(s)) {
			return usagef("--status %q: the states are pending, in_progress, unknown, succeeded, failed_final", s)
		}
		q.Statuses = append(q.Statuses, journal.Status(s))
	}
	if q.Limit < 1 || c.Args().Present() {
		return usagef("ops list takes no arguments, and --limit is at least 1")
	}
	s, err := openReader(c)
	if err != nil {
		return err
	}
	defer s.close()
	if before := c.String("before"); before != "" {
		op, err := toolbox.Find(c.Context, s.store, before)
		if err != nil && op.Key == "" {
			return err
		}
		q.Before = op.Key
	}
	ops, next, err := s.store.List(c.Context, q)
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return err
	}
	printOperations(c, ops, next, err == nil)
	return inPart(err)
}

// printOperations prints a list; whole: there are no others but those behind next.
func printOperations(c *cli.Context, ops []journal.Operation, next journal.Key, whole bool) {
	if c.Bool("json") {
		list := []any{}
		for _, op := range ops {
			list = append(list, operationJSON(op))
		}
		printJSON(c.App.Writer, map[string]any{"v": 1, "operations": list, "next": orNull(string(next))})
		return
	}
	rows := [][]string{{"NUMBER", "STATE", "WHAT", "EXTERNAL ID", "REGISTERED"}}
	for _, op := range ops {
		rows = append(rows, []string{op.Number, stateWord(op), toolbox.Title(op), dash(op.ExternalID), local(op.Registered)})
	}
	switch {
	case len(ops) > 0:
		table(c.App.Writer, rows)
	case whole:
		fmt.Fprintln(os.Stderr, "notwice: no operations")
	}
	if next != "" {
		fmt.Fprintf(os.Stderr, "notwice: there are more; go on with --before %s\n", next)
	}
}

// stateWord is the state with the marks that matter to a person.
func stateWord(op journal.Operation) string {
	var marks []string
	if op.Wait != nil {
		marks = append(marks, "waits for a person")
	}
	if op.Rests {
		marks = append(marks, "rests")
	}
	if len(op.Flags) > 0 {
		marks = append(marks, "contradiction")
	}
	if op.Question != nil {
		marks = append(marks, "a question")
	}
	if len(marks) == 0 {
		return string(op.Status)
	}
	return string(op.Status) + " (" + strings.Join(marks, ", ") + ")"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return toolbox.Visible(s)
}

// oneOperation opens the journal and finds the operation that the argument names. The session is the caller's to close.
func oneOperation(c *cli.Context) (*session, journal.Operation, error) {
	s, op, damage, err := readableOperation(c)
	if err == nil && damage != nil {
		s.close()
		return nil, journal.Operation{}, damage
	}
	return s, op, err
}

// readableOperation is oneOperation for commands that only show: over a damaged journal damage is not nil, and the operation is what
// could be read.
func readableOperation(c *cli.Context) (s *session, op journal.Operation, damage, err error) {
	if c.NArg() != 1 {
		return nil, op, nil, usagef("which operation? give its key, its number, or a unique beginning")
	}
	if s, err = openReader(c); err != nil {
		return nil, op, nil, err
	}
	op, err = toolbox.Find(c.Context, s.store, c.Args().First())
	if err != nil && op.Key != "" {
		return s, op, err, nil
	}
	if err != nil {
		s.close()
		return nil, op, nil, err
	}
	return s, op, nil, nil
}

// inPart is the error for a journal of which only a part could be read, when that part has been shown; nil for nil.
func inPart(damage error) error {
	if damage == nil {
		return nil
	}
	f := explain(damage)
	f.meaning = "What can be read of it was shown; it may not be all, nor the latest. Nothing was sent."
	return f
}

func opsShow(c *cli.Context) error {
	s, op, damage, err := readableOperation(c)
	if err != nil {
		return err
	}
	defer s.close()
	printOperation(c, op)
	return inPart(damage)
}

func printOperation(c *cli.Context, op journal.Operation) {
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "operation": operationJSON(op)})
		return
	}
	rows := [][]string{
		{"what", toolbox.Title(op)}, {"state", stateWord(op)}, {"key", string(op.Key)}, {"number", op.Number}, {"account", op.Account},
		{"evidence", dash(string(op.Evidence))}, {"external id", dash(op.ExternalID)}, {"reason", dash(op.Reason)},
		{"attempts", fmt.Sprint(op.AttemptCount)}, {"task", op.Task}, {"registered", local(op.Registered)}, {"ended", local(op.Ended)}, {"due", local(op.Due)},
	}
	if op.Wait != nil {
		rows = append(rows, []string{"waits since", local(op.Wait.Since)}, []string{"waits for", op.Wait.Reason + ": " + toolbox.WaitText(*op.Wait)})
		for _, cand := range op.Wait.Candidates {
			rows = append(rows, []string{"candidate", toolbox.Visible(cand.ID) + " " + toolbox.Visible(cand.State) + " " + toolbox.Visible(cand.Title)})
		}
	}
	for _, f := range op.Flags {
		rows = append(rows, []string{"contradiction", local(f.At) + " " + toolbox.FlagText(f)})
	}
	table(c.App.Writer, rows)
}

func opsHistory(c *cli.Context) error {
	s, op, damage, err := readableOperation(c)
	if err != nil {
		return err
	}
	defer s.close()
	events, err := s.store.History(c.Context, op.Key)
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return err
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "operation": operationJSON(op), "events": append([]journal.Event{}, events...)})
	} else {
		table(c.App.Writer, historyRows(op, events))
	}
	return inPart(cmp.Or(damage, err))
}

// historyRows is the timeline of an operation.
func historyRows(op journal.Operation, events []journal.Event) [][]string {
	rows := [][]string{{"TIME", "WHAT", "STATE", "ATTEMPT", "DETAIL"}}
	for _, e := range events {
		attempt := "-"
		if e.Attempt > 0 {
			attempt = fmt.Sprint(e.Attempt)
		}
		detail := strings.Join(nonEmpty(string(e.Outcome), string(e.Evidence), e.Reason, e.ExternalID, by(e.By), e.Note), " ")
		rows = append(rows, []string{"+" + e.At.Sub(op.Registered).Round(time.Millisecond).String(), e.What, string(e.Status), attempt, toolbox.Visible(detail)})
	}
	return rows
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return "by " + who
}

func opsStop(c *cli.Context) error {
	s, op, err := oneOperation(c)
	if err != nil {
		return err
	}
	defer s.close()
	if op.Wait != nil || op.Question != nil { // then it is a decision, and a person's
		return &failure{code: "waits", exit: exitUsage, message: toolbox.Title(op) + " waits for a person", meaning: "Nothing was changed.",
			next: "notwice review decide " + op.Number + " decline"}
	}
	why := c.String("why")
	if why == "" {
		why = "stopped at the command line"
	}
	op, stopped, err := s.tools.Stop(c.Context, op.Key, userName(), why)
	if err != nil {
		return err
	}
	if !stopped {
		return &failure{code: "not_stoppable", exit: exitUsage, message: fmt.Sprintf("%s is %s", toolbox.Title(op), op.Status),
			meaning: "Only an operation that nothing has sent can be stopped; this one stays as it is."}
	}
	r := s.tools.Report(op)
	printAnswer(c.App.Writer, r, c.Bool("json"))
	return nil
}
