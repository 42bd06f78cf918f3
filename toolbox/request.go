package toolbox

import (
	"fmt"
	"regexp"

	"notwice/canonical"
	"notwice/journal"
)

// stored is what the journal keeps of a request until the operation is final.
type stored struct {
	Args canonical.Raw `json:"args"`
	Wire canonical.Raw `json:"wire,omitzero"`
}

// request builds the request that every attempt of an operation sends.
func (r prepared) request(op journal.Operation) (canonical.Raw, error) {
	args, err := canonical.Plain(r.args)
	if err != nil {
		return nil, err
	}
	s := stored{Args: args}
	if b, ok := r.tool.Tool.(Builder); ok {
		if s.Wire, err = b.Build(Request{Tool: op.Tool, Key: string(op.Key), Number: op.Number, Args: r.args, Volatile: r.volatile}); err != nil {
			return nil, err
		}
	}
	return canonical.EncodeRecord(s)
}

// requestOf brings a registered request back. A final operation has none any more: its identity and money values stand in.
func (t *Toolbox) requestOf(op *journal.Operation) (Request, error) {
	r := Request{
		Tool: op.Tool, Key: string(op.Key), Number: op.Number, Attempt: op.AttemptCount, FirstSent: op.FirstSent,
		Secret: t.secrets, Before: func() error { return nil }, Args: map[string]any{},
	}
	if op.Request == nil {
		tool := t.tool(op.Tool)
		for _, f := range op.Fields {
			if f.Value == "" {
				continue
			}
			r.Args[f.Name] = f.Value
			if tool == nil {
				continue
			}
			if declared := tool.Shape.Field(f.Name); declared != nil && (declared.Type == "integer" || declared.Type == "number") {
				r.Args[f.Name] = canonical.Number(f.Value)
			}
		}
		return r, nil
	}
	var s stored
	if err := canonical.DecodeRecord(op.Request, &s); err != nil {
		return r, fmt.Errorf("%w: request of operation %s: %v", journal.ErrDamaged, op.Key, err)
	}
	args, err := canonical.ParseLimit(s.Args, canonical.MaxWrappedSize)
	if err != nil {
		return r, fmt.Errorf("%w: request of operation %s: %v", journal.ErrDamaged, op.Key, err)
	}
	r.Args, _ = args.(map[string]any)
	r.Wire = s.Wire
	return r, nil
}

var ours = regexp.MustCompile(`(?i)(idempoten(ce|cy)|operation_?key|client_?token|clientrequesttoken|request_?id|dedup|(^|_)(approved?|approval|permit|force|retry|operation_state|state_override)($|_))`)

// forbidden refuses arguments by which a model would play at keys, states or approvals. Where the tool itself declares such
// a field it is the provider's, and fine.
func forbidden(shape canonical.Shape, args map[string]any) error {
	if shape.Open {
		return nil
	}
	for name := range args {
		if shape.Field(name) == nil && ours.MatchString(name) {
			return &canonical.Problem{Field: name, What: "this is not for the caller to give",
				Hint: "Notwice makes and keeps the key itself, and only a person approves or repeats; call again without it"}
		}
	}
	return nil
}
