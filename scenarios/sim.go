package scenarios

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// A simulation plays many histories of the whole toolbox: several processes share one journal, a provider misbehaves, clocks are set,
// processes die, and a person decides now and then. In a first phase everything may go wrong; then faults stop and everything must
// come to rest. A seed chooses all of it, the interleaving at every seam too, so that it can be played again.

// SimOptions say what to simulate; the zero value is 10,000 histories of seed 0.
type SimOptions struct {
	Seed      uint64
	Histories int           // 0: 10,000, or as many as fit where there is a Length
	Length    time.Duration // stop after this time; 0: no limit
	Told      func(done, all int)
}

// SimReport is what came of a simulation.
type SimReport struct {
	V          int            `json:"v"`
	Seed       uint64         `json:"seed"`
	Histories  int            `json:"histories"`
	Operations int            `json:"operations"`
	Effects    int            `json:"effects"`
	Duplicates int            `json:"duplicates"` // effects of one operation beyond the first
	Waiting    int            `json:"waiting"`    // operations that wait for a person at the end
	Violations []SimViolation `json:"violations"`
	Broken     int            `json:"broken"` // histories with a violation; only the first few are listed
	Seconds    float64        `json:"seconds"`
	PerHour    int            `json:"histories_per_cpu_hour"`
	Trace      string         `json:"trace_hash"`
	Sometimes  map[string]int `json:"sometimes"`        // how often each thing happened
	Never      []string       `json:"never,omitempty"`  // what must happen sometimes, and did not
	Limits     []SimLimit     `json:"limits,omitempty"` // histories beyond what can be promised, run apart
}

// SimViolation is a history that broke a rule.
type SimViolation struct {
	History uint64   `json:"history"`
	Broken  []string `json:"broken"`
	Shrunk  string   `json:"shrunk"` // the least of its plan that still breaks the rule
}

// SimLimit counts what one of the limits of DESIGN §6 costs.
type SimLimit struct {
	Name       string `json:"name"`
	Histories  int    `json:"histories"`
	Effects    int    `json:"effects"`
	Duplicates int    `json:"duplicates"`
	Unknown    int    `json:"unknown"` // effects under a key or number of which the journal knows nothing
	Broken     int    `json:"broken"`  // histories in which some invariant did not hold
}

// enoughForAll is from how many histories on everything that must sometimes happen must have happened.
const enoughForAll = 100_000

const listedViolations = 10

// ended is what is kept of one history.
type simEnd struct {
	trace                                    uint64
	operations, effects, duplicates, waiting int
	unknown                                  int // effects that bear a key or number, and are no operation's
	broken                                   []string
}

// Simulate plays histories until there are enough or the time is over. Error: the worlds cannot be made.
func Simulate(ctx context.Context, o SimOptions) (SimReport, error) {
	r := SimReport{V: 1, Seed: o.Seed, Sometimes: map[string]int{}, Violations: []SimViolation{}}
	kinds, err := simKinds()
	if err != nil {
		return r, err
	}
	all := o.Histories
	if all == 0 && o.Length == 0 {
		all = 10_000
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // histories leave much garbage and keep nothing
	began := time.Now()
	trace := newTurns(0)
	const chunk = 256
	for r.Histories < all || all == 0 {
		if ctx.Err() != nil || o.Length > 0 && time.Since(began) > o.Length {
			break
		}
		n := chunk
		if all > 0 {
			n = min(chunk, all-r.Histories)
		}
		ends, err := r.play(kinds, "", uint64(r.Histories), n)
		if err != nil {
			return r, err
		}
		for i, e := range ends {
			trace.note(e.trace)
			r.add(uint64(r.Histories+i), e)
		}
		r.Histories += n
		if o.Told != nil {
			o.Told(r.Histories, all)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	r.PerHour = int(float64(r.Histories) / r.Seconds * 3600 / float64(runtime.GOMAXPROCS(0)))
	r.Trace = fmt.Sprintf("%016x", trace.trace)
	for _, name := range must {
		if r.Sometimes[name] == 0 {
			r.Never = append(r.Never, name)
		}
	}
	slices.Sort(r.Never)
	return r, ctx.Err()
}

// OK reports whether nothing broke and, where there were enough histories, everything happened that must sometimes.
func (r SimReport) OK() bool {
	return r.Broken == 0 && (r.Histories < enoughForAll || len(r.Never) == 0)
}

// play plays some histories beside each other.
func (r *SimReport) play(kinds []*simKind, limit string, from uint64, n int) ([]simEnd, error) {
	ends, seen, errs := make([]simEnd, n), make([]map[string]int, runtime.GOMAXPROCS(0)), make([]error, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for worker := range seen {
		seen[worker] = map[string]int{}
		wg.Go(func() {
			for i := worker; i < n; i += len(seen) {
				p := draw(r.Seed, from+uint64(i), kinds, limit)
				w, err := playSim(p, false)
				if err != nil {
					errs[worker] = err
					return
				}
				ends[i] = w.summary()
				for name, times := range w.seen {
					seen[worker][name] += times
				}
			}
		})
	}
	wg.Wait()
	for worker, err := range errs {
		if err != nil {
			return nil, err
		}
		if limit == "" {
			for name, times := range seen[worker] {
				r.Sometimes[name] += times
			}
		}
	}
	return ends, nil
}

func (r *SimReport) add(history uint64, e simEnd) {
	r.Operations += e.operations
	r.Effects += e.effects
	r.Duplicates += e.duplicates
	r.Waiting += e.waiting
	if len(e.broken) == 0 {
		return
	}
	if r.Broken++; len(r.Violations) < listedViolations {
		r.Violations = append(r.Violations, SimViolation{History: history, Broken: e.broken})
	}
}

func (w *simWorld) summary() simEnd {
	e := simEnd{trace: w.trace, broken: w.broken}
	f := w.ledger()
	e.effects = len(f.effects)
	for _, effect := range f.effects {
		if effect.Key != "" || effect.Number != "" {
			e.unknown++
		}
	}
	for _, op := range w.operations() {
		e.operations++
		if op.Wait != nil {
			e.waiting++
		}
		requests := map[int]bool{}
		for _, effect := range f.effectsOf(op) {
			requests[effect.Request] = true
			e.unknown--
		}
		e.duplicates += max(0, len(requests)-1)
	}
	return e
}

// SimulateLimits plays histories in which one of the things happens against which nothing can be promised, and counts what it costs.
func SimulateLimits(seed uint64, histories int) ([]SimLimit, error) {
	kinds, err := simKinds()
	if err != nil {
		return nil, err
	}
	var all []SimLimit
	for _, name := range simLimits {
		r := SimReport{Seed: seed}
		ends, err := r.play(kinds, name, 0, histories)
		if err != nil {
			return nil, err
		}
		l := SimLimit{Name: name, Histories: histories}
		for _, e := range ends {
			l.Effects += e.effects
			l.Duplicates += e.duplicates
			l.Unknown += e.unknown
			if len(e.broken) > 0 {
				l.Broken++
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// Tell plays one history once more and tells all that happens in it.
func Tell(seed, history uint64, limit string) (Telling, error) {
	kinds, err := simKinds()
	if err != nil {
		return Telling{}, err
	}
	return tellPlan(draw(seed, history, kinds, limit))
}

func tellPlan(p *simPlan) (Telling, error) {
	w, err := playSim(p, true)
	if err != nil {
		return Telling{}, err
	}
	return Telling{Plan: w.plan.String(), Told: w.story, Broken: w.broken}, nil
}

// Shrink takes out of a history's plan whatever is not needed to break the same rule, and tells the rest. A history that breaks none
// has nothing to tell.
func Shrink(seed, history uint64) (Telling, error) {
	kinds, err := simKinds()
	if err != nil {
		return Telling{}, err
	}
	p := draw(seed, history, kinds, "")
	w, err := playSim(p, false)
	if err != nil || len(w.broken) == 0 {
		return Telling{}, err
	}
	rule, _, _ := strings.Cut(w.broken[0], ":")
	for changed := true; changed; {
		changed = false
		for i := 0; i < p.parts(); i++ {
			less := p.without(i)
			if w, err := playSim(less, false); err == nil && slices.ContainsFunc(w.broken, func(b string) bool { return strings.HasPrefix(b, rule+":") }) {
				p, changed = less, true
				i--
			}
		}
	}
	return tellPlan(p)
}

// must is what has to happen sometimes, or the simulation does not look where it should.
var must = slices.Concat(
	[]string{
		"state pending", "state unknown", "state succeeded", "state failed_final",
		"move nothing → pending", "move nothing → in_progress", "move pending → in_progress", "move pending → failed_final",
		"move in_progress → pending", "move in_progress → unknown", "move in_progress → succeeded", "move in_progress → failed_final",
		"move unknown → pending", "move unknown → in_progress", "move unknown → succeeded", "move unknown → failed_final",
		"crash", "crash inside recovery", "reboot", "clock jump", "disk failure", "caller gave up", "late answer", "late commit after not found",
		"lease over while its holder lives", "two candidates", "forgotten key", "ruling races an answer", "fault refuse",
		"ruling again", "ruling approve", "ruling close", "ruling decline", "ruling happened", "ruling replace", "ruling resend", "ruling same", "ruling wait",
		"word DONE", "word ALREADY DONE", "word QUEUED", "word NOT SENT", "word REJECTED", "word NOT CONFIRMED", "word CONFLICT", "word WAITING FOR A PERSON", "word INVALID CALL",
	}, faultNames(wrongWrites), faultNames(wrongLooks))

func faultNames(list []wrong) []string {
	names := map[string]bool{}
	for _, w := range list {
		if !w.limit && w.do != "lookup_lag" {
			names["fault "+w.do] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
