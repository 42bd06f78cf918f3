package policy

import (
	"math"
	"testing"
	"time"

	"notwice/journal"
)

func TestBackoffAfter(t *testing.T) {
	b := Backoff{First: time.Second, Max: 5 * time.Second}
	for n, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 1 << 30: 5 * time.Second,
	} {
		if got := b.After(n); got != want {
			t.Errorf("After(%d) = %s, want %s", n, got, want)
		}
	}
	if got := (Backoff{}).After(3); got <= 0 {
		t.Errorf("a zero back-off waits %s: work would spin", got)
	}
	if got := (Backoff{First: time.Hour, Max: math.MaxInt64}).After(200); got <= 0 {
		t.Errorf("an unbounded back-off waits %s", got)
	}
}

func TestClassAndItsReason(t *testing.T) {
	keyed := Policy{KeySent: true, OnRepeat: "returns_original", DedupWindow: Window{Known: true, For: 24 * time.Hour}}
	forever, executes, unstated, unsent := keyed, keyed, keyed, keyed
	forever.DedupWindow = Window{Known: true, Forever: true}
	executes.OnRepeat = "executes"
	unstated.DedupWindow = Window{}
	unsent.KeySent = false
	complete := &Lookup{By: "reference", Complete: true, Visibility: time.Minute}
	searched := unstated
	searched.Lookup = complete
	for name, c := range map[string]struct {
		p     Policy
		class Class
		why   string
	}{
		"keyed":                      {keyed, ClassA, "the provider de-duplicates by our key for 24h0m0s"},
		"keyed for ever":             {forever, ClassA, "the provider de-duplicates by our key for ever"},
		"a repeat executes":          {executes, ClassC, "the provider takes no key and cannot be searched"},
		"the key is not sent":        {unsent, ClassC, "the provider takes no key and cannot be searched"},
		"no window":                  {unstated, ClassC, "the provider takes a key but states no window, and no look-up is complete"},
		"no window, complete search": {searched, ClassB, "a look-up by reference proves absence after 1m0s"},
		"complete search":            {Policy{Lookup: complete}, ClassB, "a look-up by reference proves absence after 1m0s"},
		"search that may miss":       {Policy{Lookup: &Lookup{By: "signs"}}, ClassC, "the provider takes no key, and its look-up may miss what is there"},
		"nothing":                    {Policy{}, ClassC, "the provider takes no key and cannot be searched"},
	} {
		if class, why := c.p.Class(); class != c.class || why != c.why {
			t.Errorf("%s: %s, %q; want %s, %q", name, class, why, c.class, c.why)
		}
	}
}

// What surely passed is the less of two clocks, what may have passed the more (S17).
func TestTimePassed(t *testing.T) {
	m := journal.Moment{Wall: dawn, Up: time.Hour, Boot: "one"}
	at := func(wall, up time.Duration) Now {
		return Now{Moment: journal.Moment{Wall: dawn.Add(wall), Up: time.Hour + up}, High: dawn}
	}
	for name, c := range map[string]struct {
		now         Now
		least, most time.Duration
	}{
		"both clocks agree":        {at(time.Minute, time.Minute), time.Minute, time.Minute},
		"the wall jumped ahead":    {at(time.Hour, time.Minute), time.Minute, time.Hour},
		"the wall went back a bit": {at(time.Second, time.Minute), time.Second, time.Minute},
		"the wall is behind":       {at(-time.Second, time.Minute), 0, ever},
		"the machine was started":  {at(time.Minute, -time.Hour), 0, ever},
		"started a while ago":      {at(time.Minute, -time.Hour+10*time.Second), 10 * time.Second, ever},
		"another boot":             {Now{Moment: journal.Moment{Wall: dawn.Add(3 * time.Hour), Up: 2 * time.Hour, Boot: "two"}, High: dawn}, 2 * time.Hour, ever},
		"started, and behind":      {at(-time.Minute, -time.Hour), 0, ever},
	} {
		if least, most := c.now.AtLeast(m), c.now.AtMost(m); least != c.least || most != c.most {
			t.Errorf("%s: at least %s, at most %s; want %s, %s", name, least, most, c.least, c.most)
		}
	}
}
