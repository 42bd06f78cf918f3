package fakeprovider

import (
	"net/url"
	"strings"
	"time"
)

// armedFault is a fault with its two counters.
type armedFault struct {
	Fault
	seen   int // requests that it could have struck
	struck int
}

// armory holds the armed faults in the order of arming. The core's lock guards it.
type armory struct {
	list []*armedFault
	// hiding is the lookup_hidden fault of the pass that is being read, by kind: a pass is one strike, however many pages it has.
	hiding map[string]*armedFault
}

func (a *armory) arm(faults []Fault) error {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return err
		}
	}
	for _, f := range faults {
		a.list = append(a.list, &armedFault{Fault: f})
	}
	return nil
}

func (a *armory) clear() { a.list, a.hiding = nil, nil }

func (a *armory) unstruck() []Fault {
	list := []Fault{}
	for _, f := range a.list {
		if f.struck == 0 {
			list = append(list, f.Fault)
		}
	}
	return list
}

// due counts one request and tells whether the fault may strike it.
func (f *armedFault) due() bool {
	f.seen++
	if f.seen < max(f.Nth, 1) {
		return false
	}
	if natures[f.Do].standing && f.Times == 0 {
		return true
	}
	return f.struck < max(f.Times, 1)
}

// strike finds the fault for a request: the first in the order of arming that is due. The others have seen it too, so two faults armed
// for the same request strike one after the other.
func (a *armory) strike(on string, warm bool) *Fault {
	var found *armedFault
	for _, f := range a.list {
		if f.On != on || f.Warm && !warm || separate(f.Do) {
			continue
		}
		if f.due() && found == nil {
			found = f
		}
	}
	if found == nil {
		return nil
	}
	found.struck++
	return &found.Fault
}

// separate names the faults that do not compete for a request but change what a look sees, or that concern the whole provider.
func separate(do string) bool {
	switch do {
	case "lookup_multi", "lookup_hidden":
		return true
	}
	return natures[do].standing
}

// standing calls back for every armed fault of that name which strikes now. match says whether a fault is concerned at all.
func (a *armory) standing(do string, match func(*armedFault) bool) (found *Fault) {
	for _, f := range a.list {
		if f.Do == do && match(f) && f.due() {
			f.struck++
			found = &f.Fault
		}
	}
	return found
}

// provider finds a fault of the whole provider; the latest wins.
func (a *armory) provider(do string) *Fault {
	return a.standing(do, func(*armedFault) bool { return true })
}

// lag is how young an object may be and yet be seen, for a look at this kind.
func (a *armory) lag(kind string) (lag time.Duration) {
	for _, f := range a.list {
		if f.Do == "lookup_lag" && strings.HasPrefix(f.On, kind+".") && f.due() {
			f.struck++
			lag = max(lag, f.For)
		}
	}
	return lag
}

// renamed tells whether the search does not know one of the filters any more.
func (a *armory) renamed(on string, query url.Values) bool {
	return a.standing("lookup_renamed", func(f *armedFault) bool {
		if f.On != on {
			return false
		}
		if f.Field == "number" || f.Field == "reference" {
			return query.Has("number") || query.Has("reference")
		}
		return query.Has(f.Field)
	}) != nil
}

// misses tells whether this look is one of every N.
func (a *armory) misses(on string) (missed bool) {
	for _, f := range a.list {
		if f.Do != "lookup_miss" || f.On != on || !f.due() {
			continue
		}
		if (f.seen-max(f.Nth, 1)+1)%f.EveryNth == 0 {
			f.struck++
			missed = true
		}
	}
	return missed
}

// multiplies tells whether a search that found something shows it twice. Searches that found nothing have nothing to show twice and
// do not count.
func (a *armory) multiplies(on string) bool {
	return a.standing("lookup_multi", func(f *armedFault) bool { return f.On == on }) != nil
}

// hidden is the page on which a search shows its matches, 0 if nothing is hidden. A pass begins with page 1.
func (a *armory) hidden(on string, page int) int {
	if page == 1 {
		if a.hiding == nil {
			a.hiding = map[string]*armedFault{}
		}
		delete(a.hiding, on)
		for _, f := range a.list {
			if f.Do == "lookup_hidden" && f.On == on && f.due() {
				f.struck++
				a.hiding[on] = f
				break
			}
		}
	}
	f := a.hiding[on]
	if f == nil {
		return 0
	}
	if f.Page == 0 {
		return 2
	}
	return f.Page
}
