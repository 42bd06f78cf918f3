package scenarios

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"notwice/canonical/strictyaml"
	"notwice/toolbox/httptool"
)

// Live is one life of the product in a process of its own: that of a history which is explored with processes. in and out are its
// standard input and output; it ends with in. It dies by its own hand, as hard as kill -9, at the point that it is told. Error: it
// cannot live at all, or hears what it does not understand.
func Live(in io.Reader, out io.Writer) error {
	l := &link{letters: gob.NewDecoder(in), words: gob.NewEncoder(out), understood: make(chan time.Time)}
	first, err := l.hear()
	if err == nil && first.Birth == nil {
		err = errors.New("a life begins with its birth")
	}
	if err != nil {
		return err
	}
	if err := l.born(first); err != nil {
		l.say(word{Err: err.Error()})
		return err
	}
	l.say(word{Born: true})
	return l.live()
}

// link is the product's side of the letters. It leads the product's clock.
type link struct {
	letters    *gob.Decoder
	mu         sync.Mutex
	words      *gob.Encoder
	understood chan time.Time
	product    *product
	clock      *Clock
	heard      int         // number of the last letter that was acted on; guarded by the clock
	struck     func() bool // by the announced crash; nil: none was
}

func (l *link) hear() (one letter, err error) { return one, l.letters.Decode(&one) }

// say tells something. Nobody to hear it is no trouble: the process ends then.
func (l *link) say(w word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.product != nil {
		w.Points = l.product.passed()
	}
	_ = l.words.Encode(w)
}

func (l *link) still(running int, conns []string, next time.Time) {
	l.say(word{Still: &stillness{l.heard, running, conns, next}})
}

func (l *link) busy() (wait func() time.Time) {
	l.say(word{Busy: true})
	return func() time.Time { return <-l.understood }
}

// born begins the life.
func (l *link) born(first letter) (err error) {
	b := first.Birth
	knobs := map[string]*strictyaml.Node{}
	for name, text := range b.Knobs {
		if knobs[name], err = strictyaml.Parse(name, text); err != nil {
			return err
		}
	}
	l.clock = NewClock()
	l.clock.now, l.clock.leader = first.Now, l
	one := newLife(nil)
	one.die = l.die
	l.product, err = live(setting{
		toolset: toolset{provider: b.Provider, place: b.Place, knobs: knobs}, path: b.Journal, model: b.Model,
		clock: l.clock, wire: l.clock.Transport(httptool.NewTransport()), random: rand.NewChaCha8(b.Seed), points: b.Points, strike: b.Strike,
	}, one)
	return err
}

// die ends the process: nothing is flushed, no deferred call runs.
func (l *link) die() {
	l.say(word{Dying: true, Told: l.struck != nil && l.struck()})
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	select {}
}

// live does what the letters say until there are no more.
func (l *link) live() error {
	for {
		m, err := l.hear()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Busy:
			l.understood <- m.Now
		case m.Crash != nil:
			l.struck = l.product.arm(*m.Crash)
		case m.Fire:
			err = l.fire(m)
		default:
			l.work(m)
		}
		if err != nil {
			return err
		}
	}
}

// fire fires the clock's next timer.
func (l *link) fire(m letter) error {
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	t := l.clock.next(m.Now)
	if t == nil {
		return fmt.Errorf("no timer comes due by %s", m.Now)
	}
	l.clock.pass(m.Now)
	l.clock.fire(t)
	l.heard = m.Number
	l.clock.stir()
	return nil
}

// work moves time and begins errands. Each is answered before the clock may think that nobody is left.
func (l *link) work(m letter) {
	l.clock.mu.Lock()
	l.clock.pass(m.Now)
	l.clock.mu.Unlock()
	for i, e := range m.Errands {
		l.clock.worker(func() {
			a := &answer{}
			l.product.run(e, a)
			l.say(word{Answer: a, Of: i})
		}, nil)
	}
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	l.heard = m.Number
	l.clock.stir()
}
