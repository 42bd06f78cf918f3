package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"notwice/journal"
)

func reconcileCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:      "reconcile",
		Usage:     "look up what is not known",
		ArgsUsage: "[KEY]",
		Description: "With a KEY: look that operation up now, whatever its back-off. Without: do everything that is due,\nand look up everything that is not known.\n" +
			"Ends with 0 when nothing is left unknown, else with 3.",
		Flags: append(providerFlags(), journalFlag(), jsonFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usagef("reconcile takes one KEY, or none")
			}
			s, err := openSession(c, "create_payment", "send_email", "create_application", "create_ticket")
			if err != nil {
				return err
			}
			defer s.close()
			if c.NArg() == 1 {
				return reconcileOne(c, s, code)
			}
			return reconcileDue(c, s, code)
		},
	}
}

func reconcileOne(c *cli.Context, s *session, code *int) error {
	op, err := s.tools.Find(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	if op, err = s.tools.Step(c.Context, op.Key, true); err != nil {
		return err
	}
	r := s.tools.Report(op)
	printAnswer(c.App.Writer, r, c.Bool("json"))
	*code = r.Word.Exit()
	return nil
}

func reconcileDue(c *cli.Context, s *session, code *int) error {
	done := 0
	for { // in passes, so that work that comes due meanwhile is not forgotten
		n, err := s.tools.Due(c.Context, 100)
		done += n
		if err != nil {
			return err
		}
		progress("notwice: %d operations worked on", done)
		if n < 100 {
			break
		}
	}
	open, err := unknowns(c, s)
	if err != nil {
		return err
	}
	for _, op := range open { // a person asks now, so what is not due yet is looked at too
		if _, err := s.tools.Step(c.Context, op.Key, true); err != nil {
			return err
		}
		done++
		progress("notwice: %d operations worked on", done)
	}
	if open, err = unknowns(c, s); err != nil {
		return err
	}
	list := []any{}
	for _, op := range open {
		r := s.tools.Report(op)
		if !c.Bool("json") {
			printAnswer(c.App.Writer, r, false)
		}
		list = append(list, answerJSON(r))
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "worked_on": done, "open": list})
	} else {
		fmt.Fprintf(c.App.Writer, "%d operations worked on, %d still open\n", done, len(open))
		s.waiting(c.Context)
	}
	if len(open) > 0 {
		*code = exitUnknown
	}
	return nil
}

// unknowns are the operations whose outcome is not known yet.
func unknowns(c *cli.Context, s *session) ([]journal.Operation, error) {
	var all []journal.Operation
	q := journal.Query{Statuses: []journal.Status{journal.InProgress, journal.Unknown}, Limit: 1000}
	for {
		page, next, err := s.store.List(c.Context, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		q.Before = next
	}
}
