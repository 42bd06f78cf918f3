package toolbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"notwice/canonical"
	"notwice/journal"
	"notwice/policy"
)

// Call is one call of a tool by a model, a person or a program.
type Call struct {
	Tool      string
	Arguments []byte        // JSON text of the arguments, as it came
	Task      string        // empty: "default"
	Turn      int           // ordinal of the person's message in its task; 0: the caller has no turns
	Position  string        // where the call is recorded, so that a recorded call that is run again is its operation; may be empty
	Account   string        // empty: the tool's own
	Wait      time.Duration // how much longer than its own attempt the call looks, retries or joins
	Timeout   time.Duration // caps the attempt's deadline; 0: the tool's own
	Given     *Given        // arguments that a caller in Go has already parsed; nil: Arguments
}

// Given are parsed arguments.
type Given struct{ Args map[string]any }

// DefaultTask is the task of callers that have none.
const DefaultTask = "default"

// Call runs a tool. An answer that says "no", "not known" or "invalid" is a Result; an error means that Notwice could not
// do its own part (the journal), or that ctx ended while the call waited: the attempt goes on and is recorded.
//
// For tools in scope task or turn the caller says afterwards that the answer arrived: Result.Delivered.
func (t *Toolbox) Call(ctx context.Context, c Call) (Result, error) {
	// 1, 2: parse once, normalise, validate. Nothing is journaled and nothing sent for what is wrong.
	r, err := t.prepare(c)
	if err != nil {
		return t.refuse(c, err), nil
	}
	// 3: a read is called at once and is done.
	if r.tool.Facts.Effect == Read {
		return t.read(ctx, r)
	}
	// 4: the request that every attempt sends, its hash and the intent.
	call, wish, err := t.intent(r)
	if err != nil {
		return t.refuse(c, err), nil
	}
	// 5: find or register, compare, decide and claim in one durable transaction. A crash before its end leaves nothing, a
	// crash after it a lease that runs out.
	var d policy.Decision
	err = t.decide(ctx, r.tool, wish, func(k journal.Known) (journal.Change, error) {
		d = policy.OnCall(k, call, r.policy, t.now(k))
		return d.Change, nil
	})
	if err != nil {
		return Result{}, fmt.Errorf("call %s: %w", c.Tool, err)
	}
	t.told(d)
	// 6 to 9: send, join, look or wait, as far as the caller's patience goes.
	return t.pursue(ctx, r, d)
}

// refusal is an error of the caller's input.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// prepared is a call whose arguments are in order.
type prepared struct {
	call     Call
	tool     *tool
	policy   policy.Policy
	args     map[string]any // normalised, without volatile fields
	volatile map[string]any
	account  string // name@place
	begun    journal.Moment
}

func (t *Toolbox) prepare(c Call) (prepared, error) {
	tool := t.tool(c.Tool)
	if tool == nil {
		return prepared{}, refusal{fmt.Errorf("there is no tool %q", c.Tool)}
	}
	if err := CheckTask(c.Task); err != nil {
		return prepared{}, refusal{err}
	}
	args, err := arguments(c, tool.Shape)
	if err != nil {
		return prepared{}, refusal{err}
	}
	if err := forbidden(tool.Shape, args); err != nil {
		return prepared{}, refusal{err}
	}
	if args, err = tool.Shape.Normalize(args); err != nil {
		return prepared{}, refusal{err}
	}
	if err := validate(tool.schema, args); err != nil {
		return prepared{}, refusal{err}
	}
	p := prepared{call: c, tool: tool, policy: t.policyOf(tool), args: args, volatile: map[string]any{}, begun: t.clock.Now()}
	for _, f := range tool.Shape.Fields {
		if v, given := args[f.Name]; given && f.Role == canonical.Volatile {
			p.volatile[f.Name] = v
			delete(args, f.Name)
		}
	}
	if c.Timeout > 0 {
		p.policy.Deadline = min(p.policy.Deadline, c.Timeout)
	}
	name := tool.Facts.Account
	if c.Account != "" {
		name = c.Account
	}
	p.account = name + "@" + tool.Facts.Place
	return p, nil
}

// arguments parses the text. An empty text is {} for a tool without parameters, and for no other.
func arguments(c Call, shape canonical.Shape) (map[string]any, error) {
	if c.Given != nil {
		return c.Given.Args, nil
	}
	if blank(c.Arguments) && len(shape.Fields) == 0 && !shape.Open {
		return map[string]any{}, nil
	}
	return canonical.ParseObject(c.Arguments)
}

func blank(text []byte) bool {
	s := string(text)
	for _, r := range s {
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			return s == "null"
		}
	}
	return true
}

// CheckTask says what is wrong with the name of a task; an empty one is none.
func CheckTask(task string) error {
	if len(task) > 800 || len([]rune(task)) > 200 {
		return errors.New("a task has a name of at most 200 characters")
	}
	if name, found := canonical.Invisible(task); found {
		return fmt.Errorf("the name of the task holds the invisible character %s", name)
	}
	if task != "" && canonical.Fold(task) == "" {
		return errors.New("the name of the task is empty")
	}
	return nil
}

// intent builds what the registering transaction needs.
func (t *Toolbox) intent(r prepared) (policy.Call, journal.Wish, error) {
	none := journal.Wish{}
	hashed, err := r.tool.Shape.Hashed(r.args)
	if err != nil {
		return policy.Call{}, none, refusal{err}
	}
	hash, err := canonical.RequestHash(r.account, r.tool.Name, hashed)
	if err != nil {
		return policy.Call{}, none, refusal{err}
	}
	identity, err := r.tool.Shape.Identity(r.args)
	if err != nil {
		return policy.Call{}, none, refusal{err}
	}
	task := r.task()
	scope := r.tool.scope(task, r.call.Turn)
	fields, err := t.fields(r, hashed)
	if err != nil {
		return policy.Call{}, none, refusal{err}
	}
	kin, err := r.tool.kin(r.account, task, fields)
	if err != nil {
		return policy.Call{}, none, refusal{err}
	}
	key, err := t.keys.mint(r.begun.Wall)
	if err != nil {
		return policy.Call{}, none, err
	}
	scopeText := string(canonical.MustBytes(scope))
	op := journal.Operation{
		Key: key, Number: canonical.OperationNumber(string(key), r.begun.Wall), Tool: r.tool.Name, Account: r.account,
		Scope: scopeText, Task: task, Turn: r.call.Turn, Kin: kin, RequestHash: hash, Declared: r.tool.declared, Position: r.call.Position,
		Status: journal.Pending, NeedsCaller: len(r.volatile) > 0, Fields: fields,
	}
	if op.Request, err = r.request(op); err != nil {
		return policy.Call{}, none, refusal{err}
	}
	args, err := canonical.Plain(r.args)
	if err != nil {
		return policy.Call{}, none, refusal{err}
	}
	call := policy.Call{Fresh: op, Hold: r.hold(), Args: args, Counts: r.tool.counts, Alive: func(k journal.Key) bool { return t.flight(k) != nil }, Volatile: slices.Sorted(maps.Keys(r.volatile)), Intent: func(seq int) canonical.Hash {
		h, err := canonical.IntentHash(r.account, r.tool.Name, scope, identity, seq)
		if err != nil {
			panic(err) // the same identity was hashed for the kin
		}
		return h
	}}
	wish := journal.Wish{Tool: r.tool.Name, Declared: r.tool.declared, Kin: kin, Scope: scopeText, Task: task, Position: r.call.Position}
	return call, wish, nil
}

func (r prepared) task() string {
	if r.call.Task == "" {
		return DefaultTask
	}
	return r.call.Task
}

// hold says why a person looks before anything is sent.
func (r prepared) hold() *journal.Wait {
	if r.tool == nil {
		return nil
	}
	if field, word := r.tool.Shape.Suspicious(r.args); field != "" {
		return &journal.Wait{Reason: "look_alike", Note: fmt.Sprintf("%s: the word %q mixes two alphabets", field, word)}
	}
	if why, asks := holds(r.tool.Facts.Approval, r.tool.condition, r.args); asks {
		return &journal.Wait{Reason: "approval", Note: why}
	}
	return nil
}

// fields keeps keyed digests of all fields, and the values of identity and money.
func (t *Toolbox) fields(r prepared, hashed map[string]any) ([]journal.Field, error) {
	var out []journal.Field
	add := func(f canonical.Field, name string, v any) error {
		field := journal.Field{Name: name, Role: f.Role, Short: canonical.IsShort(v)}
		var err error
		if field.Digest, err = canonical.Digest(t.digest, name, v); err != nil {
			return err
		}
		if field.Folded, err = canonical.Digest(t.digest, name, canonical.Folded(v)); err != nil {
			return err
		}
		if f.Role == canonical.Identity {
			field.Value = textOf(r.args[name])
		}
		if f.Money != "" {
			field.Money, field.Value = r.tool.Shape.Currency(f, r.args), textOf(r.args[name])
		}
		out = append(out, field)
		return nil
	}
	for _, f := range r.tool.Shape.Fields {
		if v, given := hashed[f.Name]; given {
			if err := add(f, f.Name, v); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hashed)) { // of an open shape: what it does not declare
		if r.tool.Shape.Field(name) == nil {
			if err := add(canonical.Field{}, name, hashed[name]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case canonical.Number:
		return string(v)
	}
	return string(canonical.MustBytes(v))
}
