package policy

import (
	"fmt"
	"time"
)

// Guard is how equal calls of a tool without declared identity are held apart (DESIGN §3).
type Guard string

// The guards.
const (
	GuardFull Guard = "full"
	GuardLost Guard = "lost"
	GuardOff  Guard = "off"
)

// Window is how long a provider remembers a key.
type Window struct {
	Known   bool
	Forever bool
	For     time.Duration
}

// Backoff grows from First by doubling up to Max.
type Backoff struct{ First, Max time.Duration }

// After is the wait behind the n-th try, n from 1.
func (b Backoff) After(n int) time.Duration {
	d := b.First
	for i := 1; i < n && d < b.Max; i++ {
		d *= 2
	}
	return max(min(d, b.Max), time.Millisecond)
}

// Lookup is what is known of asking the provider.
type Lookup struct {
	By             string        // key, reference, resource_id, scan or signs
	Complete       bool          // a miss may count as absence
	Visibility     time.Duration // how long after the end of an attempt an effect may stay invisible
	Misses         int           // looks in a row that must miss
	TrustEmpty     bool          // no known object need be found in the same pass
	ClockTolerance time.Duration // how far the provider's clock may be off
	Backoff        Backoff
	Deadline       time.Duration // of one look-up
}

// Policy is everything about a tool that decisions need. The zero values of durations are filled by Defaults.
type Policy struct {
	KeySent     bool // our key travels where the provider reads it as a key
	OnRepeat    string
	DedupWindow Window
	Lookup      *Lookup // nil: there is none
	Resend      string  // never, same_key, after_absence

	MaxAttempts  int           // attempts that may have been executed
	Backoff      Backoff       // between attempts
	Deadline     time.Duration // of one attempt
	UnknownAfter time.Duration // from the first attempt; then a person is asked
	SendWithin   time.Duration // from registration; until then a released retry may go by itself
	AskOnTimeout bool          // on_timeout: ask_person
	Unique       bool          // the identity is a document number: one effect for ever
	Guard        Guard         // empty: identity is declared
	RepeatWindow time.Duration // guard full: equal calls are repeats for so long after the delivered answer
	Limits       Limits
	Credential   string // keyed digest of the secrets that would be used now; empty: none
}

// Defaults fills what is zero.
func (p Policy) Defaults() Policy {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&p.Deadline, 10*time.Second)
	set(&p.UnknownAfter, 15*time.Minute)
	set(&p.SendWithin, p.UnknownAfter)
	set(&p.RepeatWindow, 10*time.Minute)
	set(&p.Backoff.First, time.Second)
	set(&p.Backoff.Max, 5*time.Minute)
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 5
	}
	if p.OnRepeat == "" {
		p.OnRepeat = "executes"
	}
	if p.Resend == "" {
		p.Resend = "never"
	}
	if p.Lookup != nil {
		l := *p.Lookup
		set(&l.Backoff.First, time.Second)
		set(&l.Backoff.Max, 15*time.Minute)
		set(&l.ClockTolerance, 5*time.Minute)
		set(&l.Deadline, 10*time.Second)
		l.Misses = max(l.Misses, 1)
		p.Lookup = &l
	}
	return p
}

// Class is the protection class of a tool.
type Class string

// The classes.
const (
	ClassA Class = "A" // the provider de-duplicates by key
	ClassB Class = "B" // the provider can be searched, and a miss proves absence after a stated window
	ClassC Class = "C" // neither
)

// Class rates the policy and says why. Decisions use the same rating.
func (p Policy) Class() (Class, string) {
	if p.deduplicates() {
		return ClassA, fmt.Sprintf("the provider de-duplicates by our key for %s", p.DedupWindow)
	}
	if p.Lookup != nil && p.Lookup.Complete {
		return ClassB, fmt.Sprintf("a look-up by %s proves absence after %s", p.Lookup.By, p.Lookup.Visibility)
	}
	switch {
	case p.KeySent && p.OnRepeat != "executes":
		return ClassC, "the provider takes a key but states no window, and no look-up is complete"
	case p.Lookup != nil:
		return ClassC, "the provider takes no key, and its look-up may miss what is there"
	}
	return ClassC, "the provider takes no key and cannot be searched"
}

func (p Policy) deduplicates() bool {
	return p.KeySent && p.OnRepeat != "executes" && p.DedupWindow.Known
}

func (w Window) String() string {
	switch {
	case !w.Known:
		return "a time it does not state"
	case w.Forever:
		return "ever"
	}
	return w.For.String()
}

// Lease is how long an attempt may hold its operation: the deadline plus a tenth of it, at least 50 ms and at most 5 s.
func (p Policy) Lease() time.Duration {
	return p.Deadline + min(max(p.Deadline/10, 50*time.Millisecond), 5*time.Second)
}
