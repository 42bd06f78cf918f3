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
