package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/memjournal"
	"notwice/policy"
	"notwice/toolbox"
)

// simWorld is one history of a simulation: several processes of the product on one machine that share a journal, a provider, a
// person, and everything that goes wrong by plan. Nothing in it is real but the code that is judged.
type simWorld struct {
	turns
	plan   *simPlan
	kind   *simKind
	core   *fakeprovider.Core
	store  *memjournal.Store
	copied *memjournal.Store // nil: no copy was made
	random *rand.ChaCha8
	procs  []*process
	points []int

	offset, boot time.Duration // the wall clock is off by; the machine was started at
	booted, down time.Duration // by a reboot, the latest; it is off until
	boots        int
	writes       int // requests received
	looks        int
	settling     bool // faults have stopped
	jumped       bool

	sending map[journal.Key]int // attempts that are on the wire
	seen    map[string]int      // how often each thing that must sometimes happen did
	broken  []string
	facts   simFacts
	story   []Told // what happened, for people
	telling bool
}

// playSim plays one history to its end.
func playSim(p *simPlan, telling bool) (*simWorld, error) {
	kinds, err := simKinds()
	if err != nil {
		return nil, err
	}
	kind := kinds[p.Kind]
	core, err := fakeprovider.NewCore(kind.provider)
	if err != nil {
		return nil, err
	}
	var seed [32]byte
	for i := range 8 {
		seed[i], seed[8+i] = byte(p.Seed>>(8*i)), byte(p.N>>(8*i))
	}
	w := &simWorld{
		turns: *newTurns(p.Order), plan: p, kind: kind, core: core, store: memjournal.New(), random: rand.NewChaCha8(seed),
		procs: make([]*process, p.Procs), points: make([]int, p.Procs), sending: map[journal.Key]int{}, seen: map[string]int{}, telling: telling,
		facts: newSimFacts(),
	}
	for n := range p.Procs {
		w.begin(n, 1)
	}
	for _, a := range p.Acts {
		w.at(a.at, func() { w.act(a) })
	}
	w.run(w.horizon())
	w.settle()
	w.judge()
	return w, nil
}

// horizon is when the last act is a minute ago.
func (w *simWorld) horizon() (last time.Duration) {
	for _, a := range w.plan.Acts {
		last = max(last, a.at)
	}
	return last + time.Minute
}

func (w *simWorld) saw(what string) { w.seen[what]++ }

func (w *simWorld) tell(lane, format string, args ...any) {
	if w.telling {
		w.story = append(w.story, Told{w.now.Round(time.Millisecond), lane, fmt.Sprintf(format, args...)})
	}
}

func (w *simWorld) breaks(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.broken, text) {
		w.broken = append(w.broken, text)
	}
}

// failed looks at an error of the product: what the world did is no fault of its own.
func (w *simWorld) failed(err error) {
	for _, excused := range []error{journal.ErrFull, journal.ErrCommit, context.DeadlineExceeded, context.Canceled, toolbox.ErrUnrecorded} {
		if errors.Is(err, excused) {
			return
		}
	}
	if errors.Is(err, journal.ErrExternalIDTaken) {
		w.breaks("S22: an operation took what is another's: %v", err)
		return
	}
	w.breaks("an error: %v", err)
}

// act lets somebody do something.
func (w *simWorld) act(a simAct) {
	if w.settling {
		return
	}
	p := w.procs[a.proc]
	switch a.do {
	case "jump":
		w.offset += a.by
		w.jumped = true
		w.saw("clock jump")
		w.tell("machine", "the wall clock jumps by %s", a.by)
	case "stall":
		if p != nil && !p.dead {
			p.stalled = w.now + a.by
			w.tell("process", "process %d stands still for %s", p.n, a.by)
		}
	case "reboot":
		w.saw("reboot")
		w.tell("machine", "the machine goes down, and is back after %s", a.by)
		w.down = w.now + a.by
		w.boot, w.booted = w.down+time.Hour, w.down // its uptime begins at zero
		w.boots++
		for _, p := range w.procs {
			if p != nil {
				p.die(a.by)
			}
		}
	case "copy":
		w.copied = w.store.Copy()
	case "restore":
		w.restore()
	case "call":
		if p != nil && !p.dead {
			w.start(p, "call", func() { p.call(a) })
		}
	case "rule":
		if p != nil && !p.dead {
			w.start(p, "person", func() { w.person(p, a.pick) })
		}
	}
}

// restore gives the first process, or all of them, the journal as it was.
func (w *simWorld) restore() {
	if w.copied == nil {
		return
	}
	if w.plan.Limit == earlierState {
		for _, p := range w.procs {
			p.die(time.Second)
		}
		w.store = w.copied
		return
	}
	w.procs[0].die(time.Second)
	kept := w.store
	w.at(w.now+time.Second, func() { w.store = kept }) // right behind the new life's beginning
	w.store = w.copied
}

// person decides about one operation that waits. Whoever decides here knows the provider's books, and says nothing that is not
// true; a wrong ruling is beyond what can be promised.
func (w *simWorld) person(p *process, pick int) {
	queue, err := w.store.Review(context.Background(), 100)
	if err != nil || len(queue) == 0 {
		return
	}
	op := queue[pick%len(queue)]
	choices := policy.Choices(&op, w.wall())
	if len(choices) == 0 {
		return
	}
	ruling := toolbox.Ruling{Decision: choices[pick/7%len(choices)], By: "person", Wait: 5 * time.Second}
	if w.plan.Limit == wrongRuling && slices.Contains(choices, policy.Resend) {
		ruling.Decision = policy.Resend
	}
	if op.Question != nil && slices.Contains([]string{policy.Again, policy.SameWish, policy.Replace}, ruling.Decision) {
		ruling.RequestHash = op.Question.RequestHash
	}
	mine := w.ledger().effectsOf(op)
	switch ruling.Decision {
	case policy.Happened:
		if w.plan.Limit == wrongRuling {
			break
		}
		if len(mine) == 0 || mine[0].CreatedAt.After(Epoch.Add(w.now)) {
			return
		}
		ruling.ExternalID = mine[0].ID
	case policy.Resend, policy.Close, policy.Decline:
		if w.plan.Limit != wrongRuling && (len(mine) > 0 || w.sending[op.Key] > 0) {
			return
		}
	}
	if w.sending[op.Key] > 0 {
		w.saw("ruling races an answer")
	}
	w.tell("person", "decides %s of %s, which is %s", ruling.Decision, op.Number, op.Status)
	w.note(uint64(len(ruling.Decision)))
	_, err = p.tools.Rule(context.Background(), op.Key, ruling)
	var refused *policy.Refused
	switch {
	case errors.As(err, &refused):
	case err != nil:
		w.failed(err)
	default:
		w.saw("ruling " + ruling.Decision)
	}
}

// ledger is all that the provider did and will do of what it has begun.
func (w *simWorld) ledger() *facts {
	effects, err := w.core.Effects(Epoch.AddDate(100, 0, 0))
	if err != nil {
		w.breaks("the ledger cannot be read: %v", err)
	}
	return &facts{effects: effects}
}

// simExchange carries a request to the provider of the history in which it is made.
func simExchange(req *http.Request, first func() error) (*http.Response, error) {
	c, ok := req.Context().Value(simKey{}).(*simContext)
	if !ok {
		return nil, errors.New("this request belongs to no simulation")
	}
	return c.of.w.exchange(c, req, first)
}

// exchange is the wire. Between the sender's last look at its lease and the first byte nobody else has a turn: how long a sender
// may be suspended there is a limit of its own.
func (w *simWorld) exchange(c *simContext, req *http.Request, first func() error) (*http.Response, error) {
	look := req.Method == http.MethodGet
	n := &w.writes
	if look {
		n = &w.looks
	}
	w.pause(nil)
	*n++
	fault := w.plan.faultAt(look, *n)
	if w.settling {
		fault = nil
	}
	if fault != nil {
		w.saw("fault " + fault.do)
		w.tell("wire", "%s %s: %s", req.Method, req.URL.Path, fault.do)
	}
	if fault != nil && fault.do == "refuse" {
		w.sleep(c, time.Millisecond)
		return nil, syscall.ECONNREFUSED
	}
	if err := first(); err != nil {
		return nil, err
	}
	if !look {
		w.holds(w.current.sends)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	asked := fakeprovider.Request{Method: req.Method, Path: req.URL.Path, Query: req.URL.Query(), Header: req.Header, Body: body, Conn: "c" + strconv.Itoa(w.writes+w.looks)}
	if w.plan.Limit == suspendedSender && !look {
		w.pause(&waiting{until: w.now + time.Duration(w.order.IntN(120))*time.Second}) // as SIGSTOP does: its context is not looked at
	}
	w.arrives(req.Header.Get("Idempotency-Key"))
	answer := w.handle(asked, fault)
	if w.plan.Limit == deliveredTwice && !look {
		w.handle(asked, nil)
	}
	w.note(uint64(answer.Status), uint64(answer.Fate))
	w.tell("wire", "%s %s %s", req.Method, req.URL.RequestURI(), req.Header.Get("Idempotency-Key"))
	w.tell("provider", "%s %d", answer.Fate, answer.Status)
	return w.deliver(c, req, asked, answer)
}

// holds is S10 at the first byte: who sends is the holder of the one live attempt.
func (w *simWorld) holds(r toolbox.Request) {
	if op := w.facts.latest[journal.Key(r.Key)]; op == nil || op.AttemptCount != r.Attempt || op.Status != journal.InProgress {
		w.breaks("S10: attempt %d of operation %s is sent and does not hold it", r.Attempt, r.Number)
	}
}

// arrives notes when a key first came, and that it came once more when the provider had forgotten it.
func (w *simWorld) arrives(key string) {
	if first, was := w.facts.arrived[key]; !was {
		w.facts.arrived[key] = w.now
	} else if forget := w.kind.provider.ForgetAfter; forget > 0 && w.now-first > forget && key != "" {
		w.saw("forgotten key")
	}
}

// handle gives a request to the provider, with its fault.
func (w *simWorld) handle(asked fakeprovider.Request, fault *simFault) fakeprovider.Answer {
	if fault != nil {
		f := fault.with
		_, action, _ := strings.Cut(f.On, ".")
		kind, _, _ := strings.Cut(strings.TrimPrefix(asked.Path, "/"), "/")
		f.On = kind + "." + action
		if err := w.core.Arm(f); err != nil {
			w.breaks("a fault cannot be armed: %v", err)
		}
		defer w.core.ClearFaults()
	}
	return w.core.Handle(Epoch.Add(w.now), asked)
}

// deliver does to the request what the provider's answer says.
func (w *simWorld) deliver(c *simContext, req *http.Request, asked fakeprovider.Request, a fakeprovider.Answer) (*http.Response, error) {
	w.sleep(c, time.Duration(w.order.IntN(50))*time.Millisecond)
	if !a.Until.IsZero() {
		w.sleep(c, a.Until.Sub(Epoch)-w.now)
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	if a.Resume {
		a = w.core.Resume(Epoch.Add(w.now), asked)
	}
	switch a.Fate {
	case fakeprovider.Hold:
		w.pause(&waiting{until: never, ctx: c})
		return nil, c.Err()
	case fakeprovider.Reset, fakeprovider.Refuse:
		return nil, syscall.ECONNRESET
	}
	if a.Fate != fakeprovider.Cut {
		w.current.heard = a.Status
	}
	res := &http.Response{
		StatusCode: a.Status, Status: strconv.Itoa(a.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.Header, Request: req, ContentLength: -1, Body: &simBody{w: w, ctx: c, pieces: a.Pieces, every: a.Every, cut: a.Fate == fakeprovider.Cut},
	}
	return res, nil
}

// simBody is an answer that comes in pieces.
type simBody struct {
	w      *simWorld
	ctx    *simContext
	pieces [][]byte
	every  time.Duration
	begun  bool
	cut    bool
	now    bytes.Reader
}

func (b *simBody) Read(to []byte) (int, error) {
	for b.now.Len() == 0 {
		switch {
		case len(b.pieces) == 0 && b.cut:
			return 0, io.ErrUnexpectedEOF
		case len(b.pieces) == 0:
			return 0, io.EOF
		}
		if b.begun && b.every > 0 {
			b.w.sleep(b.ctx, b.every)
			if b.ctx.Err() != nil {
				return 0, b.ctx.Err()
			}
		}
		b.begun = true
		b.now.Reset(b.pieces[0])
		b.pieces = b.pieces[1:]
	}
	return b.now.Read(to)
}

func (b *simBody) Close() error { return nil }
