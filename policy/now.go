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

// since is how much the uptime has grown since m; known is false when the machine was started again in between.
func (n Now) since(m journal.Moment) (passed time.Duration, known bool) {
	other := n.Boot != "" && m.Boot != "" && n.Boot != m.Boot
	return n.Up - m.Up, !other && n.Up >= m.Up
}

// AtLeast is how much time has surely passed since m: the less of the two clocks. A wall clock that jumped ahead does not
// shorten a wait. Where the machine was started again, what is sure is the time since then: the wall clock may have been set.
func (n Now) AtLeast(m journal.Moment) time.Duration {
	if n.Behind() {
		return 0
	}
	wall := n.Wall.Sub(m.Wall)
	if up, known := n.since(m); known {
		return min(wall, up)
	}
	return min(wall, n.Up)
}

// ever is longer than anything; a lease can be added to it.
const ever = time.Duration(1 << 62)

// AtMost is how much time may have passed since m: the more of the two clocks, and any time at all when the wall clock is behind, or
// the machine was started again and nobody knows for how long it was off.
func (n Now) AtMost(m journal.Moment) time.Duration {
	if up, known := n.since(m); known && !n.Behind() {
		return max(n.Wall.Sub(m.Wall), up)
	}
	return ever
}

// sinceWall is how much time may have passed since a time of which only the wall clock is known.
func (n Now) sinceWall(t time.Time) time.Duration {
	if n.Behind() {
		return ever
	}
	return max(n.Wall.Sub(t), 0)
}

// likely is how much time has passed since m as far as the clocks show. It decides when to ask, never what to send.
func (n Now) likely(m journal.Moment) time.Duration {
	up, known := n.since(m)
	switch {
	case n.Behind():
		return ever
	case known:
		return max(n.Wall.Sub(m.Wall), up)
	}
	return n.Wall.Sub(m.Wall)
}

// age is how much time has passed as far as anybody can tell: while the wall clock is behind, the highest time seen stands in.
// It decides what to ask, never what to send.
func (n Now) age(t time.Time) time.Duration { return later(n.Wall, n.High).Sub(t) }

// leaseOver reports whether an attempt can no longer send. By the machine's uptime alone once it says so beyond doubt:
// a wall clock that was set back must not block for longer than the lease.
func (n Now) leaseOver(a journal.Attempt) bool {
	up, known := n.since(a.Begun())
	return !known || up >= a.Length() // started again: the sender is gone
}
