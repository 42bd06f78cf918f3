package scenarios

import "time"

// A product in another process is led by letters: gob over its standard input and output. It says words of its own, and the process
// that leads it sees in the end of its output that it died.

// birth is what a process is begun with.
type birth struct {
	Journal, Provider, Place, Model string
	Knobs                           map[string][]byte // of the tools, as JSON
	Seed                            [32]byte
	Points, Strike                  int // passed so far in earlier lives; where to die
}

// letter goes to the product. One of Birth, Errands, Crash, Fire and Busy says what it is about; without one it is the time only.
type letter struct {
	Now     time.Time
	Number  int // counts what makes the product busy: errands and timers
	Birth   *birth
	Errands []errand
	Crash   *Crash
	Fire    bool // the next timer
	Busy    bool // understood
}

// word comes from the product. One of Born, Still, Busy, Answer and Dying says what it is about.
type word struct {
	Points int // passed so far
	Born   bool
	Err    string // it cannot live
	Still  *stillness
	Busy   bool
	Answer *answer
	Of     int // the errand that Answer is of
	Dying  bool
	Told   bool // by the crash that was announced
}

// stillness is what a clock that is led waits for, after the letter of that number.
type stillness struct {
	After   int
	Running int
	Conns   []string
	Next    time.Time
}
