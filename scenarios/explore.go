package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/journal"
)

// An exploration plays a story again and again, and each time one thing goes wrong that the story does not tell of: the process
// dies before or after one call of a seam, the provider misbehaves on one request, or the model repeats itself. What the story
// expects is not looked at then, only what holds always; at the end faults stop and everything must come to rest.

// Exploration is what came of one story.
type Exploration struct {
	File       string    `json:"file"`
	Title      string    `json:"title"`
	Processes  bool      `json:"processes"`  // each life of the product was a process of its own
	Points     int       `json:"points"`     // calls of seams, before and after: where the process was killed
	Histories  int       `json:"histories"`  // how often the story was played
	Effects    int       `json:"effects"`    // at the provider, in all of them
	Duplicates int       `json:"duplicates"` // effects of one wish beyond the first
	Lost       int       `json:"lost"`       // operations that came to no end, no rest and no person
	Waiting    int       `json:"waiting"`    // operations that wait for a person at the end
	Violations []History `json:"violations,omitempty"`
	Limits     []History `json:"limits,omitempty"` // histories beyond what can be promised (DESIGN §6) that broke something
}

// History is one way in which a story went wrong.
type History struct {
	At     string   `json:"at"`     // as --at takes it
	Name   string   `json:"name"`   // for people
	Broken []string `json:"broken"` // which rules
}

// twist is what goes wrong in one history.
type twist struct {
	at, name string
	strike   int                 // the point at which the process dies, from 1; 0: it lives
	fault    *fakeprovider.Fault // nil: none
	bend     func(*File) *File   // nil: the story as it is
	limit    bool                // nothing is promised then
	teller   *teller             // hears what happens; nil: nobody does
}

// end is how one history ended.
type end struct {
	points, effects, waiting int
	duplicates, lost         int
	requests                 []fakeprovider.RequestSeen
	broken                   []string
}

// ExploreOptions are the choices of an exploration.
type ExploreOptions struct {
	At      string             // the one history to play; empty: all
	Product []string           // command line of a program that calls Live: each life of the product is a process of its own, which kills itself; nil: all in this process
	Told    func(done, of int) // hears how many of how many were played; may be nil
}

// Explore plays a story in all the ways that it finds, beside each other. Error: the story cannot be played at all, or not so; it has
// no such history; or ctx ended, which is looked at between histories.
func Explore(ctx context.Context, f *File, o ExploreOptions) (Exploration, error) {
	x := Exploration{File: f.Name, Title: f.Title(), Processes: o.Product != nil}
	if x.Processes && f.Provider.At != "" {
		return x, fmt.Errorf("%s: its provider is elsewhere, in real time; processes are explored over a provider that the story starts", f.Name)
	}
	plain, err := f.playTwisted(twist{}, o.Product)
	if err != nil {
		return x, err
	}
	twists := f.twists(plain)
	if o.At != "" {
		if twists = only(twists, o.At); twists == nil {
			return x, f.noHistory(o.At, plain)
		}
	}
	ends, errs := make([]end, len(twists)), make([]error, len(twists))
	var wg sync.WaitGroup
	var mu sync.Mutex
	places, done := make(chan struct{}, 2*runtime.NumCPU()), 0
	for i, t := range twists {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			ends[i], errs[i] = f.playUntilStruck(t, o.Product)
			mu.Lock()
			defer mu.Unlock()
			if done++; o.Told != nil {
				o.Told(done, len(twists))
			}
		})
	}
	wg.Wait()
	for i, t := range twists {
		x.add(t, ends[i])
	}
	if o.At != "" && errs[0] == nil && ends[0].points < twists[0].strike {
		return x, fmt.Errorf("%s: there is no history %q: the process passed %d points", f.Name, o.At, ends[0].points)
	}
	x.Points = max(x.Points, plain.points)
	for n := plain.points + 1; o.At == "" && ctx.Err() == nil; n++ { // another run may have more points
		t := crashAt(n)
		e, err := f.playUntilStruck(t, o.Product)
		if errs = append(errs, err); err != nil || e.points < n {
			break
		}
		x.add(t, e)
	}
	return x, errors.Join(append(errs, ctx.Err())...)
}

func (f *File) noHistory(at string, plain end) error {
	return fmt.Errorf("%s: there is no history %q; they are crash:N, about up to %d, fault:KIND.ACTION:NTH:NAME and model:NAME", f.Name, at, plain.points)
}

// only is the history of that name. A crash needs no list: whether there is that point shows when it is played.
func only(all []twist, at string) []twist {
	n := 0
	if _, err := fmt.Sscanf(at, "crash:%d", &n); err == nil && n > 0 && n < 100_000 && at == crashAt(n).at {
		return []twist{crashAt(n)}
	}
	for _, t := range all {
		if t.at == at {
			return []twist{t}
		}
	}
	return nil
}

func (x *Exploration) add(t twist, e end) {
	x.Histories++
	if t.strike > 0 && e.points >= t.strike {
		x.Points = max(x.Points, t.strike)
	}
	x.Effects += e.effects
	x.Waiting += e.waiting
	if !t.limit {
		x.Duplicates += e.duplicates
		x.Lost += e.lost
	}
	if len(e.broken) == 0 {
		return
	}
	h := History{At: t.at, Name: t.name, Broken: e.broken}
	if t.limit {
		x.Limits = append(x.Limits, h)
	} else {
		x.Violations = append(x.Violations, h)
	}
}

// playUntilStruck plays one history, again where it never came to the point at which the process should die: where workers run at
// once, not every run comes there.
func (f *File) playUntilStruck(t twist, product []string) (e end, err error) {
	for range 3 {
		if e, err = f.playTwisted(t, product); err != nil || e.points >= t.strike || len(e.broken) > 0 {
			break
		}
	}
	return e, err
}

// playTwisted plays one history; with a command line of the product, with processes.
func (f *File) playTwisted(t twist, product []string) (e end, err error) {
	if t.bend != nil {
		f = t.bend(f)
	}
	dir, err := os.MkdirTemp("", "notwice-history-*")
	if err != nil {
		return e, err
	}
	defer os.RemoveAll(dir)
	w, err := newWorld(f, dir, way{strike: t.strike, product: product, teller: t.teller})
	var placed *strictyaml.Error
	if errors.As(err, &placed) {
		return e, placed
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", f.Name, err)
	}
	if t.fault != nil {
		if err := w.out.arm(*t.fault); err != nil {
			return e, errors.Join(err, w.close())
		}
	}
	r := wildRunner{runner: runner{world: w, report: &Report{}, keys: map[string]journal.Key{}}, end: &e}
	for _, step := range f.Steps {
		r.step(step)
	}
	r.settle()
	r.count()
	if err := w.close(); err != nil {
		e.broken = append(e.broken, "the end: "+err.Error())
	}
	e.points = w.points
	return e, nil
}

// wildRunner plays the steps of a story of which nothing is expected but what holds always.
type wildRunner struct {
	runner
	end *end
}

func (r *wildRunner) breaks(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, known := range r.end.broken {
		if known == text {
			return
		}
	}
	r.end.broken = append(r.end.broken, text)
}

// step plays a step; one in which the process died is played once more in the next life, as a host does.
func (r *wildRunner) step(s Step) {
	if r.once(s) && s.works() {
		r.once(s)
	}
	for _, broken := range r.check() {
		r.breaks("%s", broken)
	}
}

// once plays a step and reports whether the process died in it.
func (r *wildRunner) once(s Step) (died bool) {
	struck := r.arm()
	r.way.teller.begins(r.world, s)
	var err error
	if s.works() {
		err = r.work(s.together())
	} else {
		err = r.befall(s)
	}
	if struck != nil {
		r.crash = nil
	}
	if err == nil && r.product.died() {
		died, err = true, r.restart()
	}
	if err != nil {
		r.breaks("the history cannot go on: %v", err)
	}
	return died
}

// work runs workers. That one of them ended with an error is the world's doing; that it panicked, or broke a rule, is ours.
func (r *wildRunner) work(steps []Step) error {
	answers, err := r.together(steps)
	for _, a := range answers {
		r.remember(a)
		if a.Ours {
			r.breaks("%s", a.Err)
		}
	}
	return err
}

// dueWork is what a host does at the end of every history; no story tells of it.
var dueWork = Step{Reconcile: "due"}

// settle lets faults stop and time run, until every operation is final, rests unsent or waits for a person (L1).
func (r *wildRunner) settle() {
	if err := r.out.clear(); err != nil {
		r.breaks("the faults do not stop: %v", err)
	}
	for range 300 {
		r.once(dueWork)
		ops, err := r.operations()
		if err != nil {
			r.breaks("S16: %v", err)
			return
		}
		restless := false
		for _, op := range ops {
			restless = restless || !atRest(op)
		}
		if !restless {
			break
		}
		r.clock.advance(r.pause())
	}
	for _, broken := range r.check() {
		r.breaks("%s", broken)
	}
}

func atRest(op journal.Operation) bool {
	return op.Status.Final() || op.Wait != nil || op.Status == journal.Pending && op.Rests
}

// pause is the time until the next thing is due, a second at least and a day at most.
func (r *wildRunner) pause() time.Duration {
	due, ok, err := r.store.NextDue(context.Background())
	if err != nil || !ok {
		return time.Minute
	}
	return min(max(due.Sub(r.clock.Now()), time.Second), 24*time.Hour)
}

// count tells what a history left.
func (r *wildRunner) count() {
	facts := r.facts()
	r.end.effects = len(facts.effects)
	r.end.requests = facts.requests
	for _, op := range facts.ops {
		if op.Wait != nil {
			r.end.waiting++
		}
		if !atRest(op) {
			r.end.lost++
			r.breaks("L1: operation %s (%s) is %s and comes to no end", op.Number, op.Tool, op.Status)
		}
	}
	switch word := endOf(r.file.Explore); {
	case r.file.Explore == nil:
	case word == "final" && r.end.waiting > 0:
		r.breaks("end: %d operations wait for a person, and all should be final", r.end.waiting)
	case word == "review" && r.end.waiting == 0 && len(facts.ops) > 0:
		r.breaks("end: nothing waits for a person")
	}
	for _, broken := range r.end.broken {
		if strings.HasPrefix(broken, "S1:") || strings.HasPrefix(broken, "S14:") {
			r.end.duplicates++
		}
	}
}
