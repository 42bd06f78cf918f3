package toolbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// How the operations of a tool are found follows from its declaration: which fields name the business thing, what the others
// mean, and the scope. Everything here works from the digests that an operation keeps, so that a declaration which changes
// later finds what was registered before it.

// fingerprint names a declaration, as far as finding operations goes.
func (tl *tool) fingerprint() string {
	roles := map[string]any{}
	for _, f := range tl.Shape.Fields {
		roles[f.Name] = []any{string(f.Role), f.Set, f.Money}
	}
	sum, err := canonical.KinHash("", tl.Name, map[string]any{"roles": roles, "scope": tl.scopeKind(), "open": tl.Shape.Open})
	if err != nil {
		panic(err) // names and booleans only
	}
	return string(sum)
}

// scopeKind is journal, task or turn.
func (tl *tool) scopeKind() string {
	switch {
	case tl.Facts.Scope != "":
		return tl.Facts.Scope
	case tl.Shape.HasIdentity():
		return "journal"
	}
	return "task"
}

// scope is the scope of a call or an operation, as the intent names it. Where a caller has no turns, a turn is the task.
func (tl *tool) scope(task string, turn int) []any {
	switch kind := tl.scopeKind(); {
	case kind == "journal":
		return []any{"journal"}
	case kind == "turn" && turn > 0:
		return []any{"turn", task, turn}
	}
	return []any{"task", task}
}

// kin groups what may be the same wish: by identity, or for a tool without one by its short fields within the task.
func (tl *tool) kin(account, task string, fields []journal.Field) (canonical.Hash, error) {
	if tl.Shape.HasIdentity() {
		return canonical.KinHash(account, tl.Name, journal.DigestsOf(fields, tl.identity()))
	}
	short := map[string]any{}
	for _, f := range fields {
		if f.Short && tl.counts(f.Name) {
			short[f.Name] = f.Digest
		}
	}
	return canonical.KinHash(account, tl.Name, map[string]any{"task": task, "short": short})
}

func (tl *tool) identity() (names []string) {
	for _, f := range tl.Shape.Fields {
		if f.Role == canonical.Identity {
			names = append(names, f.Name)
		}
	}
	return names
}

// counts reports whether a field is part of the request: declared, or of an open shape, and not volatile.
func (tl *tool) counts(name string) bool {
	if f := tl.Shape.Field(name); f != nil {
		return f.Role != canonical.Volatile
	}
	return tl.Shape.Open
}

// place says where an operation belongs under the tool's declaration of today.
func (t *Toolbox) place(tl *tool) func(journal.Operation) (journal.Place, error) {
	return func(op journal.Operation) (journal.Place, error) {
		kin, err := tl.kin(op.Account, op.Task, t.fieldsOf(&op))
		return journal.Place{Kin: kin, Scope: string(canonical.MustBytes(tl.scope(op.Task, op.Turn)))}, err
	}
}

// fieldsOf are the fields of an operation. Records of the first version kept folded digests of identity fields only; while the
// request is there, the others are made up for.
func (t *Toolbox) fieldsOf(op *journal.Operation) []journal.Field {
	complete := !slices.ContainsFunc(op.Fields, func(f journal.Field) bool { return f.Folded == "" })
	if complete || op.Request == nil {
		return op.Fields
	}
	r, err := t.requestOf(op)
	if err != nil {
		return op.Fields
	}
	fields := slices.Clone(op.Fields)
	for i := range fields {
		f := &fields[i]
		v, given := r.Args[f.Name]
		if !given || f.Folded != "" {
			continue
		}
		f.Short = canonical.IsShort(v)
		if folded, err := canonical.Digest(t.digest, f.Name, canonical.Folded(v)); err == nil {
			f.Folded = folded
		}
	}
	return fields
}

// decide runs a transaction by intent. Operations that are indexed under another declaration are indexed anew first: by this
// process or, when two with different declarations share a journal, by turns.
func (t *Toolbox) decide(ctx context.Context, tl *tool, w journal.Wish, decide journal.Decide) error {
	const turns = 50
	for n := 1; ; n++ {
		err := t.journal.DecideByIntent(ctx, t.clock.Now().Wall, w, decide)
		if !errors.Is(err, journal.ErrDeclared) || n == turns {
			return err
		}
		if n > 1 { // another process indexes them its own way at this moment
			if err := t.clock.Wait(ctx, t.clock.Now().Wall.Add(time.Duration(n)*time.Millisecond), nil); err != nil {
				return err
			}
		}
		if err := t.journal.Declare(ctx, t.clock.Now().Wall, tl.Name, w.Declared, t.place(tl)); err != nil {
			return fmt.Errorf("index the operations of %s under its new declaration: %w", tl.Name, err)
		}
	}
}
