package fakeprovider

import (
	"net/http"
	"time"
)

// look handles a get or a search. What the standing faults hide and what the striking fault does to the answer add up.
func (c *Core) look(now time.Time, r Request, to route) Answer {
	f := c.armed.strike(to.on(), r.Warm)
	if f != nil && f.Do == "slow" {
		return Answer{Until: now.Add(f.For), Resume: true}
	}
	if f != nil && !f.showsFinds() {
		return disguise(now, f, Answer{}, r) // nothing was looked up, so the faults of looking have not struck
	}
	return c.find(now, r, to, f)
}

// showsFinds tells whether the client gets to see what was found, be it cut or changed.
func (f *Fault) showsFinds() bool {
	return natures[f.Do].commits || f.Do == "truncated" || f.Do == "lookup_empty"
}

// find looks into the ledger as it is now.
func (c *Core) find(now time.Time, r Request, to route, f *Fault) Answer {
	if err := c.ledger.refresh(); err != nil {
		return broken(err)
	}
	blind := c.armed.misses(to.on()) || f != nil && f.Do == "lookup_empty"
	lag := c.armed.lag(to.kind)
	var a Answer
	if to.action == actionGet {
		a = c.get(now, to, lag, blind, f)
	} else {
		a = c.search(now, r, to, max(lag, c.options.SearchLag), blind)
	}
	if f == nil {
		return a
	}
	return disguise(now, f, a, r)
}

func (c *Core) get(now time.Time, to route, lag time.Duration, blind bool, f *Fault) Answer {
	for _, e := range c.ledger.effects(now) {
		if blind || e.Effect.ID != to.id || e.Effect.Kind != to.kind || now.Sub(e.Effect.CreatedAt) < lag {
			continue
		}
		if to.cancels && e.Effect.Action != actionCancel {
			continue
		}
		a := jsonAnswer(http.StatusOK, encodeObject(e.Effect.object()))
		if f != nil && f.Do == "other_operations_answer" {
			return c.otherAnswer(now, e.Effect, a)
		}
		return a
	}
	return errorAnswer(http.StatusNotFound, "not_found", "no such object")
}
