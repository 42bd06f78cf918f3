package scenarios

import (
	"fmt"
	"strings"
	"time"
)

// Told is one thing that happened in a history: when, in its own time, and to whom.
type Told struct {
	At   time.Duration
	Lane string // caller, journal, wire, provider or person; process and machine concern all of them
	What string
}

// Telling is a history that is told.
type Telling struct {
	Plan   string // what was to happen, one line for each part
	Told   []Told
	Broken []string // the rules that it broke
}

// String is a telling for people.
func (t Telling) String() string {
	var b strings.Builder
	b.WriteString(t.Plan)
	for _, x := range t.Told {
		fmt.Fprintf(&b, "%10s  %-8s %s\n", x.At, x.Lane, x.What)
	}
	return b.String()
}

// RunTold is Run, and tells what happened in the story.
func RunTold(f *File) (Report, Telling, error) {
	t := &teller{}
	r, err := f.play(t)
	if err != nil {
		return r, Telling{}, err
	}
	told := t.telling()
	for _, failed := range r.Failures {
		told.Broken = append(told.Broken, fmt.Sprintf("step %d, %s: %s", failed.Step, failed.Title, failed.What))
	}
	return r, told, nil
}

// TellHistory plays the history of an exploration that o.At names, and tells what happened in it. Error: as of Explore.
func TellHistory(f *File, o ExploreOptions) (Telling, error) {
	plain, err := f.playTwisted(twist{}, o.Product)
	if err != nil {
		return Telling{}, err
	}
	found := only(f.twists(plain), o.At)
	if found == nil {
		return Telling{}, f.noHistory(o.At, plain)
	}
	t := &teller{}
	found[0].teller = t
	e, err := f.playTwisted(found[0], o.Product)
	if err != nil {
		return Telling{}, err
	}
	if e.points < found[0].strike {
		return Telling{}, f.noHistory(o.At, e)
	}
	told := t.telling()
	told.Plan += "and besides: " + found[0].name + "\n"
	told.Broken = e.broken
	return told, nil
}
