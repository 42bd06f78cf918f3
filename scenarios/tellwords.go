package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/toolbox"
)

// The words in which a story is told. They say what was seen, and no more.

// plan is what is to happen, one line for each step.
func (f *File) plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.Join(strings.Fields(f.Story), " "))
	for _, s := range f.Steps {
		for _, one := range s.together() {
			_, text := f.deed(one)
			fmt.Fprintf(&b, "%s: %s\n", f.nameOf(s), text)
		}
	}
	return b.String()
}

// nameOf is what a report calls a step. One that was put in beside the story has the number of the step that it was made of.
func (f *File) nameOf(s Step) string {
	var nodes []*strictyaml.Node
	for _, o := range f.Steps {
		if !slices.Contains(nodes, o.Node) {
			nodes = append(nodes, o.Node)
		}
	}
	return fmt.Sprintf("step %d, %s", slices.Index(nodes, s.Node)+1, s.title())
}

// deed is what a step does, and in whose lane it stands. It is no step of parallel steps.
func (f *File) deed(s Step) (lane, text string) {
	switch {
	case s.Call != "":
		return "caller", f.callText(s)
	case s.Model != nil:
		return "caller", turnText(s)
	case s.Rule != "":
		return "person", fmt.Sprintf("decides %s of %s%s", s.Decision, s.Rule, because(s.Why))
	case s.Reconcile == "due":
		return "caller", "due work is done"
	case s.Reconcile != "":
		return "caller", s.Reconcile + " is looked after"
	case s.Fault != nil && s.Fault.clear:
		return "provider", "misbehaves no more"
	case s.Fault != nil:
		var all []string
		for _, fault := range s.Fault.faults {
			all = append(all, faultText(fault))
		}
		return "provider", "will misbehave: " + strings.Join(all, ", ")
	case s.Advance != nil:
		return "machine", fmt.Sprintf("%s pass", seconds(*s.Advance))
	case s.Crash != nil && !s.Crash.Now:
		return "process", fmt.Sprintf("the process is to die in the next step, %s%s", s.Crash.Point, nth(s.Crash.Nth))
	}
	return "process", "the process is to die"
}

func (f *File) callText(s Step) string {
	args, err := f.arguments(s)
	if err != nil {
		return err.Error()
	}
	text := f.Calls[s.Call].Tool + " " + string(args)
	if s.Task != "" {
		text += ", in task " + s.Task
	}
	if s.GivesUp != nil {
		text += fmt.Sprintf("; the caller gives up after %s", seconds(*s.GivesUp))
	}
	return text
}

func turnText(s Step) string {
	if s.Resume {
		return "the task is taken up again"
	}
	return fmt.Sprintf("the model is told %q", s.Model.User)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ", because " + why
}

func nth(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(", time %d", n)
}

// came is what came of a step that works.
func (f *File) came(s Step, t told) string {
	name := s.Call + s.Rule + s.Reconcile // a step has one verb
	if s.Model != nil {
		name = "the turn"
	}
	switch {
	case s.Model != nil && (t.says != "" || len(t.words) > 0):
		return fmt.Sprintf("the turn ends: %s; the model says %q", strings.Join(t.words, ", "), t.says)
	case t.word == "" && t.message == "":
		return name + " has no answer"
	case t.message == "":
		return fmt.Sprintf("%s is answered %s", name, t.word)
	}
	return fmt.Sprintf("%s is answered %s", name, t.message)
}

// faultText is a fault in short.
func faultText(f fakeprovider.Fault) string {
	text := f.Do
	if f.On != "" {
		text += " on " + f.On
	}
	for _, d := range []struct {
		word string
		time time.Duration
	}{{"after", f.After}, {"for", f.For}} {
		if d.time > 0 {
			text += fmt.Sprintf(" %s %s", d.word, d.time)
		}
	}
	if text += nth(f.Nth); f.Times > 1 {
		text += fmt.Sprintf(", %d times", f.Times)
	}
	return text
}

// requestText is a request as the provider received it.
func requestText(r fakeprovider.RequestSeen) string {
	text := r.Method + " " + r.Path
	if r.Key != "" {
		text += ", key " + r.Key
	}
	if len(r.Body) > 0 {
		text += " " + short(string(r.Body))
	}
	return text
}

func effectText(e fakeprovider.Effect) string {
	return fmt.Sprintf("effect %s of %s arises, by request %d", e.ID, kindOf(e.Kind, e.Action), e.Request)
}

// eventText is one entry of an operation's history.
func eventText(op journal.Operation, e journal.Event) string {
	var facts []string
	if e.What == "registered" {
		facts = append(facts, toolbox.Title(op))
	}
	if e.Attempt > 0 {
		facts = append(facts, fmt.Sprintf("attempt %d", e.Attempt))
	}
	for _, fact := range []string{string(e.Outcome), string(e.Evidence), e.Reason, e.ExternalID, e.Note} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	if e.By != "" {
		facts = append(facts, "by "+e.By)
	}
	what := e.What
	if len(facts) > 0 {
		what += ": " + strings.Join(facts, ", ")
	}
	return fmt.Sprintf("%s is %s: %s", op.Number, e.Status, what)
}

// askTexts are what is new to a model in a request: what became of its latest calls, or what the person says.
func askTexts(body []byte) (texts []string) {
	fields, err := canonical.ParseObject(body)
	messages, _ := fields["messages"].([]any)
	if err != nil || len(messages) == 0 {
		return []string{"the model is asked"}
	}
	calls := map[string]string{}
	for _, m := range messages {
		message, _ := m.(map[string]any)
		content, _ := message["content"].(string)
		switch message["role"] {
		case "assistant":
			texts, calls = nil, callsOf(message)
		case "user":
			texts = append(texts, fmt.Sprintf("the model is asked: %s", short(content)))
		case "tool":
			id, _ := message["tool_call_id"].(string)
			texts = append(texts, fmt.Sprintf("the model called %s and is told: %s", calls[id], short(content)))
		}
	}
	return texts
}

// callsOf are the calls that a message of a model makes, by their ids.
func callsOf(message map[string]any) map[string]string {
	calls := map[string]string{}
	list, _ := message["tool_calls"].([]any)
	for _, c := range list {
		call, _ := c.(map[string]any)
		function, _ := call["function"].(map[string]any)
		id, _ := call["id"].(string)
		calls[id] = strings.TrimSpace(fmt.Sprint(function["name"], " ", function["arguments"]))
	}
	return calls
}

// short is a text of at most 300 characters.
func short(text string) string {
	const most = 300
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return text
}
