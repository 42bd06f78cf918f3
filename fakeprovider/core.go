package fakeprovider

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

const keyHeader = "Idempotency-Key"

// The three ways to treat a key (Options.Key).
const (
	keyHonoured = "honoured"
	keyIgnored  = "ignored"
	keyNone     = "none"
)

// Core is the provider without sockets: a state machine that is told the time. It starts no goroutine and never waits. It is safe for
// concurrent use; requests are handled one after the other.
type Core struct {
	mu       sync.Mutex
	options  Options
	ledger   *ledger
	armed    armory
	requests Requests
	model    model
}

// NewCore opens the ledger. Of the options it uses Dir, Key, ForgetAfter, SearchLag, SearchPage, Dialect and Script.
func NewCore(o Options) (*Core, error) {
	if o.Key == "" {
		o.Key = keyHonoured
	}
	if o.SearchPage == 0 {
		o.SearchPage = 50
	}
	switch {
	case o.Key != keyHonoured && o.Key != keyIgnored && o.Key != keyNone:
		return nil, fmt.Errorf("key %q: want honoured, ignored or none", o.Key)
	case o.Dialect != "" && o.Dialect != "plain":
		return nil, fmt.Errorf("dialect %q: only plain is spoken here", o.Dialect)
	case o.SearchPage < 0 || o.ForgetAfter < 0 || o.SearchLag < 0:
		return nil, fmt.Errorf("search page, search lag and forget after must not be negative")
	}
	if o.Script != nil {
		if err := o.Script.check(); err != nil {
			return nil, err
		}
	}
	l, err := openLedger(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Core{options: o, ledger: l, model: model{script: o.Script}}, nil
}

// Handle receives one request and says what to do with it. All bookkeeping is done when it returns.
func (c *Core) Handle(now time.Time, r Request) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed.provider("refuse") != nil {
		return Answer{Fate: Refuse}
	}
	to := routeOf(r.Method, r.Path)
	n := c.requests.record(now, r, to)
	switch {
	case to.write():
		return c.write(now, r, to, n)
	case to.look():
		return c.look(now, r, to)
	case to.kind == modelKind && to.action != "":
		return c.model.handle(now, r, to)
	case to.status == http.StatusMethodNotAllowed:
		return errorAnswer(to.status, "method_not_allowed", r.Method+" is not possible here")
	}
	return errorAnswer(http.StatusNotFound, "not_found", "no such path")
}

// Resume answers a request whose Answer said Resume, now that its time has come. It is not counted again and no fault strikes it again.
func (c *Core) Resume(now time.Time, r Request) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(now, r, routeOf(r.Method, r.Path), nil)
}

// Effects lists all that has happened by now, oldest first, late commits that are due by then included.
func (c *Core) Effects(now time.Time) ([]Effect, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ledger.refresh(); err != nil {
		return nil, err
	}
	list := []Effect{}
	for _, e := range c.ledger.effects(now) {
		effect := *e.Effect
		effect.Fields = maps.Clone(effect.Fields)
		list = append(list, effect)
	}
	return list, nil
}

// Requests tells what has been received.
func (c *Core) Requests() Requests {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests.copy()
}

// ModelRequests lists the bodies that the model got, in order of asking. One that was not JSON is a JSON text.
func (c *Core) ModelRequests() []json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]json.RawMessage{}, c.model.asked...)
}

// SetScript gives the model another script, nil for no model; answers played in order of asking begin anew.
func (c *Core) SetScript(s *Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model.script, c.model.played = s, 0
}

// Arm adds faults; all of them or, if one is wrong, none.
func (c *Core) Arm(faults ...Fault) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.armed.arm(faults)
}

// ClearFaults disarms all faults. What they have done to the ledger remains.
func (c *Core) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed.clear()
}

// Armed lists the armed faults, also those that have struck as often as they will.
func (c *Core) Armed() []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []Fault{}
	for _, f := range c.armed.list {
		list = append(list, f.Fault)
	}
	return list
}

// Unstruck lists the armed faults that never struck. A fault of the whole provider strikes when it governs a request: refuse any,
// ignore_key and forget_key a write that brings a key.
func (c *Core) Unstruck() []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.armed.unstruck()
}

// refusing tells whether a refuse fault is armed; strike marks it as struck, for a shell that has closed its listener.
func (c *Core) refusing(strike bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.armed.list {
		if f.Do == "refuse" {
			if strike {
				f.struck++
			}
			return true
		}
	}
	return false
}

// broken is the answer of a provider that cannot read or write its ledger. It makes no claim about effects.
func broken(err error) Answer {
	return errorAnswer(http.StatusInternalServerError, "ledger", strings.ToValidUTF8(err.Error(), "?"))
}
