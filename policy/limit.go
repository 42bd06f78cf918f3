package policy

import (
	"fmt"
	"strings"

	"notwice/canonical"
	"notwice/journal"
)

// Limits bounds a tool on each UTC day; zero is no limit.
type Limits struct {
	Count int
	Sum   canonical.Number // minor units of the money fields, for each currency
}

// held says why a person must let a pending operation go before it is sent, or nil. An approval speaks for exactly the
// registered request, for a day; a limit that is reached later asks anew.
func held(k journal.Known, op *journal.Operation, hold *journal.Wait, p Policy, now Now) *journal.Wait {
	approved := op.Approved != nil && now.sinceWall(op.Approved.Given) < day
	switch {
	case hold != nil && !approved:
		return hold
	case approved && op.Approved.Limit:
		return nil
	}
	return overLimit(k, op, p, now)
}

// overLimit says which limit an operation would break if it were claimed now. What is not known counts as spent, and so does
// what was claimed and may still happen.
func overLimit(k journal.Known, op *journal.Operation, p Policy, now Now) *journal.Wait {
	if op.Counted != nil || p.Limits == (Limits{}) || k.Spent == nil {
		return nil
	}
	wait := func(format string, args ...any) *journal.Wait {
		return &journal.Wait{Reason: "limit", Note: fmt.Sprintf(format, args...)}
	}
	mine, err := count(op, now)
	if err != nil {
		return wait("%v", err)
	}
	spent := k.Spent(op.Tool, mine.Day)
	if p.Limits.Count > 0 && spent.Count >= p.Limits.Count {
		return wait("%d of %d calls a day are spent", spent.Count, p.Limits.Count)
	}
	if p.Limits.Sum == "" {
		return nil
	}
	for currency, amount := range mine.Sums {
		if canonical.CompareDecimal(string(canonical.Sum(spent.Sums[currency], amount)), string(p.Limits.Sum)) > 0 {
			return wait("%s of %s a day is spent", major(spent.Sums[currency], currency), major(p.Limits.Sum, currency))
		}
	}
	return nil
}

func major(minor canonical.Number, currency string) string {
	text, err := canonical.Major(canonical.Sum(minor, "0"), currency)
	if err != nil {
		return string(minor) + " " + currency
	}
	return text + " " + currency
}

// count says against which day an operation counts, and with how much. While the wall clock is behind, the day is that of the
// highest time seen: a clock that is set back gives no second allowance.
func count(op *journal.Operation, now Now) (*journal.Counted, error) {
	at := now.Wall
	if now.Behind() {
		at = now.High
	}
	c := &journal.Counted{Day: at.UTC().Format("2006-01-02")}
	for _, f := range op.Fields {
		if f.Money == "" {
			continue
		}
		amount := canonical.Number(f.Value)
		if strings.Contains(f.Value, ".") { // given in major units
			var err error
			if amount, err = canonical.Minor(f.Value, f.Money); err != nil {
				return nil, fmt.Errorf("%s cannot be counted: %w", f.Name, err)
			}
		}
		if !amount.IsInteger() {
			return nil, fmt.Errorf("%s cannot be counted: %q is no whole number", f.Name, f.Value)
		}
		if c.Sums == nil {
			c.Sums = map[string]canonical.Number{}
		}
		c.Sums[f.Money] = canonical.Sum(c.Sums[f.Money], amount)
	}
	return c, nil
}

// spend counts an operation from its claim on. An amount that cannot be read was let go by a person; it counts by number.
func spend(op *journal.Operation, now Now) {
	if op.Counted != nil {
		return
	}
	c, err := count(op, now)
	if err != nil {
		c, _ = count(&journal.Operation{}, now)
	}
	op.Counted = c
}
