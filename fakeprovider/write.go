package fakeprovider

import (
	"encoding/json"
	"net/http"
	"time"
)

// write is one create or cancel on its way through the provider.
type write struct {
	route
	operation
	n      int    // the request's number
	body   []byte // as received
	key    string // "" if none was sent or read
	keyed  bool   // the key is honoured for this request
	forget time.Duration
	now    time.Time
	due    time.Time // when the effect happens; now, unless a fault delays it
	stored *Answer   // what a repeat is to be told, if not the true answer
	twice  bool      // the effect happens twice
	// numbers are the claimed running numbers, the last one that of the object shown.
	numbers []int
	// effect is set when this request, and not an earlier one of the same key, made it.
	effect *Effect
}

func (c *Core) newWrite(now time.Time, r Request, to route, n int) *write {
	w := &write{route: to, operation: operations[to.on()], n: n, body: r.Body, now: now, due: now, forget: c.options.ForgetAfter}
	if c.options.Key != keyNone {
		w.key = r.Header.Get(keyHeader)
	}
	w.keyed = w.key != "" && c.options.Key == keyHonoured
	if w.keyed {
		if f := c.armed.provider("forget_key"); f != nil {
			w.forget = f.After
		}
		w.keyed = c.armed.provider("ignore_key") == nil
	}
	return w
}

// write handles a create or cancel: the fault, if one strikes, says whether the effect happens and how the answer looks.
func (c *Core) write(now time.Time, r Request, to route, n int) Answer {
	w := c.newWrite(now, r, to, n)
	f := c.armed.strike(to.on(), r.Warm)
	if f == nil {
		a, err := c.execute(w)
		if err != nil {
			return broken(err)
		}
		return a
	}
	return c.struckWrite(w, f, r)
}

func (c *Core) struckWrite(w *write, f *Fault, r Request) Answer {
	var a Answer
	var err error
	switch {
	case natures[f.Do].commits || f.Commit:
		w.bend(f)
		a, err = c.execute(w)
	case f.Stored || f.Do == "reject":
		err = c.remember(w, disguise(w.now, f, Answer{}, r))
	}
	if err != nil {
		return broken(err)
	}
	switch f.Do {
	case "other_operations_answer":
		return c.otherAnswer(w.now, w.effect, a)
	case "slow":
		a.Until = w.due
		return a
	}
	return disguise(w.now, f, a, r)
}

// bend applies the part of a fault that changes how the effect happens.
func (w *write) bend(f *Fault) {
	switch f.Do {
	case "late_commit":
		w.due = w.now.Add(f.After)
	case "slow":
		w.due = w.now.Add(f.For)
	case "commit_twice":
		w.twice = true
	}
	if f.Stored {
		a := disguise(w.now, f, Answer{}, Request{})
		w.stored = &a
	}
}

// execute does what a sound provider does:
//
//  1. read the body; what cannot be read has no effect and is not remembered;
//  2. a remembered key answers, whatever the request says;
//  3. a request that lacks something is refused, and the refusal remembered;
//  4. effect and key are written in one exclusive step; whoever was not first reads again.
func (c *Core) execute(w *write) (Answer, error) {
	members, err := parseObject(w.body)
	if err != nil {
		return errorAnswer(http.StatusBadRequest, "malformed", err.Error()), nil
	}
	fields := map[string]json.RawMessage{}
	for _, m := range members {
		fields[m.name] = m.value
	}
	refused := w.refusal(fields)
	for {
		if err := c.ledger.refresh(); err != nil {
			return Answer{}, err
		}
		last := c.remembered(w)
		if last != nil && !w.forgotten(last) {
			return last.answer(w), nil
		}
		if refused.Status != 0 {
			return refused, c.remember(w, refused)
		}
		if err := c.allocate(w); err != nil {
			return Answer{}, err
		}
		e, a := w.entry(fields, last)
		created, err := c.ledger.create(e)
		if err != nil {
			return Answer{}, err
		}
		if created {
			w.effect = e.Effect
			return a, c.repeat(w, fields)
		}
	}
}

// allocate claims the numbers of the effects, once for a request.
func (c *Core) allocate(w *write) error {
	want := 1
	if w.twice {
		want = 2
	}
	for len(w.numbers) < want {
		n, err := c.ledger.number()
		if err != nil {
			return err
		}
		w.numbers = append(w.numbers, n)
	}
	return nil
}

// repeat makes the second effect of commit_twice. It has no key record of its own: the key is taken by the first.
func (c *Core) repeat(w *write, fields map[string]json.RawMessage) error {
	if !w.twice || w.effect == nil {
		return nil
	}
	seq := w.numbers[1]
	_, err := c.ledger.create(&entry{V: 1, Seq: seq, Effect: w.newEffect(seq, fields)})
	return err
}

// entry is what the request would add to the ledger, and the answer that goes with it. last is the forgotten record of the key, if there
// was one.
func (w *write) entry(fields map[string]json.RawMessage, last *record) (*entry, Answer) {
	e := &entry{V: 1, Seq: w.numbers[0]}
	e.Effect = w.newEffect(e.Seq, fields)
	shown := w.newEffect(w.numbers[len(w.numbers)-1], fields)
	a := jsonAnswer(http.StatusCreated, encodeObject(shown.object()))
	if w.keyed {
		told := a
		if w.stored != nil {
			told = *w.stored
		}
		e.Record = w.newRecord(told, last)
	}
	return e, a
}

func (w *write) refusal(fields map[string]json.RawMessage) Answer {
	if why := w.validate(fields); why != "" {
		return errorAnswer(http.StatusUnprocessableEntity, "invalid", why)
	}
	if own, sent := fields["key"]; sent && w.key != "" {
		if text, ok := textOf(own); !ok || text != w.key {
			return errorAnswer(http.StatusUnprocessableEntity, "invalid", "field \"key\" differs from the header "+keyHeader)
		}
	}
	return Answer{}
}

func (w *write) newEffect(seq int, fields map[string]json.RawMessage) *Effect {
	e := &Effect{ID: idOf(w.prefix, seq), Kind: w.kind, Action: w.action, Key: w.key, Fields: fields, CreatedAt: w.due.UTC(), Request: w.n}
	e.Reference, _ = textOf(fields["reference"])
	e.Number, _ = textOf(fields["number"])
	if e.Number == "" {
		e.Number = e.Reference
	}
	return e
}
