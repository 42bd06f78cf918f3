package command

import (
	"bufio"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"notwice/journal"
	"notwice/policy"
	"notwice/toolbox"
)

// atTheTerminal returns what asks the person who runs the command about a call that only a person can let through, or nil when
// nobody sits there: then it waits in the queue. The answer is read from the controlling terminal, where no model can write.
func (s *session) atTheTerminal(ctx context.Context) (ask func(context.Context, toolbox.Call, toolbox.Result) (toolbox.Result, error), end func()) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, func() {}
	}
	terminal, err := openTerminal()
	if err != nil {
		return nil, func() {}
	}
	p := &person{ctx: ctx, name: userName(), terminal: terminal, lines: bufio.NewReader(terminal)}
	left := map[string]bool{} // episodes that the person left in the queue
	return func(ctx context.Context, c toolbox.Call, r toolbox.Result) (toolbox.Result, error) {
		return s.askNow(ctx, p, left, c, r)
	}, p.close
}

// askNow shows the operation and takes a decision. left are the episodes about which the person did not want to decide. Without one, or when it is refused, everything stays as it is.
func (s *session) askNow(ctx context.Context, p *person, left map[string]bool, c toolbox.Call, r toolbox.Result) (toolbox.Result, error) {
	op, err := s.store.Get(ctx, journal.Key(r.Key))
	if err != nil {
		return r, err
	}
	d, err := newDossier(s.tools, op, time.Now())
	if err != nil || len(d.choices) == 0 {
		return r, err
	}
	if left[policy.Episode(&op)] {
		return r, nil // asked in this turn already
	}
	p.say("\nThe model asks for something that only you can let through.\n")
	d.write(p.terminal)
	d.writeChoices(p.terminal)
	word := p.answer("Your decision (empty leaves it in the queue): ")
	if word == "" {
		left[policy.Episode(&op)] = true
		return r, nil
	}
	ruling, err := p.settles(d, toolbox.Ruling{Decision: word, Wait: c.Wait})
	var said *failure
	if errors.As(err, &said) {
		p.say("%s. %s\n", said.message, said.meaning)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	decided, err := s.tools.Rule(ctx, op.Key, ruling)
	var refused *policy.Refused
	switch {
	case errors.As(err, &refused):
		p.say("%s. Nothing was decided and nothing was sent.\n", refused.Why)
		return r, nil
	case err != nil:
		return r, err
	case slices.Contains([]string{policy.Again, policy.SameWish}, word), decided.Word == toolbox.NotSent:
		return s.tools.Call(ctx, c) // what was let through is this very call
	}
	return decided, nil
}
