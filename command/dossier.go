package command

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/journal"
	"notwice/policy"
	"notwice/toolbox"
)

// dossier is all that a person is shown of an operation before deciding: what would be sent, what is known and since when, and
// what each decision means.
type dossier struct {
	op                journal.Operation
	registered, asked map[string]any
	choices           []string
	now               time.Time
	shape             canonical.Shape // of the tool, where it is known
	class, why        string          // protection class of the tool
}

func newDossier(tools *toolbox.Toolbox, op journal.Operation, now time.Time) (dossier, error) {
	d := dossier{op: op, now: now, choices: policy.Choices(&op, now)}
	d.class, d.why = tools.Class(op.Tool)
	var err error
	d.registered, d.asked, err = tools.Requests(op)
	for _, t := range tools.Tools() {
		if t.Name == op.Tool {
			d.shape = t.Shape
		}
	}
	return d, err
}

// meanings says what each decision does; risks what happens if the person is wrong.
var meanings = map[string]string{
	policy.Happened:    "it took effect: it is done, and is never sent again (--external-id ID, where the provider shows one)",
	policy.Resend:      "it did not take effect: send the request above, under the same key",
	policy.Close:       "give it up: it is final, and is never sent again",
	policy.WaitOn:      "look on, and ask again later (--for 2h; a day without it)",
	policy.Approve:     "send the request above",
	policy.Decline:     "never send it",
	policy.Replace:     "drop the registered request and send the one that was asked for instead",
	policy.SameWish:    "the call asked for instead is this very wish: it is answered with what is known of this one",
	policy.Again:       "leave to do it once more, under a new key: the next equal call within a day goes",
	policy.Seen:        "the contradiction was looked at",
	policy.SameAccount: "the changed secrets open the same account: go on looking and sending",
}

var risks = map[string]string{
	policy.Happened: "if it did not, it is never made",
	policy.Resend:   "if it did take effect, it happens TWICE",
	policy.Close:    "if it did take effect, nobody will hear of it from here",
	policy.Again:    "it is a second effect, on purpose",
}

// write prints the dossier. Everything that comes from outside is made visible: hidden and bidirectional characters as U+XXXX.
func (d dossier) write(w io.Writer) {
	op := d.op
	fmt.Fprintf(w, "%s\n", toolbox.Title(op))
	rows := [][]string{
		{"  state", stateWord(op) + d.evidence()}, {"  number", op.Number}, {"  key", string(op.Key)},
		{"  account", op.Account}, {"  task", toolbox.Visible(op.Task)}, {"  asked for", d.ago(op.Registered)},
	}
	if d.class != "" {
		rows = append(rows, []string{"  provider", "class " + d.class + ": " + d.why})
	}
	if op.ExternalID != "" {
		rows = append(rows, []string{"  external id", toolbox.Visible(op.ExternalID)})
	}
	if op.Wait != nil {
		rows = append(rows, []string{"  waits for", op.Wait.Reason + ": " + toolbox.WaitText(*op.Wait)}, []string{"  since", d.ago(op.Wait.Since)})
	}
	for _, f := range op.Flags {
		rows = append(rows, []string{"  contradiction", toolbox.FlagText(f) + ", " + d.ago(f.At)})
	}
	if r := op.Ruling; r != nil {
		rows = append(rows, []string{"  decided before", fmt.Sprintf("%s by %s, %s %s", r.Decision, toolbox.Visible(r.By), d.ago(r.At), toolbox.Visible(r.Why))})
	}
	if op.Permit != nil {
		rows = append(rows, []string{"  leave", fmt.Sprintf("for %s, given by %s, %s", toolbox.Visible(op.Permit.Shown), toolbox.Visible(op.Permit.By), d.ago(op.Permit.Given))})
	}
	rows = append(rows, []string{"  what is known", d.known()})
	table(w, rows)
	d.request(w, "the request that would be sent", d.registered, nil)
	if gone := d.gone(); d.registered == nil && len(gone) > 0 {
		fmt.Fprintf(w, "  no longer kept, only digests to compare with: %s\n", strings.Join(gone, ", "))
	}
	if q := op.Question; q != nil {
		what := "asked for instead"
		if q.Kind == "repeat" {
			what = "asked for again"
		}
		d.request(w, fmt.Sprintf("%s, %s", what, d.ago(q.At)), d.asked, q.Differs)
	}
	d.candidates(w)
}

// gone names the fields of a finished operation whose values are not kept.
func (d dossier) gone() (names []string) {
	for _, f := range d.op.Fields {
		if f.Value == "" {
			names = append(names, toolbox.Visible(f.Name))
		}
	}
	return names
}

// was is what the journal still knows of a field that differs.
func (d dossier) was(name string) string {
	for _, f := range d.op.Fields {
		switch {
		case f.Name == name && f.Money != "":
			return "<- differs, was " + toolbox.Amount(f)
		case f.Name == name && f.Value != "":
			return "<- differs, was " + toolbox.Visible(f.Value)
		case f.Name == name:
			return "<- differs"
		}
	}
	return "<- differs, was not there"
}

func (d dossier) evidence() string {
	if d.op.Evidence == "" {
		return ""
	}
	return " by " + string(d.op.Evidence)
}

// known says in one line what was tried.
func (d dossier) known() string {
	var parts []string
	for _, a := range d.op.Attempts {
		text := fmt.Sprintf("attempt %d at %s: ", a.N, local(a.Started))
		switch {
		case a.Outcome == "":
			text += "no outcome yet"
		case a.Undone:
			text += withReason(a) + ", known not to have been executed"
		default:
			text += withReason(a)
		}
		parts = append(parts, text)
	}
	if d.op.Looks > 0 {
		parts = append(parts, fmt.Sprintf("%d look-ups settled nothing", d.op.Looks))
	}
	if len(parts) == 0 {
		return "nothing was sent"
	}
	return toolbox.Visible(strings.Join(parts, "; "))
}

func withReason(a journal.Attempt) string {
	if a.Reason == "" {
		return string(a.Outcome)
	}
	return string(a.Outcome) + " (" + a.Reason + ")"
}

func (d dossier) ago(t time.Time) string {
	age := d.now.Sub(t)
	if t.IsZero() || age < 0 {
		return local(t)
	}
	return fmt.Sprintf("%s (%s ago)", local(t), roughly(age))
}

func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// request prints arguments, money in major units too, and marks what differs.
func (d dossier) request(w io.Writer, title string, args map[string]any, differs []string) {
	if args == nil {
		return
	}
	fmt.Fprintf(w, "  %s:\n", title)
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		mark := ""
		if slices.Contains(differs, name) {
			mark = d.was(name)
		}
		rows = append(rows, []string{"    " + toolbox.Visible(name), d.value(name, args), mark})
	}
	table(w, rows)
}

func (d dossier) value(name string, args map[string]any) string {
	text := ""
	switch v := args[name].(type) {
	case string:
		text = v
	default:
		b, err := canonical.Plain(v)
		if err != nil {
			return "?"
		}
		text = string(b)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = toolbox.Visible(lines[i])
	}
	text = strings.Join(lines, " ⏎ ")
	if f := d.shape.Field(name); f != nil && f.Money != "" {
		return toolbox.Amount(journal.Field{Value: text, Money: d.shape.Currency(*f, args)}) + " (" + text + ")"
	}
	return text
}

// candidates prints what a look-up found, side by side.
func (d dossier) candidates(w io.Writer) {
	if d.op.Wait == nil || len(d.op.Wait.Candidates) == 0 {
		return
	}
	fmt.Fprintln(w, "  what the provider has:")
	rows := [][]string{{"    ID", "STATE", "CREATED", "DIFFERS", "WHAT"}}
	for _, c := range d.op.Wait.Candidates {
		created := "-"
		if !c.Created.IsZero() {
			created = local(c.Created)
		}
		rows = append(rows, []string{"    " + dash(c.ID), dash(c.State), created, dash(strings.Join(c.Differs, ", ")), d.candidate(c.Title)})
	}
	table(w, rows)
}

// candidate is the provider's object as far as it is kept, its money in major units too.
func (d dossier) candidate(title string) string {
	args, err := canonical.ParseObject([]byte(title))
	if err != nil {
		return toolbox.Visible(title)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		parts = append(parts, toolbox.Visible(name)+" "+d.value(name, args))
	}
	return strings.Join(parts, ", ")
}

// writeChoices prints what can be decided, and what follows if the person is wrong.
func (d dossier) writeChoices(w io.Writer) {
	if len(d.choices) == 0 {
		fmt.Fprintln(w, "  there is nothing to decide now")
		return
	}
	fmt.Fprintln(w, "  you can decide:")
	var rows [][]string
	for _, word := range d.choices {
		text := meanings[word]
		if risk := d.risk(word); risk != "" {
			text += "; RISK: " + risk
		}
		rows = append(rows, []string{"    " + word, text})
	}
	table(w, rows)
}

// json is the dossier for programs.
func (d dossier) json() map[string]any {
	out := operationJSON(d.op)
	out["choices"] = orEmpty(d.choices)
	out["episode"] = policy.Episode(&d.op)
	out["request"] = argsJSON(d.registered)
	if q := d.op.Question; q != nil {
		out["question"] = map[string]any{"kind": q.Kind, "at": q.At.UTC(), "expires": q.Expires.UTC(), "request_hash": q.RequestHash, "differs": orEmpty(q.Differs), "request": argsJSON(d.asked)}
	}
	return out
}

// request is one request in short, and its hash.
type request struct {
	title string
	hash  canonical.Hash
}

// about is the request that a decision lets through or judges.
func (d dossier) about(decision string) request {
	if q := d.op.Question; q != nil && policy.About(&d.op, decision, d.now) == q.RequestHash {
		return request{d.title(d.asked), q.RequestHash}
	}
	return request{toolbox.Title(d.op), d.op.RequestHash}
}

// title names arguments in short: what identifies them, money in major units.
func (d dossier) title(args map[string]any) string {
	var parts []string
	for _, f := range d.shape.Fields {
		if _, given := args[f.Name]; given && (f.Role == canonical.Identity || f.Money != "") {
			parts = append(parts, f.Name+" "+d.value(f.Name, args))
		}
	}
	return d.op.Tool + " (" + strings.Join(parts, ", ") + ")"
}

// risk is what follows if the person is wrong; what is known not to have been executed cannot happen twice.
func (d dossier) risk(decision string) string {
	if decision == policy.Resend && d.op.Executable() == 0 {
		return ""
	}
	return risks[decision]
}

// shown is what the history keeps of what a person was shown: the request in short and its hash, and the candidates' ids.
func (d dossier) shown(decision string) string {
	var b bytes.Buffer
	about := d.about(decision)
	fmt.Fprintf(&b, "%s; request %s", about.title, about.hash)
	if d.op.Wait != nil {
		fmt.Fprintf(&b, "; waits: %s", d.op.Wait.Reason)
		for _, c := range d.op.Wait.Candidates {
			fmt.Fprintf(&b, "; candidate %s %s", c.ID, c.State)
		}
	}
	return b.String()
}
