package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
	"notwice/journal"
	"notwice/toolbox"
)

// Number is a number that is expected: exactly, or with <, <=, >, >= before it.
type Number struct {
	op string
	n  int
}

// UnmarshalNode reads 1 or "<=1".
func (x *Number) UnmarshalNode(n *strictyaml.Node) error {
	text := fmt.Sprint(n.Value)
	for _, op := range []string{"<=", ">=", "<", ">"} {
		if rest, ok := strings.CutPrefix(text, op); ok {
			x.op, text = op, strings.TrimSpace(rest)
			break
		}
	}
	var err error
	if x.n, err = strconv.Atoi(text); err != nil || x.n < 0 || (x.op == "" && !isNumber(n.Value)) {
		return n.Errorf(`a number is needed, or a text such as "<=1"`)
	}
	return nil
}

func isNumber(v any) bool { _, ok := v.(canonical.Number); return ok }

func (x Number) holds(got int) bool {
	switch x.op {
	case "<=":
		return got <= x.n
	case ">=":
		return got >= x.n
	case "<":
		return got < x.n
	case ">":
		return got > x.n
	}
	return got == x.n
}

func (x Number) String() string { return x.op + strconv.Itoa(x.n) }

// Counts is one number for all, or one per kind.
type Counts struct {
	all   *Number
	kinds map[string]Number
}

// kindsCounted are the kinds of writes and effects; look-ups of cancellations are look-ups of payments.
var kindsCounted = []string{"payments", "payments.cancel", "emails", "applications", "tickets"}

// UnmarshalNode reads 1, "<=1" or {payments: 1, emails: 0}.
func (c *Counts) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind != strictyaml.Map {
		c.all = new(Number)
		return c.all.UnmarshalNode(n)
	}
	if len(n.Keys) == 0 {
		return n.Errorf("no kind is counted; the kinds are %s", strings.Join(kindsCounted, ", "))
	}
	for i, kind := range n.Keys {
		if !slices.Contains(kindsCounted, kind) {
			return n.Names[i].Errorf("%q is no kind; the kinds are %s", kind, strings.Join(kindsCounted, ", "))
		}
	}
	return strictyaml.Decode(n, &c.kinds)
}

// Expect is what must be seen after a step; what is not given is not looked at.
type Expect struct {
	Status     *string  `yaml:"status"`
	Word       *string  `yaml:"word"`
	Exit       *Number  `yaml:"exit"`
	Repeat     *bool    `yaml:"repeat"`
	Evidence   *string  `yaml:"evidence"`
	ExternalID *string  `yaml:"external_id"`
	Attempts   *Number  `yaml:"attempts"`
	Differs    []string `yaml:"differs"`
	Message    *string  `yaml:"message"`
	Heuristic  *bool    `yaml:"heuristic"`
	Waits      *bool    `yaml:"waits"`
	Rests      *bool    `yaml:"rests"`
	Crashed    *bool    `yaml:"crashed"`

	Words []string `yaml:"words"`
	Says  *string  `yaml:"says"`
	Sees  *string  `yaml:"sees"`

	Requests       *Counts `yaml:"requests"`
	Lookups        *Counts `yaml:"lookups"`
	Effects        *Counts `yaml:"effects"`
	Operations     *Number `yaml:"operations"`
	Review         *Number `yaml:"review"`
	Contradictions *Number `yaml:"contradictions"`
	ModelRequests  *Number `yaml:"model_requests"`
}

// UnmarshalNode reads what is expected and refuses what can never be seen: nothing at all, or a misspelt state, word or kind of
// evidence.
func (e *Expect) UnmarshalNode(n *strictyaml.Node) error {
	type plain Expect
	if n.Kind == strictyaml.Map && len(n.Keys) == 0 {
		return n.Errorf("nothing is expected here, so it cannot fail")
	}
	if err := strictyaml.Decode(n, (*plain)(e)); err != nil {
		return err
	}
	known := map[string][]string{"status": knownStatuses(), "evidence": knownEvidence, "word": knownWords, "words": knownWords}
	for i, key := range n.Keys {
		if known[key] == nil {
			continue
		}
		if err := oneOf(n.Values[i], key, known[key]); err != nil {
			return err
		}
	}
	return nil
}

// oneOf refuses a text, or an item of a list, that is not known.
func oneOf(n *strictyaml.Node, key string, known []string) error {
	items := n.Items
	if n.Kind != strictyaml.List {
		items = []*strictyaml.Node{n}
	}
	for _, item := range items {
		if text, _ := item.Value.(string); !slices.Contains(known, text) {
			return item.Errorf("%s: %q is never seen; known are %s", key, text, strings.Join(known, ", "))
		}
	}
	return nil
}

func knownStatuses() []string {
	var names []string
	for _, s := range journal.Statuses() {
		names = append(names, string(s))
	}
	return names
}

var knownEvidence = []string{
	string(journal.Response), string(journal.LookupByKey), string(journal.LookupByReference), string(journal.Heuristic),
	string(journal.UpstreamError), string(journal.Person),
}

var knownWords = []string{
	string(toolbox.Done), string(toolbox.AlreadyDone), string(toolbox.Queued), string(toolbox.NotSent), string(toolbox.Rejected),
	string(toolbox.NotConfirmed), string(toolbox.ConflictWord), string(toolbox.WaitsForHuman), string(toolbox.InvalidCall),
}

// told is what one answer, or the answers of one step, said.
type told struct {
	answered                                    bool // the answer's facts are there
	status, word, evidence, externalID, message string
	says                                        string
	exit, attempts                              int
	repeat, heuristic, waits, rests, crashed    bool
	differs, words                              []string
}

// counted is what the provider and the journal hold after a step.
type counted struct {
	sees                               []string
	requests, lookups, effects         tally
	operations, review, contradictions int
	models                             int
}

// tally is a number of things, and how many there are of each kind.
type tally struct {
	all    int
	byKind map[string]int
}

func (t *tally) add(kind string) {
	if t.byKind == nil {
		t.byKind = map[string]int{}
	}
	t.all++
	t.byKind[kind]++
}

// seen is what a step showed.
type seen struct {
	told
	counted
}

// misses lists what is not as expected, each as "key: expected …, got …".
func (e *Expect) misses(got seen) []string {
	var out []string
	miss := func(key string, want, got any) {
		out = append(out, fmt.Sprintf("%s: expected %v, got %v", key, want, got))
	}
	text := func(key string, want *string, got string) {
		if want != nil && *want != got {
			miss(key, quote(*want), quote(got))
		}
	}
	yes := func(key string, want *bool, got bool) {
		if want != nil && *want != got {
			miss(key, *want, got)
		}
	}
	number := func(key string, want *Number, got int) {
		if want != nil && !want.holds(got) {
			miss(key, want, got)
		}
	}
	contains := func(key string, want *string, got ...string) {
		if want != nil && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, *want) }) {
			miss(key, "text that contains "+quote(*want), quote(strings.Join(got, " | ")))
		}
	}
	text("status", e.Status, got.status)
	text("word", e.Word, got.word)
	number("exit", e.Exit, got.exit)
	yes("repeat", e.Repeat, got.repeat)
	text("evidence", e.Evidence, got.evidence)
	e.externalID(got, miss)
	number("attempts", e.Attempts, got.attempts)
	if e.Differs != nil && !sameSet(e.Differs, got.differs) {
		miss("differs", e.Differs, got.differs)
	}
	contains("message", e.Message, got.message)
	yes("heuristic", e.Heuristic, got.heuristic)
	yes("waits", e.Waits, got.waits)
	yes("rests", e.Rests, got.rests)
	yes("crashed", e.Crashed, got.crashed)
	if e.Words != nil && !sameSet(e.Words, got.words) {
		miss("words", e.Words, got.words)
	}
	contains("says", e.Says, got.says)
	contains("sees", e.Sees, got.sees...)
	e.Requests.misses("requests", got.requests, "", miss)
	e.Lookups.misses("lookups", got.lookups, "", miss)
	surplus := ""
	if got.effects.all > got.requests.all {
		surplus = fmt.Sprintf(" of %s: the surplus arose behind Notwice", countOf(got.requests.all, "request"))
	}
	e.Effects.misses("effects", got.effects, surplus, miss)
	number("operations", e.Operations, got.operations)
	number("review", e.Review, got.review)
	number("contradictions", e.Contradictions, got.contradictions)
	number("model_requests", e.ModelRequests, got.models)
	return out
}

func (e *Expect) externalID(got seen, miss func(string, any, any)) {
	switch want := e.ExternalID; {
	case want == nil:
	case *want == "present" && got.externalID == "", *want == "absent" && got.externalID != "":
		miss("external_id", *want, quote(got.externalID))
	case *want != "present" && *want != "absent" && *want != got.externalID:
		miss("external_id", quote(*want), quote(got.externalID))
	}
}

// misses compares a tally with what is expected of it; why is said behind the number that was got.
func (c *Counts) misses(key string, got tally, why string, miss func(string, any, any)) {
	if c == nil {
		return
	}
	if c.all != nil && !c.all.holds(got.all) {
		miss(key, c.all, strconv.Itoa(got.all)+why)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		if want := c.kinds[kind]; !want.holds(got.byKind[kind]) {
			miss(key+" of "+kind, want, got.byKind[kind])
		}
	}
}

// countOf is a number with its noun: 1 request, 2 requests.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// ofAnswer reports whether a key needs an answer to look at. A model's turn has an exit code without one.
func (e *Expect) ofAnswer(model bool) bool {
	return e.Status != nil || e.Word != nil || e.Exit != nil && !model || e.Repeat != nil || e.Evidence != nil || e.ExternalID != nil ||
		e.Attempts != nil || e.Differs != nil || e.Message != nil || e.Heuristic != nil || e.Waits != nil || e.Rests != nil
}

func quote(s string) string {
	if s == "" {
		return "nothing"
	}
	return strconv.Quote(s)
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
