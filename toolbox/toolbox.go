package toolbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"notwice/journal"
	"notwice/policy"
)

// Options are the seams of a toolbox. Only Journal is required.
type Options struct {
	Journal journal.Journal
	Wire    Wire                              // nil: DirectWire
	Clock   Clock                             // nil: RealClock
	Random  io.Reader                         // nil: crypto/rand
	Secrets func(name string) (string, error) // nil: there are none
	Log     func(line string)                 // what could not be recorded, for an operator; nil: dropped
	Notify  func(r Result)                    // something begins to wait for a person; it must return at once; nil: nobody is told
}

// Toolbox runs tools so that no intent takes effect twice. Its methods may be called from many goroutines.
type Toolbox struct {
	journal journal.Journal
	wire    Wire
	clock   Clock
	keys    minter
	secrets func(string) (string, error)
	log     func(string)
	notify  func(Result)
	digest  []byte

	mu          sync.Mutex
	tools       map[string]*tool
	flights     map[journal.Key]*flight
	secretsRead map[string]map[string]any // secrets by the digest that they were read under
	flush       bool                      // a flush of delivery notes is under way
}

// tool is an added Tool with what was derived from its declaration once.
type tool struct {
	Tool
	Declaration
	schema    *validator.Schema
	policy    policy.Policy
	condition *condition // of the approval; nil: none
	secrets   []string
	declared  string // fingerprint
}

// New opens a toolbox on a journal.
func New(ctx context.Context, o Options) (*Toolbox, error) {
	if o.Journal == nil {
		return nil, errors.New("a toolbox needs a journal")
	}
	t := &Toolbox{
		journal: o.Journal, wire: o.Wire, clock: o.Clock, keys: minter{random: o.Random}, secrets: o.Secrets, log: o.Log, notify: o.Notify,
		tools: map[string]*tool{}, flights: map[journal.Key]*flight{}, secretsRead: map[string]map[string]any{},
	}
	if t.wire == nil {
		t.wire = DirectWire()
	}
	if t.clock == nil {
		t.clock = RealClock()
	}
	if t.keys.random == nil {
		t.keys.random = rand.Reader
	}
	if t.secrets == nil {
		t.secrets = func(name string) (string, error) { return "", fmt.Errorf("the secret %s is not configured", name) }
	}
	if t.log == nil {
		t.log = func(string) {}
	}
	fresh := make([]byte, 32)
	if _, err := io.ReadFull(t.keys.random, fresh); err != nil {
		return nil, fmt.Errorf("random bytes: %w", err)
	}
	var err error
	if t.digest, err = o.Journal.DigestKey(ctx, fresh); err != nil {
		return nil, err
	}
	return t, nil
}

// Share takes over the tools of another toolbox as they were compiled there. Names that are taken keep their tool.
func (t *Toolbox) Share(of *Toolbox) {
	of.mu.Lock()
	defer of.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, tool := range of.tools {
		if t.tools[name] == nil {
			t.tools[name] = tool
		}
	}
}

var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// Add adds a tool. Error: a declaration that contradicts itself, or a name that is taken.
func (t *Toolbox) Add(added Tool) error {
	d := added.Declare()
	fail := func(format string, args ...any) error {
		return fmt.Errorf("tool %s: %s", d.Name, fmt.Sprintf(format, args...))
	}
	if !toolName.MatchString(d.Name) {
		return fail("a name has up to 64 letters, digits, and . _ -, and starts with a letter")
	}
	if err := checkShape(d.Shape); err != nil {
		return fail("%v", err)
	}
	if err := checkFacts(d, added); err != nil {
		return fail("%v", err)
	}
	schema, err := compile(d.Name, d.Schema)
	if err != nil {
		return fail("schema: %v", err)
	}
	condition, err := d.Facts.Approval.compile(d.Shape)
	if err != nil {
		return fail("%v", err)
	}
	tl := &tool{Tool: added, Declaration: d, schema: schema, policy: d.Facts.Policy(), condition: condition, secrets: secretNames(d.Facts)}
	if !d.Shape.HasIdentity() {
		tl.policy.Guard = guardOf(d)
	}
	tl.declared = tl.fingerprint()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools[d.Name] != nil {
		return fail("the name is taken")
	}
	t.tools[d.Name] = tl
	return nil
}

// checkFacts refuses facts that contradict each other or the shape.
func checkFacts(d Declaration, added Tool) error {
	f := d.Facts
	_, searches := added.(Lookuper)
	named := func(value string, known ...string) bool { return slices.Contains(known, value) }
	switch {
	case !named(string(f.Effect), "read", "write"):
		return fmt.Errorf("effect is read or write, not %q", f.Effect)
	case !named(f.Scope, "", "journal", "task", "turn"):
		return fmt.Errorf("scope is journal, task or turn, not %q", f.Scope)
	case !named(f.Guard, "", "full", "lost", "off"):
		return fmt.Errorf("guard is full, lost or off, not %q", f.Guard)
	case f.Guard != "" && d.Shape.HasIdentity():
		return fmt.Errorf("a tool with declared identity takes no guard")
	case f.Unique && !d.Shape.HasIdentity():
		return fmt.Errorf("unique needs identity fields")
	case !d.Shape.HasIdentity() && f.Scope == "journal":
		return fmt.Errorf("without identity fields the scope is task or turn")
	case !named(f.Resend, "", "never", "same_key", "after_absence"):
		return fmt.Errorf("resend is never, same_key or after_absence, not %q", f.Resend)
	case !named(f.OnRepeat, "", "replays", "returns_current", "points_to_existing", "refuses", "executes"):
		return fmt.Errorf("on_repeat %q is not known", f.OnRepeat)
	case f.Resend == "same_key" && (f.OnRepeat == "executes" || f.OnRepeat == ""):
		return fmt.Errorf("resend: same_key with on_repeat: executes would be a second effect")
	case f.Lookup != nil && !searches:
		return fmt.Errorf("a look-up is declared, but the tool cannot look")
	case f.Effect == Read && (f.Lookup != nil || f.Approval != nil || f.Limits != nil):
		return fmt.Errorf("a read takes no look-up, no approval and no limits")
	case f.Limits != nil && (f.Limits.Count < 0 || f.Limits.Sum != "" && !f.Limits.Sum.IsInteger()):
		return fmt.Errorf("limits are a count of at least 1 and a sum of whole minor units")
	case f.Limits != nil && f.Limits.Sum != "" && !d.Shape.HasMoney():
		return fmt.Errorf("limits: a sum needs a money field")
	case f.MaxAttempts < 0:
		return fmt.Errorf("max_attempts is at least 1")
	}
	for _, r := range f.Answers {
		if err := r.Check(); err != nil {
			return err
		}
	}
	return f.Key.check()
}

// Tools returns the declarations of all tools, sorted by name.
func (t *Toolbox) Tools() []Declaration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Declaration
	for _, tool := range t.tools {
		all = append(all, tool.Declaration)
	}
	slices.SortFunc(all, func(a, b Declaration) int { return compareText(a.Name, b.Name) })
	return all
}

// Class rates a tool: A, B or C, and why.
func (t *Toolbox) Class(name string) (class, why string) {
	if tool := t.tool(name); tool != nil && tool.Facts.Effect == Write {
		c, why := tool.policy.Class()
		return string(c), why
	}
	return "", ""
}

// Guard is how a tool without declared identity is guarded: full, lost or off; empty for a tool with one.
func (t *Toolbox) Guard(name string) string {
	if tool := t.tool(name); tool != nil {
		return string(tool.policy.Guard)
	}
	return ""
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (t *Toolbox) tool(name string) *tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tools[name]
}

// toolOf is the tool of an operation, and the policy by which it is judged: the cautious one when nobody knows the tool.
func (t *Toolbox) toolOf(op *journal.Operation) (*tool, policy.Policy) {
	if tool := t.tool(op.Tool); tool != nil {
		return tool, t.policyOf(tool)
	}
	return nil, policy.Policy{}.Defaults()
}

// elsewhere says why nothing may be sent or asked for an operation here: its provider is not the one that this process speaks
// to. Another provider knows nothing of it, and its "nothing found" proves nothing.
func (t *Toolbox) elsewhere(op *journal.Operation) error {
	tl := t.tool(op.Tool)
	switch {
	case tl == nil:
		return fmt.Errorf("%w: there is no tool %q here", ErrElsewhere, op.Tool)
	case !strings.HasSuffix(op.Account, "@"+tl.Facts.Place):
		return fmt.Errorf("%w: it belongs to %s, and %s speaks to %s here", ErrElsewhere, Visible(op.Account), op.Tool, tl.Facts.Place)
	}
	return nil
}

// policyOf is a tool's policy with the credential that would be used now.
func (t *Toolbox) policyOf(tl *tool) policy.Policy {
	p := tl.policy
	p.Credential = t.credential(tl)
	return p
}

// told lets somebody know when a change made something wait for a person. It is called after the change is durable.
func (t *Toolbox) told(d policy.Decision) {
	if t.notify == nil || d.Operation == nil {
		return
	}
	for _, e := range d.Change.Events {
		if e.What == "waits" || e.What == "asked" || e.What == "flagged" {
			t.notify(t.Report(*d.Operation))
			return
		}
	}
}

// now is the present, with the highest time that the journal has seen.
func (t *Toolbox) now(k journal.Known) policy.Now {
	return policy.Now{Moment: t.clock.Now(), High: k.High}
}

// Close writes what is still to be noted. The journal stays open; it belongs to the caller.
func (t *Toolbox) Close() error { return t.journal.Flush(context.Background()) }
