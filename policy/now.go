package policy

import (
	"time"

	"notwice/journal"
)

// Now is the present by every clock that we have. High is the highest time the journal has seen: while the wall clock is
// below it, the wall clock is wrong.
type Now struct {
	journal.Moment
	High time.Time
}

// Behind reports whether the wall clock is behind what the journal has seen.
func (n Now) Behind() bool { return n.Wall.Before(n.High) }

// yet reports whether a time is still ahead. One that only a wrong clock can have meant is not.
func (n Now) yet(t time.Time) bool { return !journal.Come(t, n.Wall) }

// AtLeast is how much time has surely passed since m: the less of the two clocks. A wall clock that jumped ahead does not
// shorten a wait. An uptime below m's means that the machine was started again; then only the wall clock can tell.
func (n Now) AtLeast(m journal.Moment) time.Duration {
	if n.Behind() {
		return 0
	}
	wall := n.Wall.Sub(m.Wall)
	if n.Up >= m.Up {
		return min(wall, n.Up-m.Up)
	}
	return wall
}

// AtMost is how much time may have passed since m: the more of the two clocks, and for ever when the wall clock is behind.
func (n Now) AtMost(m journal.Moment) time.Duration {
	if n.Behind() {
		return 1<<63 - 1
	}
	return max(n.Wall.Sub(m.Wall), n.Up-m.Up)
}

// sinceWall is how much time may have passed since a time of which only the wall clock is known.
func (n Now) sinceWall(t time.Time) time.Duration {
	return n.AtMost(journal.Moment{Wall: t, Up: n.Up})
}

// age is how much time has passed as far as anybody can tell: while the wall clock is behind, the highest time seen stands in.
// It decides what to ask, never what to send.
func (n Now) age(t time.Time) time.Duration { return later(n.Wall, n.High).Sub(t) }

// leaseOver reports whether an attempt can no longer send. By the machine's uptime alone once it says so beyond doubt:
// a wall clock that was set back must not block for longer than the lease.
func (n Now) leaseOver(a journal.Attempt) bool {
	if n.Up < a.Up { // started again: the sender is gone
		return true
	}
	if n.Up-a.Up < a.Length() {
		return false
	}
	return true
}
