package journal

import (
	"maps"

	"notwice/canonical"
)

// Add is what two operations take from a limit together.
func (s Spent) Add(c *Counted) Spent { return s.move(c, 1) }

// Sub is what is left when an operation counts no more.
func (s Spent) Sub(c *Counted) Spent { return s.move(c, -1) }

func (s Spent) move(c *Counted, sign int) Spent {
	if c == nil {
		return s
	}
	out := Spent{Count: s.Count + sign, Sums: maps.Clone(s.Sums)}
	for currency, amount := range c.Sums {
		if out.Sums == nil {
			out.Sums = map[string]canonical.Number{}
		}
		if sign < 0 {
			amount = canonical.Negated(amount)
		}
		if out.Sums[currency] = canonical.Sum(out.Sums[currency], amount); out.Sums[currency] == "0" {
			delete(out.Sums, currency)
		}
	}
	return out
}

// Recounted is what changes on one day.
type Recounted struct {
	Day        string
	More, Less *Counted
}

// Recount says what changes when an operation that counted in one way counts in another.
func Recount(before, after *Counted) []Recounted {
	switch {
	case before == after || before != nil && after != nil && before.Day == after.Day && maps.Equal(before.Sums, after.Sums):
		return nil
	case before != nil && after != nil && before.Day == after.Day:
		return []Recounted{{Day: after.Day, More: after, Less: before}}
	}
	var all []Recounted
	if before != nil {
		all = append(all, Recounted{Day: before.Day, Less: before})
	}
	if after != nil {
		all = append(all, Recounted{Day: after.Day, More: after})
	}
	return all
}
