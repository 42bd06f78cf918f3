package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/boltjournal"
)

// teller hears what happens in a story while it is played. It looks at journal and provider at every point of a life and around
// every step, and tells what is new: so what happens at one instant of virtual time is told in the order in which it happened. A
// nil teller hears nothing and costs nothing.
type teller struct {
	mu    sync.Mutex
	file  *File
	began time.Time
	clock timing
	out   outside
	model *fakeprovider.Core // plays the model
	store *boltjournal.Store // nil: no life has the journal now

	requests, asks int // told so far
	effects        map[string]bool
	events         map[journal.Key]int
	armed          []fakeprovider.Fault // had not struck when it last looked
	last           Point                // the latest that the present life came to
	dead           bool                 // it is told that the present life ended
	settling       bool                 // the story is over, and due work is done
	story          []Told
}

// hear lets a teller hear the story that begins. nil: nobody does.
func (t *teller) hear(w *world) {
	if t == nil {
		return
	}
	t.file, t.began, t.clock, t.out, t.model = w.file, w.clock.Now(), w.clock, w.out, w.fake.Core()
	t.effects, t.events = map[string]bool{}, map[journal.Key]int{}
	t.look(w.store)
	t.story = nil // what a provider that is elsewhere did before
}

// begins tells of a step, and looks from then on into the journal that the present life has.
func (t *teller) begins(w *world, s Step) {
	if t == nil {
		return
	}
	t.look(w.store)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case s.Node != nil:
		for _, one := range s.together() {
			lane, text := t.file.deed(one)
			t.tell(lane, "%s: %s", t.file.nameOf(s), text)
		}
	case !t.settling:
		t.settling = true
		t.tell("machine", "the story is over; faults stop, and due work is done until everything is at rest")
	}
}

// answered tells what came of the steps that ran at once.
func (t *teller) answered(w *world, steps []Step, answers []answer) {
	if t == nil {
		return
	}
	t.look(w.store)
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.product.died() {
		t.tellDeath(w)
	}
	for i, a := range answers {
		if s := steps[i]; s.Node != nil && s.Reconcile != "due" {
			lane, _ := t.file.deed(s)
			t.tell(lane, "%s", t.file.came(s, a.told()))
		}
	}
}

// passes is told of every point that a life comes to.
func (t *teller) passes(p Point) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.last = p
	store := t.store
	t.mu.Unlock()
	t.look(store)
}

// dies tells that the present life ends and another begins. Until the next step nobody looks into the journal.
func (t *teller) dies(w *world) {
	if t == nil {
		return
	}
	t.look(w.store)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellDeath(w)
	t.tell("process", "a new process begins over the same journal")
	t.store, t.last, t.dead = nil, Point{}, false
}

// tellDeath tells once that the present life ended, and where it was struck if it was.
func (t *teller) tellDeath(w *world) {
	where := ""
	if w.product.died() && t.last != (Point{}) {
		where = " " + t.last.String()
	}
	if !t.dead {
		t.tell("process", "the process dies%s", where)
	}
	t.dead = true
}

func (t *teller) tell(lane, format string, args ...any) {
	t.told(t.clock.Now(), lane, fmt.Sprintf(format, args...))
}

func (t *teller) told(at time.Time, lane, what string) {
	t.story = append(t.story, Told{at.Sub(t.began).Round(time.Millisecond), lane, what})
}

// news is something that was found by looking. Where several things were found at once, those of one instant are told in the order
// of a call: claim, request, effect, and what the journal learned of it.
type news struct {
	at         time.Time
	rank       int
	lane, what string
}

// look tells what is new at provider and model and in a journal. What cannot be read now is told when it can be.
func (t *teller) look(store *boltjournal.Store) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store = store
	all := append(t.newRequests(), t.newAsks()...)
	all = append(append(all, t.newEffects()...), t.newEvents()...)
	slices.SortStableFunc(all, func(a, b news) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.rank - b.rank
	})
	for _, n := range all {
		t.told(n.at, n.lane, n.what)
	}
}

const (
	rankClaim = iota
	rankRequest
	rankEffect
	rankLearned
)

// newRequests are those that the provider received, each with the faults that struck it.
func (t *teller) newRequests() (all []news) {
	got, err := t.out.requests()
	if err != nil || len(got.List) < t.requests {
		return nil
	}
	struck := t.struck()
	for _, r := range got.List[t.requests:] {
		if r.Kind == modelKind {
			continue
		}
		all = append(all, news{r.At, rankRequest, "wire", requestText(r)})
		for _, f := range struck {
			if f.On == r.Kind+"."+r.Action {
				all = append(all, news{r.At, rankRequest, "wire", f.Do + " strikes it"})
			}
		}
	}
	t.requests = len(got.List)
	return all
}

// struck are the faults that have struck since it last looked, for the first time. Those that were cleared are among them, and
// strike no request.
func (t *teller) struck() []fakeprovider.Fault {
	left, err := t.out.unstruck()
	if err != nil {
		return nil
	}
	gone := t.armed
	for _, f := range left {
		if i := slices.IndexFunc(gone, func(g fakeprovider.Fault) bool { return faultText(g) == faultText(f) }); i >= 0 {
			gone = slices.Delete(slices.Clone(gone), i, i+1)
		}
	}
	t.armed = left
	return gone
}

// modelKind is the kind under which the fake lists what its model is asked.
const modelKind = "model"

// newAsks are what the model was asked.
func (t *teller) newAsks() (all []news) {
	list := t.model.Requests().List
	for _, r := range list[t.asks:] {
		if r.Kind == modelKind {
			for _, text := range askTexts(r.Body) {
				all = append(all, news{r.At, rankLearned, "caller", text})
			}
		}
	}
	t.asks = len(list)
	return all
}

func (t *teller) newEffects() (all []news) {
	effects, err := t.out.effects(t.clock.Now())
	if err != nil {
		return nil
	}
	for _, e := range effects {
		if id := e.Kind + "." + e.Action + " " + e.ID; !t.effects[id] {
			t.effects[id] = true
			all = append(all, news{e.CreatedAt, rankEffect, "provider", effectText(e)})
		}
	}
	return all
}

// newEvents are those of all operations' histories.
func (t *teller) newEvents() (all []news) {
	if t.store == nil {
		return nil
	}
	ops, err := operations(t.store)
	if err != nil {
		return nil
	}
	for _, op := range slices.Backward(ops) { // oldest first
		events, err := t.store.History(context.Background(), op.Key)
		if err != nil || len(events) < t.events[op.Key] {
			continue
		}
		for _, e := range events[t.events[op.Key]:] {
			rank := rankLearned
			if e.What == "registered" || e.What == "claimed" {
				rank = rankClaim
			}
			all = append(all, news{e.At, rank, "journal", eventText(op, e)})
		}
		t.events[op.Key] = len(events)
	}
	return all
}

// telling is all that was heard, in the order of time.
func (t *teller) telling() Telling {
	slices.SortStableFunc(t.story, func(a, b Told) int { return int(a.At - b.At) })
	return Telling{Plan: t.file.plan(), Told: t.story}
}
