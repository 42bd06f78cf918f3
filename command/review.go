package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"notwice/journal"
	"notwice/policy"
	"notwice/toolbox"
)

func reviewCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:  "review",
		Usage: "show what waits for a person, and decide it",
		Description: "What cannot be known without a person waits here. Deciding asks at the controlling terminal for the business reference;\n" +
			"flags, standard input and --json alone never suffice, except with an operator token (--operator FILE).\n" +
			"  notwice review list\n  notwice review show 20260302-ABCDEFGHIJ\n  notwice review decide 20260302-ABCDEFGHIJ happened --external-id pay_17 --why \"bank statement\"\n" +
			"See notwice help unknown.",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list what waits for a person, the longest waiting first", Action: reviewList, Flags: []cli.Flag{configFlag(), journalFlag(), jsonFlag(),
				&cli.IntFlag{Name: "limit", Value: 100, Usage: "at most `N`"}}},
			{Name: "show", Usage: "show one operation as it is decided about: what would be sent, what is known, what each decision means", ArgsUsage: "KEY",
				Action: reviewShow, Flags: []cli.Flag{configFlag(), journalFlag(), jsonFlag()}},
			{Name: "decide", Usage: "decide about one operation: " + strings.Join(policy.Decisions, ", "), ArgsUsage: "KEY [DECISION]", Flags: decideFlags(),
				Action: func(c *cli.Context) error { return decideFrom(c, code, c.Args().Get(1), 2) }},
			{Name: "token", Usage: "make an operator token: whoever can read it decides like a person; asks at the terminal", ArgsUsage: "FILE",
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return usagef("which FILE should hold the token?")
					}
					return newToken(c.Context, c.Args().First())
				}},
		},
	}
}

func decideFlags() []cli.Flag {
	return append(append([]cli.Flag{
		operatorFlag(),
		&cli.StringFlag{Name: "why", Usage: "the reason, for the history and for whoever asks again"},
		&cli.StringFlag{Name: "external-id", Usage: "happened: the provider's `ID` of what took effect"},
		&cli.DurationFlag{Name: "for", Usage: "wait: how long (default a day)"},
		&cli.StringFlag{Name: "episode", Usage: "the `EPISODE` that review show --json printed: decide only about what was shown then; an operator needs it for again, same and replace"},
		&cli.DurationFlag{Name: "wait", Value: 10 * time.Second, Usage: "how much longer than the attempt that it starts the decision looks and retries"},
	}, providerFlags()...), journalFlag(), jsonFlag())
}

func againCommand(code *int) *cli.Command {
	return &cli.Command{
		Name: "again", Usage: "give leave to do a finished operation once more (short for review decide KEY again)", ArgsUsage: "KEY", Flags: decideFlags(),
		Description: "It sends nothing. The next equal call within a day goes, under a new key; the one after it is a repeat again.\n  notwice again 20260302-ABCDEFGHIJ --why \"a second one is wanted\"",
		Action:      func(c *cli.Context) error { return decideFrom(c, code, policy.Again, 1) },
	}
}

func approveCommand(code *int) *cli.Command {
	return &cli.Command{
		Name: "approve", Usage: "send a request that waits for approval (short for review decide KEY approve)", ArgsUsage: "KEY", Flags: decideFlags(),
		Description: "Exactly the registered request is sent, by this process.\n  notwice approve 20260302-ABCDEFGHIJ",
		Action:      func(c *cli.Context) error { return decideFrom(c, code, policy.Approve, 1) },
	}
}

func reviewList(c *cli.Context) error {
	if c.Int("limit") < 1 || c.Args().Present() {
		return usagef("review list takes no arguments, and --limit is at least 1")
	}
	s, err := openReader(c)
	if err != nil {
		return err
	}
	defer s.close()
	ops, err := s.store.Review(c.Context, c.Int("limit"))
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return err
	}
	if err == nil || len(ops) > 0 || c.Bool("json") { // that nothing waits cannot be said of a damaged journal
		printReview(c, ops)
	}
	return inPart(err)
}

func printReview(c *cli.Context, ops []journal.Operation) {
	if c.Bool("json") {
		list := []any{}
		for _, op := range ops {
			list = append(list, operationJSON(op))
		}
		printJSON(c.App.Writer, map[string]any{"v": 1, "review": list})
		return
	}
	if len(ops) == 0 {
		fmt.Fprintln(c.App.Writer, "nothing waits for a person")
		return
	}
	rows := [][]string{{"NUMBER", "SINCE", "WHAT", "WHY"}}
	for _, op := range ops {
		rows = append(rows, []string{op.Number, local(op.ReviewSince()), toolbox.Title(op), whyItWaits(op)})
		if op.Wait != nil {
			for _, cand := range op.Wait.Candidates {
				rows = append(rows, []string{"", "", "  candidate " + toolbox.Visible(cand.ID), cand.State + " " + toolbox.Visible(cand.Title)})
			}
		}
	}
	table(c.App.Writer, rows)
}

func whyItWaits(op journal.Operation) string {
	switch q := op.Question; {
	case op.Wait != nil:
		return op.Wait.Reason + ": " + toolbox.WaitText(*op.Wait)
	case len(op.Flags) > 0:
		return "contradictory evidence: " + toolbox.FlagText(op.Flags[0])
	case q != nil && q.Kind == "repeat":
		return "asked for again, long after it ended: the same, or again?"
	case q != nil:
		return "asked for with other values: " + strings.Join(q.Differs, ", ")
	}
	return "-"
}

func reviewShow(c *cli.Context) error {
	s, op, damage, err := readableOperation(c)
	if err != nil {
		return err
	}
	defer s.close()
	if damage != nil { // nothing can be decided of it
		printOperation(c, op)
		return inPart(damage)
	}
	d, err := newDossier(s.tools, op, time.Now())
	if err != nil {
		return err
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "operation": d.json()})
		return nil
	}
	d.write(c.App.Writer)
	d.writeChoices(c.App.Writer)
	return nil
}

// decideFrom shows an operation to a person, takes the decision, and carries it out.
func decideFrom(c *cli.Context, code *int, decision string, args int) error {
	if c.NArg() < 1 || c.NArg() > args {
		return usagef("which operation? give its key, its number, or a unique beginning")
	}
	if decision != "" && !slices.Contains(policy.Decisions, decision) {
		return usagef("%q is no decision; there are %s", decision, strings.Join(policy.Decisions, ", "))
	}
	if err := notNegative(c, "for", "wait"); err != nil {
		return err
	}
	p, err := findPerson(c)
	if err != nil {
		return err
	}
	defer p.close()
	if decision == "" && p.terminal == nil {
		return usagef("which decision? an operator names one of %s", strings.Join(policy.Decisions, ", "))
	}
	s, err := openSession(c)
	if err != nil {
		return err
	}
	defer s.close()
	op, err := s.tools.Find(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	if err := s.arm(c.String("fault"), []string{op.Tool}); err != nil {
		return err
	}
	d, err := newDossier(s.tools, op, time.Now())
	if err != nil {
		return err
	}
	if err := shownBefore(c, p, d, decision); err != nil {
		return err
	}
	ruling, err := p.decides(d, toolbox.Ruling{Decision: decision, Why: c.String("why"), ExternalID: c.String("external-id"), For: c.Duration("for"), Wait: c.Duration("wait")})
	if err != nil {
		return err
	}
	r, err := s.tools.Rule(c.Context, op.Key, ruling)
	if err != nil {
		return ruled(err)
	}
	printAnswer(c.App.Writer, r, c.Bool("json"))
	if text := follows(ruling, d); text != "" && !c.Bool("json") {
		fmt.Fprintln(c.App.Writer, "  "+text)
	}
	*code = r.Word.Exit()
	return nil
}

// follows says what a decision means from now on, where the answer about the operation does not.
func follows(r toolbox.Ruling, d dossier) string {
	switch r.Decision {
	case policy.Again:
		return "Leave is given, once and for a day, for exactly this: " + d.about(r.Decision).title + ". The next such call does it under a new key."
	case policy.SameWish:
		return "For a day, a call of exactly this is answered with what is known here: " + d.about(r.Decision).title + "."
	case policy.WaitOn:
		length := r.For
		if length == 0 {
			length = 24 * time.Hour
		}
		return "It is looked up on; you are asked again after " + local(d.now.Add(length)) + "."
	}
	return ""
}

// shownBefore refuses a decision of an operator about a request that nobody has looked at.
func shownBefore(c *cli.Context, p *person, d dossier, decision string) error {
	episode, now := c.String("episode"), policy.Episode(&d.op)
	switch {
	case episode != "" && episode != now:
		return ruled(&policy.Refused{Why: "it has moved since it was shown; look again"})
	case episode == "" && p.terminal == nil && slices.Contains([]string{policy.Again, policy.SameWish, policy.Replace}, decision):
		return ruled(&policy.Refused{Why: "an operator gives --episode for this: what review show --json printed of the request that was looked at"})
	}
	return nil
}

// decides shows the dossier and asks.
func (p *person) decides(d dossier, r toolbox.Ruling) (toolbox.Ruling, error) {
	if p.terminal != nil {
		d.write(p.terminal)
		d.writeChoices(p.terminal)
		if r.Decision == "" {
			r.Decision = p.answer("Your decision (empty leaves it as it is): ")
		}
	}
	return p.settles(d, r)
}

// settles lets the person confirm a decision about what was shown. The ruling is bound to that: if it moves meanwhile, nothing
// is decided.
func (p *person) settles(d dossier, r toolbox.Ruling) (toolbox.Ruling, error) {
	r.By, r.Episode = p.name, policy.Episode(&d.op)
	if r.Decision == "" {
		return r, &failure{code: "not_confirmed", exit: exitUsage, message: "no decision", meaning: "Everything stays as it is; nothing was sent."}
	}
	if d.op.Status == journal.InProgress && !slices.Contains(d.choices, r.Decision) {
		return r, ruled(&policy.Refused{Why: "an attempt is under way; decide once its outcome is known or lost"})
	}
	if !slices.Contains(d.choices, r.Decision) {
		return r, ruled(&policy.Refused{Why: fmt.Sprintf("%q cannot be decided of it now; it allows: %s", r.Decision, strings.Join(d.choices, ", "))})
	}
	r.RequestHash = d.about(r.Decision).hash
	r.Shown = d.shown(r.Decision)
	if r.Decision == policy.Happened && r.ExternalID == "" && p.terminal != nil {
		r.ExternalID = p.answer("The provider's id of it (empty if you do not know it): ")
	}
	what := r.Decision
	if risk := d.risk(r.Decision); risk != "" {
		what += " (" + risk + ")"
	}
	if !p.confirms(d.op, what) {
		return r, &failure{code: "not_confirmed", exit: exitUsage, message: "the reference does not match", meaning: "Nothing was decided and nothing was sent."}
	}
	return r, nil
}

// ruled turns a refusal into words for a person.
func ruled(err error) error {
	var refused *policy.Refused
	if errors.As(err, &refused) {
		return &failure{code: "not_decided", exit: exitUsage, message: refused.Why, meaning: "Nothing was decided and nothing was sent.", next: "notwice review show KEY says what can be decided."}
	}
	return err
}
