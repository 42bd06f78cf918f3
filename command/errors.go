package command

import (
	"context"
	"errors"

	"notwice/agent"
	"notwice/canonical/strictyaml"
	"notwice/journal"
	"notwice/toolbox"
)

// explain turns an error into words for a person and an exit code.
func explain(err error) *failure {
	f := &failure{code: "error", exit: exitUsage, message: err.Error()}
	var yaml *strictyaml.Error
	for _, known := range []struct {
		is            error
		code          string
		exit          int
		meaning, next string
	}{
		{toolbox.ErrUnrecorded, "unrecorded", exitJournal, "The request was SENT, and it may have taken effect. The operation counts as unknown.", "Free the journal, then run `notwice reconcile`: the provider is asked, nothing is sent again blindly."},
		{journal.ErrInvariant, "broken_invariant", exitInvariant, "Notwice broke a rule of its own and stopped before doing harm. Nothing was sent because of it.", "Please report it with `notwice ops history KEY`."},
		{journal.ErrRollback, "journal_rollback", exitJournal, "The journal is older than what was acknowledged: payments made since are not in it. Nothing was sent.", "Put the newer file back."},
		{journal.ErrVersion, "journal_version", exitJournal, "Nothing was sent.", "Use the newer Notwice that wrote it."},
		{journal.ErrPermissions, "journal_permissions", exitJournal, "Other users could read it. Nothing was sent.", "chmod 600 the file."},
		{journal.ErrBusy, "journal_busy", exitJournal, "Nothing was sent.", "Wait until it is done, or end that process."},
		{journal.ErrDamaged, "journal_damaged", exitJournal, "What it holds cannot be trusted, so nothing was sent.", "Keep the file; restore a copy that was made while nothing ran."},
		{journal.ErrFull, "journal_full", exitJournal, "What cannot be recorded is not sent.", "Free some space and call again."},
		{journal.ErrCommit, "journal_write", exitJournal, "If a call was under way, its outcome may be missing in the journal: it counts as unknown and will be looked up.", "Check the disk, then run `notwice reconcile`."},
		{journal.ErrClosed, "journal_closed", exitJournal, "Nothing was sent because of it.", "Run the command again."},
		{journal.ErrExternalIDTaken, "external_id_taken", exitJournal, "The provider gave one id to two operations; this one stays as it was.", "`notwice review list` shows what waits."},
		{context.Canceled, "interrupted", exitInterrupted, "An attempt that was under way is recorded, or will be looked up.", "`notwice ops list` shows what is open."},
		{toolbox.ErrElsewhere, "elsewhere", exitUsage, "Nothing was asked and nothing was sent.", "Give --provider with the address that stands behind the @."},
		{toolbox.ErrNoOperation, "no_such_operation", exitUsage, "", "`notwice ops list` shows the operations."},
		{agent.ErrTaken, "task_taken", exitUsage, "The other process goes on; nothing was done here.", ""},
		{agent.ErrSteps, "model_endless", exitFailed, "What was done stands in the receipt.", "Resume the task, or give the model a smaller one."},
		{agent.ErrModel, "model", exitFailed, "Nothing that was done is lost.", "Resume it with `notwice run --resume TASK`."},
	} {
		if errors.Is(err, known.is) {
			f.code, f.exit, f.meaning, f.next = known.code, known.exit, known.meaning, known.next
			return f
		}
	}
	var unopened *journalError
	if errors.As(err, &unopened) {
		f.code, f.exit, f.meaning, f.next = "journal", exitJournal, "Without its journal Notwice sends nothing.", "Check the path, or give another with --journal FILE."
	}
	if errors.As(err, &yaml) {
		f.code, f.meaning = "file", "Nothing was sent and nothing was recorded."
	}
	return f
}
