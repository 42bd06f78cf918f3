package journal

import (
	"fmt"
	"slices"
	"strings"
)

// legal are the moves of an operation (S5). Staying in a state is always legal.
var legal = map[Status][]Status{
	Pending:    {InProgress, Succeeded, FailedFinal},
	InProgress: {Pending, Unknown, Succeeded, FailedFinal},
	Unknown:    {InProgress, Pending, Succeeded, FailedFinal},
}

// Check says whether a record may take the place of another; before is nil for a new one. Every store calls it before a
// write, and with before equal to nil after a read. Error: ErrInvariant with the rule that breaks.
func Check(before *Operation, after *Operation) error {
	if err := checkShape(after); err != nil {
		return fmt.Errorf("%w: operation %s: %v", ErrInvariant, after.Key, err)
	}
	if before == nil {
		return nil
	}
	if err := checkMove(before, after); err != nil {
		return fmt.Errorf("%w: operation %s: %v", ErrInvariant, after.Key, err)
	}
	return nil
}

func checkShape(o *Operation) error {
	switch {
	case o.Key == "" || o.Number == "" || o.Tool == "" || o.Kin == "" || o.Intent == "" || o.RequestHash == "" || o.Scope == "" || o.Seq < 1 || o.Registered.IsZero():
		return fmt.Errorf("the record lacks what names it")
	case len(o.Key) > 64 || len(o.Number) > 64 || len(o.ExternalID) > 1024 || len(o.Position) > 1024 || len(o.Task) > MaxTask || strings.ContainsRune(string(o.Key), 0):
		return fmt.Errorf("a name is too long")
	case !slices.Contains(Statuses(), o.Status):
		return fmt.Errorf("%q is no state", o.Status)
	case o.Status.Final() && (o.Evidence == "" || o.Ended.IsZero()):
		return fmt.Errorf("%s without evidence or end", o.Status)
	case !o.Status.Final() && !o.Ended.IsZero():
		return fmt.Errorf("%s with an end", o.Status)
	case o.Status == InProgress && (o.Attempt(o.Epoch) == nil || o.Due.IsZero()):
		return fmt.Errorf("in progress without an attempt or without a time to look after it")
	case o.Status.Final() && (o.Wait != nil || !o.Due.IsZero() && o.Question == nil):
		return fmt.Errorf("%s, yet it waits", o.Status)
	case o.Status == Unknown && o.Executable() == 0:
		return fmt.Errorf("unknown, yet every attempt is known not to have been executed")
	case o.Status == Pending && o.Executable() > 0:
		return fmt.Errorf("pending, yet an attempt may have been executed")
	case o.Permit != nil && !o.Status.Final():
		return fmt.Errorf("%s, yet it may be done again", o.Status)
	case (o.Rests || o.Released) && o.Status != Pending:
		return fmt.Errorf("%s, yet marked as unsent", o.Status)
	}
	return nil
}

func checkMove(a, b *Operation) error {
	if a.Key != b.Key || a.Intent != b.Intent || a.RequestHash != b.RequestHash || a.Number != b.Number || a.Seq != b.Seq || a.Tool != b.Tool ||
		a.Kin != b.Kin || a.Scope != b.Scope || a.Account != b.Account || a.Task != b.Task || a.Position != b.Position || !a.Registered.Equal(b.Registered) {
		return fmt.Errorf("what names it changed")
	}
	if a.Status != b.Status && !slices.Contains(legal[a.Status], b.Status) {
		proof := a.Status.Final() && b.Status.Final() && a.Evidence == Person && b.Evidence != Person
		if !proof {
			return fmt.Errorf("%s cannot become %s", a.Status, b.Status)
		}
	}
	claimed := b.Status == InProgress && a.Status != InProgress
	switch {
	case claimed && (b.Epoch != a.Epoch+1 || b.AttemptCount != a.AttemptCount+1):
		return fmt.Errorf("a claim without a new epoch")
	case !claimed && (b.Epoch != a.Epoch || b.AttemptCount != a.AttemptCount):
		return fmt.Errorf("a new epoch without a claim")
	case !a.FirstSent.IsZero() && !b.FirstSent.Equal(a.FirstSent) && b.Executable() > 0:
		return fmt.Errorf("the first attempt moved")
	case a.ExternalID != "" && b.ExternalID != a.ExternalID && a.Evidence != Person:
		return fmt.Errorf("the external id changed")
	}
	return nil
}
