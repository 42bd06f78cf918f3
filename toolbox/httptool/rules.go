package httptool

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/journal"
	"notwice/toolbox"
)

// answer is what came back, as far as it could be read.
type answer struct {
	status int
	header http.Header
	text   []byte
	body   any  // the parsed JSON; nil when it is none
	parsed bool // the body is one complete JSON value
}

// holds reports whether a condition is true of an answer. The phase is always `sent` here.
func holds(w toolbox.When, a answer) bool {
	if w.Exit != nil || (w.Phase != "" && w.Phase != "sent") || !statusIn(w.Status, a.status) {
		return false
	}
	switch {
	case w.Header != "":
		return anyOf(w, headerValues(a.header, w.Header))
	case w.Body != "":
		return a.parsed && anyOf(w, at(a.body, w.Body))
	}
	return true
}

func headerValues(h http.Header, name string) []any {
	var found []any
	for _, v := range h.Values(name) {
		found = append(found, v)
	}
	return found
}

func anyOf(w toolbox.When, found []any) bool {
	if w.Exists != nil { // null is nothing
		there := slices.ContainsFunc(found, func(x any) bool { return x != nil })
		return there == *w.Exists
	}
	for _, x := range found {
		if w.Equals != nil && same(x, w.Equals) {
			return true
		}
		for _, want := range w.In {
			if same(x, want) {
				return true
			}
		}
	}
	return false
}

// same compares by canonical form; a text that a rule writes also equals the number or boolean of that spelling.
func same(got, want any) bool {
	if canonical.Equal(got, want) {
		return true
	}
	text, ok := want.(string)
	if !ok {
		return false
	}
	switch got.(type) {
	case canonical.Number, bool:
		return plain(got) == text
	}
	return false
}

// statusIn reports whether a status is listed. A class such as 4xx leaves out those that never say "not done".
func statusIn(list []string, status int) bool {
	if len(list) == 0 {
		return true
	}
	text := strconv.Itoa(status)
	for _, s := range list {
		if s == text {
			return true
		}
		if strings.HasSuffix(s, "xx") && s[0] == text[0] {
			switch status {
			case 401, 403, 407, 408, 409, 425, 429:
				continue
			}
			return true
		}
	}
	return false
}

// at returns every value that a path names: `error.type`, `errors[].code` (any element).
func at(v any, path string) []any {
	found := []any{v}
	for step := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(step, "[]")
		var next []any
		for _, x := range found {
			object, ok := x.(map[string]any)
			if !ok {
				continue
			}
			value, given := object[name]
			switch items, isList := value.([]any); {
			case !given:
			case list && isList:
				next = append(next, items...)
			case !list:
				next = append(next, value)
			}
		}
		found = next
	}
	return found
}

func textAt(v any, path string) string {
	if path == "" {
		return ""
	}
	for _, x := range at(v, path) {
		switch x.(type) {
		case string, canonical.Number:
			return plain(x)
		}
	}
	return ""
}

// idAt is the provider's id, or nothing where it is blank or too long to be one.
func idAt(v any, path string) string {
	id := textAt(v, path)
	if strings.TrimSpace(id) == "" || len(id) > maxID {
		return ""
	}
	return id
}

// maxID bounds a provider's id, in bytes.
const maxID = 1024

// classify says what an answer proves (DESIGN §5): the first rule that holds, else success with its echo, else unknown.
func (t *Tool) classify(a answer, r toolbox.Request) toolbox.Answer {
	f := t.d.Facts
	out := toolbox.Answer{Outcome: journal.OutcomeUnknown, Reason: "status_" + strconv.Itoa(a.status), RetryAfter: retryAfter(a), Text: shown(a)}
	if f.ReplayMarker != nil {
		out.ForKey = holds(*f.ReplayMarker, a)
	}
	for _, rule := range f.Answers {
		if !holds(rule.When, a) {
			continue
		}
		if code := textAt(a.body, "error.code"); code != "" {
			out.Reason = code
		}
		return t.byRule(out, rule, a, r)
	}
	if a.status >= 200 && a.status < 300 {
		if !a.parsed {
			out.Reason = "unreadable_answer"
			return out
		}
		if f.Success == nil || holds(*f.Success, a) {
			return t.applied(out, a, r)
		}
		out.Reason = "no_success"
	}
	return out
}

func (t *Tool) byRule(out toolbox.Answer, rule toolbox.Rule, a answer, r toolbox.Request) toolbox.Answer {
	switch rule.Outcome {
	case "applied":
		return t.applied(out, a, r)
	case "rejected":
		out.Outcome = journal.Rejected
	case "not_sent":
		out.Outcome = journal.NotSent
		if a.status == http.StatusUnauthorized {
			out.Reason, out.Waits = "authentication", "the owner of the secret"
		}
	case "unknown":
	default:
		out.Word, out.Reason = rule.Outcome, rule.Outcome
	}
	return out
}

// applied believes a success only if every field of the echo list is there and equal.
func (t *Tool) applied(out toolbox.Answer, a answer, r toolbox.Request) toolbox.Answer {
	if differs := t.differs(a.body, r.Args); len(differs) > 0 {
		out.Reason = "echo_differs"
		out.Text = "the answer differs in " + strings.Join(differs, ", ")
		return out
	}
	out.ExternalID = idAt(a.body, t.d.Facts.ExternalID)
	if t.d.Facts.ExternalID != "" && out.ExternalID == "" {
		out.Reason = "no_external_id"
		return out
	}
	out.Outcome, out.Reason, out.Result = journal.Applied, "", t.result(a.body)
	return out
}

// differs names the body paths of the echo list that are absent or not equal in canonical form.
func (t *Tool) differs(body any, args map[string]any) []string {
	var names []string
	hashed, err := t.d.Shape.Hashed(args)
	if err != nil {
		return []string{"?"}
	}
	for _, path := range sorted(t.d.Facts.Echo) {
		name := strings.TrimPrefix(t.d.Facts.Echo[path], "args.")
		want, given := hashed[name]
		found := at(body, path)
		if !given {
			continue // an optional argument that was not given has no echo
		}
		if len(found) != 1 || !t.echoes(name, found[0], want, args) {
			names = append(names, path)
		}
	}
	return names
}

// echoes compares one echoed value in the form of the request hash: texts composed, sets sorted, money in minor units.
func (t *Tool) echoes(name string, got, want any, args map[string]any) bool {
	if same(got, want) {
		return true
	}
	echoed := map[string]any{}
	for n, v := range args {
		echoed[n] = v
	}
	echoed[name] = got
	form, err := t.d.Shape.Hashed(echoed)
	return err == nil && (canonical.Equal(form[name], want) || canonical.Equal(plain(form[name]), want))
}

// result keeps what the tool names of an answer.
func (t *Tool) result(body any) canonical.Raw {
	kept := map[string]any{}
	for _, path := range t.d.Facts.Result {
		if found := at(body, path); len(found) == 1 {
			kept[path] = found[0]
		} else if len(found) > 1 {
			kept[path] = found
		}
	}
	if len(kept) == 0 {
		return nil
	}
	text, err := canonical.Plain(kept)
	if err != nil || len(text) > maxResult {
		return nil
	}
	return text
}

// retryAfter reads the header in seconds or as a date, and the body field of YooKassa in milliseconds.
func retryAfter(a answer) time.Duration {
	const most = 24 * time.Hour
	h := a.header.Get("Retry-After")
	if n, err := strconv.Atoi(h); err == nil && n >= 0 {
		return min(time.Duration(min(n, 1<<30))*time.Second, most)
	}
	if t, err := http.ParseTime(h); err == nil {
		if sent, err := http.ParseTime(a.header.Get("Date")); err == nil {
			return min(max(t.Sub(sent), 0), most)
		}
	}
	if n, err := strconv.Atoi(textAt(a.body, "retry_after")); err == nil && n >= 0 {
		return min(time.Duration(min(n, 1<<40))*time.Millisecond, most)
	}
	return 0
}

// shown is an answer for a person: short, without what a terminal would obey.
func shown(a answer) string {
	if message := textAt(a.body, "error.message"); message != "" {
		return cut(toolbox.Visible(message), 200)
	}
	if !a.parsed {
		return fmt.Sprintf("HTTP %d with a body that is not JSON", a.status)
	}
	return fmt.Sprintf("HTTP %d", a.status)
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
