package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"notwice/canonical"
	"notwice/journal"
	"notwice/toolbox"
)

func printJSON(w io.Writer, v any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v)
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// answerJSON is an answer as FORMATS §7 says.
func answerJSON(r toolbox.Result) map[string]any {
	out := map[string]any{
		"v": 1, "status": orNull(r.Status), "word": string(r.Word), "operation_key": orNull(r.Key), "number": orNull(r.Number),
		"external_id": orNull(r.ExternalID), "result": nil, "repeat": r.Repeat, "evidence": orNull(r.Evidence), "attempts": r.Attempts,
		"message": r.Message, "differs": nil,
	}
	if r.Result != nil {
		out["result"] = json.RawMessage(r.Result)
	}
	if r.Differs != nil {
		out["differs"] = r.Differs
	}
	return out
}

// operationJSON is an operation for programs.
func operationJSON(op journal.Operation) map[string]any {
	out := map[string]any{
		"key": op.Key, "number": op.Number, "tool": op.Tool, "account": op.Account, "title": toolbox.Title(op), "task": op.Task,
		"scope": json.RawMessage(op.Scope), "seq": op.Seq, "status": op.Status, "evidence": orNull(string(op.Evidence)),
		"external_id": orNull(op.ExternalID), "reason": orNull(op.Reason), "attempts": op.AttemptCount, "request_hash": op.RequestHash,
		"registered": op.Registered, "ended": orNullTime(op.Ended), "due": orNullTime(op.Due), "rests": op.Rests, "wait": nil, "flags": op.Flags,
		"question": nil, "ruling": nil, "permit": nil,
	}
	if op.Wait != nil {
		out["wait"] = op.Wait
	}
	if q := op.Question; q != nil {
		out["question"] = map[string]any{"kind": q.Kind, "at": q.At.UTC(), "expires": q.Expires.UTC(), "request_hash": q.RequestHash, "differs": orEmpty(q.Differs)}
	}
	if op.Ruling != nil {
		out["ruling"] = op.Ruling
	}
	if op.Permit != nil {
		out["permit"] = op.Permit
	}
	if op.Result != nil {
		out["result"] = json.RawMessage(op.Result)
	}
	return out
}

func orNullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// table writes rows in columns.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
}

func local(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// progress writes to stderr on a terminal only.
func progress(format string, args ...any) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprintln(os.Stderr, visibleLines(fmt.Sprintf(format, args...)))
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// argsJSON are arguments with every digit as it is.
func argsJSON(args map[string]any) any {
	if args == nil {
		return nil
	}
	text, err := canonical.Plain(args)
	if err != nil {
		return nil
	}
	return json.RawMessage(text)
}

// visibleLines is a text of many lines in which nothing is hidden: escape codes and invisible characters show as U+XXXX.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = toolbox.Visible(strings.TrimSuffix(lines[i], "\r"))
	}
	return strings.Join(lines, "\n")
}
