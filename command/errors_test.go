package command

import (
	"fmt"
	"strings"
	"testing"

	"notwice/journal"
	"notwice/toolbox"
)

// What was sent and could not be recorded is never called unsent, whatever the journal's own error is.
func TestUnrecordedIsNotUnsent(t *testing.T) {
	for _, why := range []error{journal.ErrBusy, journal.ErrFull, journal.ErrDamaged, journal.ErrCommit} {
		f := explain(fmt.Errorf("operation 1: %w (applied): %w", toolbox.ErrUnrecorded, why))
		if f.exit != exitJournal || !strings.Contains(f.meaning, "was SENT") {
			t.Errorf("%v: exit %d, %s", why, f.exit, f.meaning)
		}
	}
}
