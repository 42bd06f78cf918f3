package toolbox

import (
	"context"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// Declaration is a tool as the toolbox and the model know it.
type Declaration struct {
	Name        string // of the tool and of its action
	Description string
	Facts       Facts
	Shape       canonical.Shape
	Schema      map[string]any // JSON Schema of the arguments that a caller may give
}

// Tool speaks to one provider. It reports what it saw and decides nothing. Its methods may be called at the same time.
type Tool interface {
	Declare() Declaration
	// Send makes one external call. For a write it must call r.Before right before the first byte and send nothing when
	// that fails. It returns when the answer is classified or ctx ends; a write whose ctx ended after the first byte is
	// unknown. It must not send twice.
	Send(ctx context.Context, r Request) Answer
}

// Builder is a Tool whose request is built once, at registration, so that every attempt sends the same bytes. Wire is kept
// in the journal: secrets and volatile fields stand in it as references.
type Builder interface {
	Build(r Request) (wire canonical.Raw, err error)
}

// Lookuper is a Tool that can ask its provider what happened.
type Lookuper interface {
	// Lookup asks about r and reads all pages. known, where not nil, is a finished operation of the same tool: the look-up
	// also asks for it in the same pass, to show that the query finds what is there.
	Lookup(ctx context.Context, r Request, known *Request) Sighting
}

// Request is what an attempt, a read or a look-up needs. For reads Key and Number are empty.
type Request struct {
	Tool      string
	Key       string
	Number    string
	Attempt   int
	Args      map[string]any // normalised
	Volatile  map[string]any // of the caller at hand; nil when nobody calls
	Wire      canonical.Raw
	FirstSent time.Time
	Secret    func(name string) (string, error)
	Before    func() error
}

// Answer is what one external call showed, classified by the tool's own rules (DESIGN §5).
type Answer struct {
	Outcome    journal.Outcome
	Word       string // why unknown: accepted, running, exists, conflict
	Reason     string // machine word, such as `timeout`
	ExternalID string
	Result     canonical.Raw
	RetryAfter time.Duration
	ForKey     bool   // the provider marks the answer as speaking for the key
	Waits      string // not_sent that waits for somebody, such as the owner of a secret
	Text       string // for a person: what was seen, without escape codes
}

// Sighting is what a look-up showed, all pages together.
type Sighting struct {
	Failed   string // machine word; empty: it answered
	Found    []Match
	AllPages bool
	Known    bool // the known operation was found by the same query
}

// Match is one candidate and by what it was recognised: key, reference, unique or signs.
type Match struct {
	journal.Candidate
	By      string
	Undated bool          // the provider dates its objects, and this one's date cannot be read
	Result  canonical.Raw // what the tool keeps of it
}

// Wire is the seam through which everything leaves. A simulation wraps it.
type Wire interface {
	Send(ctx context.Context, t Tool, r Request) Answer
	Read(ctx context.Context, t Tool, r Request) Answer
	Lookup(ctx context.Context, t Lookuper, r Request, known *Request) Sighting
}

// DirectWire calls the tools.
func DirectWire() Wire { return directWire{} }

type directWire struct{}

func (directWire) Send(ctx context.Context, t Tool, r Request) Answer { return t.Send(ctx, r) }
func (directWire) Read(ctx context.Context, t Tool, r Request) Answer { return t.Send(ctx, r) }
func (directWire) Lookup(ctx context.Context, t Lookuper, r Request, known *Request) Sighting {
	return t.Lookup(ctx, r, known)
}
