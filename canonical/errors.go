package canonical

import "strings"

// Problem is one thing wrong with an input: where it is, what it is, and what would be right. Every error that Parse and
// Shape.Normalize return for bad input is a *Problem or Problems.
type Problem struct {
	Field string // path of the argument, such as `amount_minor` or `items[2].sku`; empty for the whole text
	What  string // what is wrong, lower case, without a full stop
	Hint  string // what would be right; may be empty
}

func (p *Problem) Error() string {
	var b strings.Builder
	if p.Field != "" {
		b.WriteString(p.Field)
		b.WriteString(": ")
	}
	b.WriteString(p.What)
	if p.Hint != "" {
		b.WriteString(" (")
		b.WriteString(p.Hint)
		b.WriteString(")")
	}
	return b.String()
}

// Problems is every problem found in one input, in the order of its fields.
type Problems []*Problem

func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "; ")
}

func problem(field, what, hint string) *Problem {
	return &Problem{Field: field, What: what, Hint: hint}
}
