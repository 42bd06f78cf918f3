package toolbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// This file holds all words for the model. They are short, begin with a fixed word, say what is known, and never invite a
// retry that Notwice would not make itself.

// tellConflict is the answer to a call whose intent is there with other values.
func (t *Toolbox) tellConflict(op journal.Operation, differs []string) Result {
	res := t.result(op)
	res.Word, res.Differs = ConflictWord, differs
	res.Message = fmt.Sprintf("CONFLICT: %s was already asked for with other values (%s differs) and is %s. Nothing was sent. Do not change values to get through; only a person can start it anew.",
		res.Title, firstOf(strings.Join(differs, ", "), "something"), inWords(op))
	return res.flagged(op)
}

// tell is the answer about an operation as the journal holds it.
func (t *Toolbox) tell(op journal.Operation, repeat bool) Result {
	res := t.result(op)
	res.Repeat = repeat
	switch {
	case op.Wait != nil:
		res.Word = WaitsForHuman
		res.Message = fmt.Sprintf("WAITING FOR A PERSON: %s. %s Tell the user; a repeated call changes nothing.", res.Title, WaitText(*op.Wait))
	case op.Status == journal.Succeeded && repeat:
		res.Word = AlreadyDone
		res.Message = fmt.Sprintf("ALREADY DONE: %s was done%s on %s. This call repeats it and sent nothing.", res.Title, idWords(op), when(op.Ended))
	case op.Status == journal.Succeeded:
		res.Word = Done
		res.Message = fmt.Sprintf("DONE: %s%s.", res.Title, idWords(op))
	case op.Status == journal.FailedFinal && op.Evidence == journal.Person && op.Executable() > 0 && op.Ruling != nil:
		res.Word = Rejected
		res.Message = fmt.Sprintf("REJECTED: %s was given up by %s%s; whether it happened is not known. It is final, and never sent again.", res.Title, Visible(op.Ruling.By), because(op.Ruling.Why))
	case op.Status == journal.FailedFinal && op.Evidence == journal.Person && op.Ruling != nil:
		res.Word = Rejected
		res.Message = fmt.Sprintf("REJECTED: %s was %s by %s%s. It is final.", res.Title, reasonWords(op), Visible(op.Ruling.By), because(op.Ruling.Why))
	case op.Status == journal.FailedFinal:
		res.Word = Rejected
		res.Message = fmt.Sprintf("REJECTED: %s was not done: %s. It is final.", res.Title, reasonWords(op))
	case op.Status == journal.Pending && op.Rests:
		res.Word = NotSent
		res.Message = fmt.Sprintf("NOT SENT: %s: %s. It took no effect, and nothing goes by itself. The same call may be made again later.", res.Title, reasonWords(op))
	case op.Status == journal.Pending:
		res.Word = Queued
		res.Message = fmt.Sprintf("QUEUED: %s is not done yet and may still be sent by itself until %s. Do not call again.", res.Title, when(op.SendUntil))
	default:
		res.Word = NotConfirmed
		res.Message = notConfirmed(res.Title, op)
	}
	return res.flagged(op)
}

func notConfirmed(title string, op journal.Operation) string {
	if op.Status == journal.InProgress {
		return fmt.Sprintf("NOT CONFIRMED: %s is still under way (number %s). Its outcome is not known yet. Do not call again; it is being followed.", title, op.Number)
	}
	return fmt.Sprintf("NOT CONFIRMED: what became of %s (number %s) is not known: %s. It may have happened, or may still happen. Do not call again or in other words; Notwice looks it up by itself.", title, op.Number, reasonWords(op))
}

// reworded adds that the answer is an earlier call's, which was made with other values.
func (r Result) reworded(differs []string) Result {
	if len(differs) > 0 {
		r.Differs = differs
		r.Message += fmt.Sprintf(" That is the answer to an earlier call (%s differs), which may be the same wish in other words; this one sent nothing.", strings.Join(differs, ", "))
	}
	return r
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + Visible(why) + ")"
}

// flagged adds that there is contradictory evidence: until a person has seen it, every answer names it.
func (r Result) flagged(op journal.Operation) Result {
	if len(op.Flags) > 0 {
		r.Message += " Contradictory evidence: " + FlagText(op.Flags[len(op.Flags)-1]) + "; a person must look."
	}
	return r
}

// tellOld asks whether an old equal call is the same wish.
func (t *Toolbox) tellOld(op journal.Operation) Result {
	res := t.result(op)
	res.Word, res.Repeat, res.Waits, res.note = WaitsForHuman, true, true, nil
	res.Message = fmt.Sprintf("WAITING FOR A PERSON: %s %s on %s. Nothing was sent. Only a person can say whether this is the same wish or a new one.", res.Title, inWords(op), when(op.Ended))
	return res
}

// tellRead is the answer of a read.
func (t *Toolbox) tellRead(r prepared, a Answer) Result {
	res := Result{Tool: r.tool.Name, Result: a.Result, Title: r.tool.Name}
	switch a.Outcome {
	case journal.Applied:
		res.Word, res.Message = Done, "DONE: "+firstOf(string(a.Result), "nothing was found.")
	case journal.Rejected:
		res.Word, res.Message = Rejected, fmt.Sprintf("REJECTED: %s: %s.", r.tool.Name, firstOf(a.Text, a.Reason))
	default:
		res.Word, res.Message = NotConfirmed, fmt.Sprintf("NOT CONFIRMED: %s could not be read (%s). Nothing was changed; it may be asked again.", r.tool.Name, a.Reason)
	}
	return res
}

// CutOff is the answer to a call of a model's message that was cut off: the end of its arguments may be missing.
func CutOff(name, why string) Result {
	return Result{Word: InvalidCall, Tool: name, Title: name,
		Message: fmt.Sprintf("INVALID CALL: the answer was cut off (%s), so the call may be incomplete. Nothing was sent and nothing was recorded.", Visible(why))}
}

// refuse is the answer to a call that is wrong in itself.
func (t *Toolbox) refuse(c Call, err error) Result {
	return Result{Word: InvalidCall, Tool: c.Tool, Title: c.Tool,
		Message: fmt.Sprintf("INVALID CALL: %s: %s. Nothing was sent and nothing was recorded.", c.Tool, strings.TrimSuffix(err.Error(), "."))}
}

// Title names an operation for people: its action and what identifies it, money in major units.
func Title(op journal.Operation) string {
	var parts []string
	for _, f := range op.Fields {
		switch {
		case f.Money != "":
			parts = append(parts, Amount(f))
		case f.Value != "":
			parts = append(parts, fmt.Sprintf("%s %s", f.Name, Visible(f.Value)))
		}
	}
	if len(parts) == 0 {
		return op.Tool + " " + op.Number
	}
	return op.Tool + " (" + strings.Join(parts, ", ") + ")"
}

// Amount is a money field in major units with its currency. Whole digits are minor units: an amount that was given in
// major units is kept with all its decimals, and where a currency has none the two are one.
func Amount(f journal.Field) string {
	if major, err := canonical.Major(canonical.Number(f.Value), f.Money); err == nil {
		return major + " " + f.Money
	}
	return Visible(f.Value) + " " + f.Money
}

// Visible shows what a person would otherwise not see: invisible and bidirectional characters and controls as U+XXXX.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if name, hidden := canonical.Invisible(string(r)); hidden {
			b.WriteString("⟨" + name + "⟩")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func inWords(op journal.Operation) string {
	switch {
	case op.Wait != nil:
		return "waiting for a person"
	case op.Status == journal.Succeeded:
		return "done" + idWords(op)
	case op.Status == journal.FailedFinal && op.Evidence == journal.Person:
		return "ended by a person (" + reasonWords(op) + ")"
	case op.Status == journal.FailedFinal:
		return "rejected"
	case op.Status == journal.Pending:
		return "not sent yet"
	case op.Status == journal.InProgress:
		return "under way"
	}
	return "not confirmed yet"
}

func idWords(op journal.Operation) string {
	if op.ExternalID == "" {
		return ""
	}
	return " as " + Visible(op.ExternalID)
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

var reasons = map[string]string{
	"timeout": "no answer came in time", "lease_over": "the process that sent it did not come back", "absent": "a look-up shows that it did not happen",
	"connection_refused": "the provider could not be reached", "not_connected": "the provider could not be reached",
	"send_within": "its time to go by itself is over", "let_go": "a person lets it go, and its next equal call brings what it needs", "failed_at_provider": "the provider says that it failed",
}

func reasonWords(op journal.Operation) string {
	if text, ok := reasons[op.Reason]; ok {
		return text
	}
	return firstOf(strings.ReplaceAll(Visible(op.Reason), "_", " "), "no reason is known")
}

// waitTexts say why something waits for a person; %s is what the reason is about.
var waitTexts = map[string]string{
	"unresolved":       "Its outcome could not be confirmed in time (%s); it may have happened.",
	"candidates":       "What the provider shows does not settle it (%s).",
	"heuristic":        "Something like it was found by signs only (heuristic), which another one could bear too.",
	"conflict":         "The provider says that its key was used with other parameters.",
	"attempts":         "It was tried as often as allowed (%s times).",
	"approval":         "It needs approval before it is sent (%s).",
	"limit":            "It would go over a limit of the day, of which %s are spent.",
	"look_alike":       "It may name somebody else (%s).",
	"account":          "The secrets were changed since it was sent; another account would show nothing either.",
	"unproved_absence": "The look-up finds nothing, and has never found anything of this tool, which proves nothing.",
}

var waitNotes = map[string]string{
	"several": "there are several", "differs": "it differs from the request", "no_id": "it bears no usable id", "at_once": "the policy asks at once",
}

// WaitText says why an operation waits for a person.
func WaitText(w journal.Wait) string {
	text := firstOf(waitTexts[w.Reason], "A person must decide.")
	if !strings.Contains(text, "%s") {
		return text
	}
	return strings.Replace(text, "%s", firstOf(waitNotes[w.Note], Visible(w.Note), "no detail"), 1)
}

// FlagText says what contradicts what.
func FlagText(f journal.Flag) string {
	text := map[string]string{
		"during_retry": "an earlier attempt was " + string(f.Says) + " while a retry is under way", "against_ruling": "a person ruled " + string(f.Was) + ", the provider says " + string(f.Says),
		"against_final": "it was " + string(f.Was) + ", yet the provider says " + string(f.Says),
	}[f.What]
	text = firstOf(text, Visible(f.What))
	if f.ID != "" {
		text += " (" + Visible(f.ID) + ")"
	}
	return text
}

func firstOf(texts ...string) string {
	if i := slices.IndexFunc(texts, func(s string) bool { return s != "" }); i >= 0 {
		return texts[i]
	}
	return ""
}
