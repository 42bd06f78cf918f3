package scenarios

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
)

// simPlan is what happens in one history, all of it chosen beforehand from one number. Anything in it can be taken out without
// moving the rest, so that a history that breaks a rule can be shrunk to what it needs.
type simPlan struct {
	Seed, N  uint64
	Kind     int // of simKinds
	Procs    int
	Order    uint64 // seed of the interleaving
	Limit    string // what happens against which nothing can be promised; empty: nothing of the kind
	Acts     []simAct
	Faults   []simFault
	Crashes  []simCrash
	Failures []simFailure
}

// simAct is one thing that somebody does.
type simAct struct {
	at        time.Duration
	proc      int
	do        string // call, rule, jump, stall, reboot
	wish      simWish
	bend      string // how the call differs from the wish; empty: not at all
	arguments []byte
	asks      map[string]any // the same, before it was a text
	task      string
	turn      int
	wait      time.Duration
	givesUp   time.Duration // 0: never
	by        time.Duration // jump, stall
	pick      int           // rule: which operation and which decision
}

// simFault strikes the n-th request of a sort.
type simFault struct {
	look bool
	n    int
	do   string // refuse, or a fault of the provider
	with fakeprovider.Fault
}

// simCrash kills a process at its n-th point.
type simCrash struct {
	proc, point int
	restart     time.Duration
}

// simFailure lets the n-th write of a process to the journal fail.
type simFailure struct {
	proc, write int
	how         int
}

const (
	failsNot       = iota
	failsBefore    // nothing was decided
	failsUnwritten // it was decided, and not written
	failsAfter     // it was written nevertheless
)

func (p *simPlan) crashAt(proc, point int) *simCrash {
	for i := range p.Crashes {
		if c := &p.Crashes[i]; c.proc == proc && c.point == point {
			return c
		}
	}
	return nil
}

func (p *simPlan) failureAt(proc, write int) int {
	for _, f := range p.Failures {
		if f.proc == proc && f.write == write {
			return f.how
		}
	}
	return failsNot
}

func (p *simPlan) faultAt(look bool, n int) *simFault {
	for i := range p.Faults {
		if f := &p.Faults[i]; f.look == look && f.n == n {
			return f
		}
	}
	return nil
}

// draw makes the plan of history n under a seed.
func draw(seed, n uint64, kinds []*simKind, limit string) *simPlan {
	r := rand.New(rand.NewPCG(seed, n))
	p := &simPlan{Seed: seed, N: n, Kind: r.IntN(len(kinds)), Procs: 1 + r.IntN(3), Order: r.Uint64(), Limit: limit}
	kind := kinds[p.Kind]
	horizon := time.Duration(5+r.IntN(60)) * time.Second
	for range 3 + r.IntN(8) {
		p.Acts = append(p.Acts, drawAct(r, kind, p.Procs, horizon))
	}
	for range 1 + r.IntN(3) { // a model asks again
		again := p.Acts[r.IntN(len(p.Acts))]
		again.at, again.proc = time.Duration(r.Int64N(int64(2*horizon))), r.IntN(p.Procs)
		p.Acts = append(p.Acts, again)
	}
	slices.SortStableFunc(p.Acts, func(a, b simAct) int { return int(a.at - b.at) })
	p.drawFaults(r, kind)
	p.drawLimit(r)
	for range max(0, r.IntN(5)-2) {
		p.Crashes = append(p.Crashes, simCrash{r.IntN(p.Procs), 1 + r.IntN(60), time.Duration(r.IntN(10000)) * time.Millisecond})
	}
	for range max(0, r.IntN(8)-6) {
		p.Failures = append(p.Failures, simFailure{r.IntN(p.Procs), 1 + r.IntN(12), failsBefore + r.IntN(3)})
	}
	return p
}

func drawAct(r *rand.Rand, kind *simKind, procs int, horizon time.Duration) simAct {
	a := simAct{at: time.Duration(r.Int64N(int64(horizon))), proc: r.IntN(procs), do: "call", pick: r.IntN(1 << 16)}
	switch d := r.IntN(100); {
	case d < 70:
		a.drawCall(r, kind)
	case d < 86:
		a.do = "rule"
		a.at += time.Duration(r.IntN(3)) * 10 * time.Minute
	case d < 91:
		a.do, a.by = "jump", pickOf(r, []time.Duration{time.Second, -time.Second, time.Minute, -time.Minute, 24 * time.Hour, -24 * time.Hour, 10 * 365 * 24 * time.Hour, -10 * 365 * 24 * time.Hour})
	case d < 98:
		a.do, a.by = "stall", time.Duration(1+r.IntN(90))*time.Second
	default:
		a.do, a.by = "reboot", time.Duration(r.IntN(20))*time.Second
	}
	return a
}

func pickOf[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (a *simAct) drawCall(r *rand.Rand, kind *simKind) {
	a.wish = pickOf(r, kind.wishes)
	a.task, a.turn = pickOf(r, []string{"", "", "one", "two"}), r.IntN(3)
	a.wait = time.Duration(r.IntN(4)) * 5 * time.Second
	if r.IntN(4) == 0 {
		a.givesUp = time.Duration(1+r.IntN(15000)) * time.Millisecond
	}
	change := map[string]any{}
	switch a.bend = pickOf(r, []string{"", "", "", "", "reword", "cent", "key", "order"}); a.bend {
	case "reword":
		change[a.wish.prose] = pickOf(r, []string{"the same, in other words", "once more, please"})
	case "cent":
		if _, has := a.wish.args["amount_minor"]; has {
			change["amount_minor"] = canonical.Number("490100")
			if a.wish.args["currency"] == "JPY" { // what a float cannot tell apart
				change["amount_minor"] = canonical.Number("9007199254740992")
			}
		}
	case "key":
		change[pickOf(r, modelKeys)] = inventedKey
	}
	a.asks = maps.Clone(a.wish.args)
	maps.Copy(a.asks, change)
	a.arguments = canonical.MustBytes(a.asks)
	if a.bend == "order" { // other bytes, the same meaning
		a.arguments = []byte(" " + strings.ReplaceAll(string(a.arguments), ",", " ,\n "))
	}
}

// inventedKey is what a model gives as a key of its own. It must never leave.
const inventedKey = "a-fresh-key-of-the-model"

var modelKeys = []string{"idempotency_key", "operation_key", "key", "request_id"}

// drawFaults lets requests go wrong, in most histories some, in a few nearly all.
func (p *simPlan) drawFaults(r *rand.Rand, kind *simKind) {
	often := pickOf(r, []int{0, 10, 25, 50, 90})
	for n := 1; n <= 24; n++ {
		for _, look := range []bool{false, true} {
			if r.IntN(100) >= often {
				continue
			}
			list := kind.wrongWrites
			if look {
				list = kind.wrongLooks
			}
			f := pickOf(r, list)
			f.look, f.n = look, n
			p.Faults = append(p.Faults, f)
		}
	}
}

// simLimits are the limits of DESIGN §6 that a simulation can cross, each by name.
var simLimits = []string{
	suspendedSender, lateBeyondWindow, deliveredTwice, lyingLookup, wrongRuling, twoCopies, earlierState,
}

const (
	suspendedSender  = "a sender is suspended between its last look and its first byte"
	lateBeyondWindow = "the provider executes later than its declared window"
	deliveredTwice   = "the network delivers a request twice"
	lyingLookup      = "a look-up that is declared complete finds nothing"
	wrongRuling      = "a person's ruling is wrong"
	twoCopies        = "two copies of one journal are used at once"
	earlierState     = "the whole machine goes back to an earlier state"
)

// drawLimit adds what the limit needs; the plan is otherwise the same as without.
func (p *simPlan) drawLimit(r *rand.Rand) {
	switch p.Limit {
	case lateBeyondWindow:
		for n := 1; n <= 24; n += 2 {
			p.setFault(simFault{n: n, do: "late_commit", with: fakeprovider.Fault{On: "payments.create", Do: "late_commit", After: time.Duration(1+r.IntN(60)) * time.Minute}})
		}
	case lyingLookup:
		for n := 1; n <= 24; n++ {
			p.setFault(simFault{n: n, look: true, do: "lookup_empty", with: fakeprovider.Fault{On: "payments.search", Do: "lookup_empty"}})
		}
	case wrongRuling:
		for range 8 {
			p.Acts = append(p.Acts, simAct{at: time.Duration(r.IntN(40)) * time.Minute, do: "rule", proc: r.IntN(p.Procs), pick: r.IntN(1 << 16)})
		}
	case twoCopies, earlierState:
		p.Acts = append(p.Acts, simAct{at: time.Duration(r.IntN(20)) * time.Second, do: "copy"}, simAct{at: time.Duration(20+r.IntN(20)) * time.Second, do: "restore"})
	}
}

func (p *simPlan) setFault(f simFault) {
	p.Faults = slices.DeleteFunc(p.Faults, func(old simFault) bool { return old.look == f.look && old.n == f.n })
	p.Faults = append(p.Faults, f)
}

// parts are how many things can be taken out, and the plan without one of them.
func (p *simPlan) parts() int {
	return len(p.Acts) + len(p.Faults) + len(p.Crashes) + len(p.Failures)
}

func (p *simPlan) without(i int) *simPlan {
	less := *p
	cut := func(n int) (int, bool) {
		if i < n {
			return i, true
		}
		i -= n
		return 0, false
	}
	if at, here := cut(len(p.Acts)); here {
		less.Acts = slices.Delete(slices.Clone(p.Acts), at, at+1)
	} else if at, here := cut(len(p.Faults)); here {
		less.Faults = slices.Delete(slices.Clone(p.Faults), at, at+1)
	} else if at, here := cut(len(p.Crashes)); here {
		less.Crashes = slices.Delete(slices.Clone(p.Crashes), at, at+1)
	} else if at, here := cut(len(p.Failures)); here {
		less.Failures = slices.Delete(slices.Clone(p.Failures), at, at+1)
	}
	return &less
}

// String is a plan for people.
func (p *simPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, history %d: provider %q, %d processes\n", p.Seed, p.N, simKindFacts[p.Kind].name, p.Procs)
	for _, a := range p.Acts {
		fmt.Fprintf(&b, "  %9s  process %d: %s\n", a.at.Round(time.Millisecond), a.proc, a)
	}
	for _, f := range p.Faults {
		what := "write"
		if f.look {
			what = "look-up"
		}
		fmt.Fprintf(&b, "  %s %d: %s\n", what, f.n, f.do)
	}
	for _, c := range p.Crashes {
		fmt.Fprintf(&b, "  process %d dies at its point %d, and is back after %s\n", c.proc, c.point, c.restart)
	}
	for _, f := range p.Failures {
		fmt.Fprintf(&b, "  process %d: write %d to the journal fails, %s\n", f.proc, f.write, []string{"", "undecided", "unwritten", "but is written"}[f.how])
	}
	return b.String()
}

func (a simAct) String() string {
	switch a.do {
	case "call":
		text := fmt.Sprintf("call %s %s, task %q, turn %d, wait %s", a.wish.tool, strings.Join(strings.Fields(string(a.arguments)), ""), a.task, a.turn, a.wait)
		if a.givesUp > 0 {
			text += ", gives up after " + a.givesUp.String()
		}
		return text
	case "jump":
		return "the wall clock jumps by " + a.by.String()
	case "stall":
		return "stands still for " + a.by.String()
	case "reboot":
		return "the machine starts again after " + a.by.String()
	}
	if a.do == "rule" {
		return "a person decides"
	}
	return a.do + " the journal"
}
