package scenarios

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// far is a life of the product in another process. The clock of this one leads it, and guards what stands below.
type far struct {
	clock   *Clock
	cmd     *exec.Cmd
	in      io.Closer
	letters *gob.Encoder
	over    chan struct{} // closed when its output has ended
	trouble lines

	number  int        // of the last letter that made it busy
	waits   *stillness // nil: it is busy
	gone    bool
	dying   bool // by its own hand
	told    bool // by the announced crash
	points  int
	answers []answer
	left    int
	done    chan struct{}
}

// liveFar begins a life in a process of its own, by the command line of a program that calls Live.
func liveFar(command []string, clock *Clock, born birth) (*far, error) {
	f := &far{clock: clock, cmd: exec.Command(command[0], command[1:]...), over: make(chan struct{}), points: born.Points}
	f.cmd.Args[0] = "notwice" // by whatever name the file goes
	in, err := f.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.in, f.letters, f.cmd.Stderr = in, gob.NewEncoder(in), &f.trouble
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	words := gob.NewDecoder(out)
	first := word{}
	if err = f.letters.Encode(letter{Now: clock.Now(), Birth: &born}); err == nil {
		err = words.Decode(&first)
	}
	if err == nil && first.Err != "" {
		err = errors.New(first.Err)
	}
	if err != nil {
		f.cmd.Process.Kill()
		f.cmd.Wait()
		return nil, fmt.Errorf("the product's process does not live: %w %s", err, f.trouble.String())
	}
	clock.mu.Lock()
	clock.led, f.waits = f, &stillness{}
	clock.mu.Unlock()
	go f.listen(words)
	return f, nil
}

// listen hears words until the process is dead.
func (f *far) listen(words *gob.Decoder) {
	defer close(f.over)
	for {
		w := word{}
		err := words.Decode(&w)
		f.clock.mu.Lock()
		if err != nil {
			f.gone = true
			f.finish()
		} else {
			f.heard(w)
		}
		f.clock.changed.Broadcast()
		f.clock.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (f *far) heard(w word) {
	f.points = w.Points
	switch {
	case w.Still != nil && w.Still.After == f.number:
		f.waits = w.Still
	case w.Busy:
		f.waits = nil
		f.write(letter{Now: f.clock.now, Busy: true})
	case w.Answer != nil && w.Of < len(f.answers):
		f.answers[w.Of] = *w.Answer
		if f.left--; f.left == 0 {
			f.finish()
		}
	case w.Dying:
		f.dying, f.told = true, w.Told
	}
}

// finish says that no more answers come.
func (f *far) finish() {
	if f.done != nil {
		close(f.done)
		f.done = nil
	}
}

// write sends a letter. That nobody takes it shows in the words, which end.
func (f *far) write(l letter) { _ = f.letters.Encode(l) }

func (f *far) quiet(held map[string]*timer) bool {
	return f.gone || f.waits != nil && holds(f.waits.Running, f.waits.Conns, held)
}

func (f *far) next() time.Time {
	if f.gone || f.waits == nil {
		return time.Time{}
	}
	return f.waits.Next
}

func (f *far) fire(now time.Time) {
	f.waits, f.number = nil, f.number+1
	f.write(letter{Now: now, Number: f.number, Fire: true})
}

func (f *far) move(now time.Time) { f.write(letter{Now: now, Number: f.number}) }

func (f *far) arm(c Crash) (struck func() bool) {
	f.clock.mu.Lock()
	defer f.clock.mu.Unlock()
	f.write(letter{Now: f.clock.now, Crash: &c})
	return func() bool {
		f.clock.mu.Lock()
		defer f.clock.mu.Unlock()
		return f.told
	}
}

func (f *far) work(errands []errand) ([]answer, <-chan struct{}) {
	f.clock.mu.Lock()
	defer f.clock.mu.Unlock()
	done := make(chan struct{})
	f.answers, f.left, f.done = make([]answer, len(errands)), len(errands), done
	if f.gone || len(errands) == 0 {
		f.finish()
		return f.answers, done
	}
	f.waits, f.number = nil, f.number+1
	f.write(letter{Now: f.clock.now, Number: f.number, Errands: errands})
	return f.answers, done
}

func (f *far) died() bool {
	f.clock.mu.Lock()
	defer f.clock.mu.Unlock()
	return f.gone
}

func (f *far) passed() int {
	f.clock.mu.Lock()
	defer f.clock.mu.Unlock()
	return f.points
}

// end kills the process, once nothing moves in it by itself, and waits until it is dead. Error: it had died by itself.
func (f *far) end() error {
	f.clock.settle()
	f.clock.mu.Lock()
	fell := f.gone && !f.dying
	f.clock.led = nil
	f.clock.mu.Unlock()
	f.cmd.Process.Kill()
	<-f.over
	f.in.Close()
	err := f.cmd.Wait()
	if fell {
		return fmt.Errorf("the product's process ended by itself: %v: %s", err, f.trouble.String())
	}
	return nil
}

// lines keeps the beginning of what a process complains of.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := 8000 - l.text.Len(); room > 0 {
		l.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(l.text.String())
}
