package toolbox

import (
	"context"
	"fmt"
	"time"

	"notwice/canonical"
	"notwice/journal"
	"notwice/policy"
)

// Ruling is a person's decision about an operation. Whoever fills it has asked a person; nothing that a model writes becomes
// one.
type Ruling struct {
	Decision    string // FORMATS §4: happened, resend, close, wait, approve, decline, replace, same, again, seen, same_account
	By, Why     string
	Shown       string         // what the person was shown, in short
	Episode     string         // policy.Episode of what was shown; empty: as it stands
	RequestHash canonical.Hash // of the request that was shown; empty: the one that the decision is about
	ExternalID  string         // happened
	For         time.Duration  // wait
	Wait        time.Duration  // how much longer than an attempt that it lets go the ruling looks and retries
}

// Rule takes a person's decision. Where it lets a request go, the request is sent here and the result says how it ended.
// Errors: policy.Refused, when nothing was decided; ErrNotFound and the other errors of the journal.
func (t *Toolbox) Rule(ctx context.Context, key journal.Key, r Ruling) (Result, error) {
	if r.By == "" {
		return Result{}, &policy.Refused{Why: "a ruling names who decided"}
	}
	pr := policy.Ruling{Decision: r.Decision, By: r.By, Why: r.Why, Shown: r.Shown, Episode: r.Episode, RequestHash: r.RequestHash, ExternalID: r.ExternalID, For: r.For}
	switch r.Decision {
	case policy.Replace:
		return t.replace(ctx, key, pr, r.Wait)
	case policy.Again:
		if err := t.newest(ctx, key); err != nil {
			return Result{}, fmt.Errorf("operation %s: %w", key, err)
		}
	}
	var d policy.Decision
	var p policy.Policy
	err := t.journal.DecideByKey(ctx, t.clock.Now().Wall, key, func(k journal.Known) (journal.Change, error) {
		_, p = t.toolOf(k.Operation)
		if err := t.elsewhere(k.Operation); err != nil && policy.Sends(r.Decision) {
			return journal.Change{}, &policy.Refused{Why: err.Error()}
		}
		var err error
		d, err = policy.OnRule(k, pr, p, t.now(k))
		return d.Change, err
	})
	if err != nil {
		return Result{}, fmt.Errorf("operation %s: %w", key, err)
	}
	return t.follow(ctx, d, p, r.Wait)
}

// newest refuses leave to repeat what something newer of the same wish has followed: leave belongs to the newest, and on an older
// one it would never be used.
func (t *Toolbox) newest(ctx context.Context, key journal.Key) error {
	op, err := t.journal.Get(ctx, key)
	if err != nil {
		return err
	}
	kin, _, err := t.journal.List(ctx, journal.Query{Tool: op.Tool, Kin: op.Kin, Limit: 50})
	if err != nil {
		return err
	}
	for _, other := range kin {
		if other.Key > op.Key && other.Scope == op.Scope {
			return &policy.Refused{Why: fmt.Sprintf("%s follows it; decide about that one", other.Number)}
		}
	}
	return nil
}

// replace drops an unsent request and sends the one of its question.
func (t *Toolbox) replace(ctx context.Context, key journal.Key, pr policy.Ruling, wait time.Duration) (Result, error) {
	old, err := t.journal.Get(ctx, key)
	if err != nil {
		return Result{}, fmt.Errorf("operation %s: %w", key, err)
	}
	if err := t.elsewhere(&old); err != nil {
		return Result{}, fmt.Errorf("operation %s: %w", key, &policy.Refused{Why: err.Error()})
	}
	r, err := t.asked(&old)
	if err != nil {
		return Result{}, fmt.Errorf("operation %s: %w", key, &policy.Refused{Why: err.Error()})
	}
	call, wish, err := t.intent(r)
	if err != nil {
		return Result{}, fmt.Errorf("operation %s: %w", key, &policy.Refused{Why: err.Error()})
	}
	var d policy.Decision
	err = t.decide(ctx, r.tool, wish, func(k journal.Known) (journal.Change, error) {
		var err error
		d, err = policy.OnReplace(k, key, pr, call, r.policy, t.now(k))
		return d.Change, err
	})
	if err != nil {
		return Result{}, fmt.Errorf("operation %s: %w", key, err)
	}
	return t.follow(ctx, d, r.policy, wait)
}

// asked is the call of an operation's question, ready to be registered: it was judged when it was asked. Volatile fields are named,
// without their values.
func (t *Toolbox) asked(op *journal.Operation) (prepared, error) {
	q, tl := op.Question, t.tool(op.Tool)
	switch {
	case tl == nil:
		return prepared{}, fmt.Errorf("there is no tool %q", op.Tool)
	case q == nil:
		return prepared{}, fmt.Errorf("nothing else was asked for")
	}
	args, err := canonical.ParseLimit(q.Args, canonical.MaxWrappedSize)
	if err != nil {
		return prepared{}, fmt.Errorf("%w: question of operation %s: %v", journal.ErrDamaged, op.Key, err)
	}
	given, ok := args.(map[string]any)
	if !ok {
		return prepared{}, fmt.Errorf("%w: question of operation %s", journal.ErrDamaged, op.Key)
	}
	r := prepared{
		call: Call{Tool: op.Tool, Task: q.Task, Turn: q.Turn}, tool: tl, policy: t.policyOf(tl), args: given, volatile: map[string]any{},
		account: op.Account, begun: t.clock.Now(),
	}
	for _, name := range q.Volatile {
		r.volatile[name] = ""
	}
	return r, nil
}

// follow goes on with a decision that a person made.
func (t *Toolbox) follow(ctx context.Context, d policy.Decision, p policy.Policy, wait time.Duration) (Result, error) {
	op := *d.Operation
	t.told(d)
	if d.Do != policy.Send {
		return t.Report(op), nil
	}
	r := prepared{call: Call{Tool: op.Tool, Task: op.Task, Turn: op.Turn, Wait: wait}, tool: t.tool(op.Tool), policy: p, begun: t.clock.Now()}
	if request, err := t.requestOf(&op); err == nil {
		r.args = request.Args
	}
	return t.pursue(ctx, r, d)
}

// RequestHash is the hash of what a call asks for: what an approval or a permit is bound to. Error: the call is refused.
func (t *Toolbox) RequestHash(c Call) (canonical.Hash, error) {
	r, err := t.prepare(c)
	if err != nil {
		return "", err
	}
	hashed, err := r.tool.Shape.Hashed(r.args)
	if err != nil {
		return "", err
	}
	return canonical.RequestHash(r.account, r.tool.Name, hashed)
}

// Requests are the arguments that a person is shown: those that are registered, nil once the operation is final, and those of
// its question, nil where there is none.
func (t *Toolbox) Requests(op journal.Operation) (registered, asked map[string]any, err error) {
	if op.Request != nil {
		r, err := t.requestOf(&op)
		if err != nil {
			return nil, nil, err
		}
		registered = r.Args
	}
	if op.Question != nil {
		v, err := canonical.ParseLimit(op.Question.Args, canonical.MaxWrappedSize)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: question of operation %s: %v", journal.ErrDamaged, op.Key, err)
		}
		asked, _ = v.(map[string]any)
	}
	return registered, asked, nil
}
