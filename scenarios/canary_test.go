package scenarios

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
)

// A canary is a world that breaks one rule. The checkers must say so, by the entry that stories use; over the world that it was
// made of they must be silent.

func at(minute int) time.Time { return Epoch.Add(time.Duration(minute) * time.Minute) }

// wish is an operation on order 817 and the like, as it is registered.
func wish(name string, status journal.Status, attempts int) journal.Operation {
	return journal.Operation{
		Key: journal.Key("key-" + name), Number: "number-" + name, Tool: "create_payment", Account: "@fake", Scope: journal.JournalScope,
		Kin: canonical.Hash("kin-" + name), Intent: canonical.Hash("intent-" + name), Seq: 1, RequestHash: canonical.Hash("request-" + name),
		Fields: []journal.Field{{Name: "order_id", Role: canonical.Identity, Value: name}},
		Status: status, AttemptCount: attempts, Epoch: attempts,
	}
}

func write(n, minute int, key, body string) fakeprovider.RequestSeen {
	return fakeprovider.RequestSeen{N: n, Method: "POST", Path: "/payments", Kind: "payments", Action: "create", Key: key, Body: []byte(body), At: at(minute)}
}

func event(minute int, what string, status journal.Status) journal.Event {
	e := journal.Event{At: at(minute), What: what, Status: status}
	if what == "claimed" || what == "outcome" {
		e.Epoch, e.Attempt = 1, 1
	}
	return e
}

func outcome(minute int, o journal.Outcome) journal.Event {
	e := event(minute, "outcome", journal.InProgress)
	e.Outcome = o
	return e
}

func ruled(minute int, decision string) journal.Event {
	e := event(minute, "ruled", journal.Unknown)
	e.Reason, e.By = decision, "ada"
	return e
}

// begun are the events of every operation that was sent once.
func begun(minute int) []journal.Event {
	return []journal.Event{event(minute, "registered", journal.Pending), event(minute, "claimed", journal.InProgress)}
}

func ended(minute int, status journal.Status, evidence journal.Evidence) journal.Event {
	e := event(minute, "moved", status)
	e.Evidence = evidence
	return e
}

// goodWorld holds a payment that was answered, one that was refused, one that was found under its number, one that a person
// closed, and one whose answer is lost.
func goodWorld() *facts {
	paid, refused, found := wish("817", journal.Succeeded, 1), wish("818", journal.FailedFinal, 1), wish("819", journal.Succeeded, 1)
	closed, lost := wish("820", journal.FailedFinal, 1), wish("821", journal.Unknown, 1)
	paid.ExternalID, paid.Evidence = "pay_1", journal.Response
	refused.Evidence = journal.Response
	found.ExternalID, found.Evidence = "pay_2", journal.LookupByReference
	closed.Evidence = journal.Person
	look := event(4, "look_up", journal.Unknown)
	look.Reason = "found"
	lostAt := func(minute int) []journal.Event {
		return append(begun(minute), outcome(minute, journal.OutcomeUnknown), event(minute, "moved", journal.Unknown))
	}
	return &facts{
		ops: []journal.Operation{paid, refused, found, closed, lost},
		histories: map[journal.Key][]journal.Event{
			paid.Key:    append(begun(1), outcome(1, journal.Applied), ended(1, journal.Succeeded, journal.Response), event(2, "delivered", journal.Succeeded)),
			refused.Key: append(begun(2), outcome(2, journal.Rejected), ended(2, journal.FailedFinal, journal.Response)),
			found.Key:   append(lostAt(3), look, ended(4, journal.Succeeded, journal.LookupByReference)),
			closed.Key:  append(lostAt(5), ruled(6, "close"), ended(6, journal.FailedFinal, journal.Person)),
			lost.Key:    lostAt(7),
		},
		effects: []fakeprovider.Effect{
			{ID: "pay_1", Kind: "payments", Action: "create", Key: "key-817", Request: 1, Fields: fields("817", "100", "")},
			{ID: "pay_2", Kind: "payments", Action: "create", Number: "number-819", Reference: "number-819", Request: 3, Fields: fields("819", "100", "number-819")},
		},
		requests: []fakeprovider.RequestSeen{
			write(1, 1, "key-817", `{"order_id":"817","amount_minor":100}`), write(2, 2, "key-818", `{"order_id":"818","amount_minor":100}`),
			write(3, 3, "", `{"order_id":"819","amount_minor":100,"reference":"number-819"}`), write(4, 5, "key-820", `{"order_id":"820"}`),
			write(5, 7, "key-821", `{"order_id":"821"}`),
		},
	}
}

func fields(order, amount, reference string) map[string]json.RawMessage {
	f := map[string]json.RawMessage{"order_id": []byte(`"` + order + `"`), "amount_minor": []byte(amount)}
	if reference != "" {
		f["reference"] = []byte(`"` + reference + `"`)
	}
	return f
}

// again is the good world a step later, in which nothing has happened.
func again() *facts {
	f := goodWorld()
	f.before = goodWorld()
	return f
}

func TestNothingRingsInAGoodWorld(t *testing.T) {
	for name, f := range map[string]*facts{"empty": {}, "first step": goodWorld(), "next step": again()} {
		if broken := f.check(); len(broken) > 0 {
			t.Errorf("%s: %q", name, broken)
		}
	}
}

// canaries break one rule each; `f` is the good world a step later, the numbers are those of goodWorld.
var canaries = []struct {
	rule, name string
	harm       func(f *facts)
}{
	{"S1", "a second request took effect", func(f *facts) {
		twin := f.effects[0]
		twin.ID, twin.Request = "pay_9", 9
		f.effects = append(f.effects, twin)
	}},
	{"S2", "a key that nobody minted", func(f *facts) { f.requests[4].Key = "key-999" }},
	{"S2", "an encoded key that nobody minted", func(f *facts) { f.requests[4].Key = shapesOf(journal.Operation{Key: "key-999"})[4] }},
	{"S2", "more writes than attempts", func(f *facts) { f.requests = append(f.requests, write(6, 7, "", `{"order_id":"822"}`)) }},
	{"S2", "one attempt, two writes", func(f *facts) {
		f.ops[3].AttemptCount++ // the sum is right
		f.requests = append(f.requests, write(6, 7, "key-821", `{"order_id":"821"}`))
	}},
	{"S2", "sent before it was claimed", func(f *facts) { f.requests[4].At = at(6) }},
	{"S2", "sent and never claimed", func(f *facts) { f.histories["key-821"] = f.histories["key-821"][:1] }},
	{"S2", "no history", func(f *facts) { f.histories["key-821"] = nil }},
	{"S3", "one intent, two operations", func(f *facts) { f.ops[4].Intent = f.ops[3].Intent }},
	{"S3", "one key, two operations", func(f *facts) { f.ops[4].Key = f.ops[3].Key }},
	{"S3", "one number, two operations", func(f *facts) { f.ops[4].Number = f.ops[3].Number }},
	{"S4", "one key, two bodies", func(f *facts) {
		f.ops[4].AttemptCount++
		f.requests = append(f.requests, write(6, 8, "key-821", `{"order_id":"821","amount_minor":1}`))
	}},
	{"S4", "another request under the same key", func(f *facts) { f.ops[4].RequestHash = "request-999" }},
	{"S5", "final, and open again", func(f *facts) { f.move("key-817", event(9, "moved", journal.Unknown)) }},
	{"S5", "unknown without an attempt", func(f *facts) {
		f.histories["key-821"] = []journal.Event{event(7, "registered", journal.Pending), event(7, "moved", journal.Unknown)}
	}},
	{"S5", "begins in the middle", func(f *facts) { f.histories["key-821"] = f.histories["key-821"][1:] }},
	{"S5", "moved by a look", func(f *facts) { f.move("key-821", event(9, "look_up", journal.Pending)) }},
	{"S5", "sent without a claim", func(f *facts) { f.move("key-821", event(9, "moved", journal.InProgress)) }},
	{"S5", "claimed after its end", func(f *facts) { f.move("key-817", event(9, "claimed", journal.Succeeded)) }},
	{"S5", "the provider's word replaced", func(f *facts) { f.move("key-818", ended(9, journal.Succeeded, journal.LookupByKey)) }},
	{"S5", "a person's word replaced by a person's", func(f *facts) { f.move("key-820", ended(9, journal.Succeeded, journal.Person)) }},
	{"S6", "a timeout became failed_final", func(f *facts) { f.move("key-821", ended(9, journal.FailedFinal, journal.Response)) }},
	{"S6", "a timeout became succeeded", func(f *facts) { f.move("key-821", ended(9, journal.Succeeded, journal.Response)) }},
	{"S6", "a refusal became succeeded", func(f *facts) { f.histories["key-817"][2].Outcome = journal.Rejected }},
	{"S6", "a person's patience became failed_final", func(f *facts) {
		f.move("key-821", ruled(9, "wait"), ended(9, journal.FailedFinal, journal.Person))
	}},
	{"S6", "a timeout took the place of a person's word", func(f *facts) { f.move("key-820", ended(9, journal.Succeeded, journal.LookupByKey)) }},
	{"S7", "failed_final, and there it is", func(f *facts) { f.effects[0].Key, f.requests[0].Key = "key-818", "key-818" }},
	{"S8", "no such effect", func(f *facts) { f.ops[0].ExternalID = "pay_7" }},
	{"S8", "two effects of one id", func(f *facts) { f.effects = append(f.effects, f.effects[0]) }},
	{"S8", "another amount", func(f *facts) { f.effects[0].Fields["amount_minor"] = []byte("101") }},
	{"S8", "another order, found by number", func(f *facts) { f.effects[1].Fields["order_id"] = []byte(`"817"`) }},
	{"S10", "two live attempts", func(f *facts) {
		second := event(1, "claimed", journal.InProgress)
		second.Epoch, second.Attempt = 2, 2
		f.histories["key-821"] = append(begun(7), second)
	}},
	{"S10", "an old epoch", func(f *facts) { f.move("key-821", event(9, "claimed", journal.InProgress)) }},
	{"S10", "a stale outcome", func(f *facts) { f.move("key-821", outcome(9, journal.Applied)) }},
	{"S11", "sent after its end, within one step", func(f *facts) {
		f.before = nil
		f.ops[0].AttemptCount++
		f.requests = append(f.requests, write(6, 2, "key-817", `{"order_id":"817","amount_minor":100}`))
	}},
	{"S11", "sent a step after its end, at the same moment", func(f *facts) {
		f.ops[0].AttemptCount++
		f.requests = append(f.requests, write(6, 1, "key-817", `{"order_id":"817","amount_minor":100}`))
	}},
	{"S14", "two open, with other values", func(f *facts) {
		f.addOpen(wish("822", journal.Pending, 0))
		f.ops[5].Kin = f.ops[4].Kin
	}},
	{"S14", "two open without identity, equal", func(f *facts) {
		f.addOpen(wish("822", journal.Pending, 0))
		f.ops[5].Kin, f.ops[5].RequestHash = f.ops[4].Kin, f.ops[4].RequestHash
		f.ops[4].Fields, f.ops[5].Fields = nil, nil
	}},
	{"S14", "done again without a permit", func(f *facts) {
		f.addOpen(wish("822", journal.Pending, 0))
		f.ops[5].Kin, f.ops[5].Seq = f.ops[0].Kin, 2
	}},
	{"S15", "the record is ahead of its history", func(f *facts) { f.ops[4].Status = journal.Pending }},
	{"S15", "an operation is gone", func(f *facts) { f.ops = f.ops[:4] }},
	{"S15", "the history is shorter", func(f *facts) { f.histories["key-817"] = f.histories["key-817"][:4] }},
	{"S15", "the history was rewritten", func(f *facts) { f.histories["key-817"][0].Note = "another" }},
	{"S16", "a record cannot be read", func(f *facts) { f.unread = []string{"checksum"} }},
	{"S20", "two rulings in one episode", func(f *facts) { f.move("key-821", ruled(9, "resend"), ruled(9, "close")) }},
	{"S20", "the same ruling twice", func(f *facts) { f.move("key-821", ruled(9, "seen"), ruled(9, "seen")) }},
	{"S20", "nobody ruled", func(f *facts) { f.histories["key-820"][4].By = "" }},
	{"S22", "one external id, two operations", func(f *facts) { f.ops[2].ExternalID = "pay_1" }},
}

// move appends to a history and lets the record follow.
func (f *facts) move(key journal.Key, events ...journal.Event) {
	f.histories[key] = append(f.histories[key], events...)
	for i := range f.ops {
		if f.ops[i].Key == key {
			f.ops[i].Status = events[len(events)-1].Status
		}
	}
}

func (f *facts) addOpen(op journal.Operation) {
	f.ops = append(f.ops, op)
	f.histories[op.Key] = []journal.Event{event(9, "registered", journal.Pending)}
}

func TestCanariesRing(t *testing.T) {
	for _, c := range canaries {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			f := again()
			c.harm(f)
			broken := f.check()
			for _, what := range broken {
				if strings.HasPrefix(what, c.rule+": ") {
					return
				}
			}
			t.Errorf("the alarm of %s is silent; others: %q", c.rule, broken)
		})
	}
}

// Two open operations that share nothing but their values are no break where nothing is declared as identity.
func TestOtherRequestsWithoutIdentityMayBeOpen(t *testing.T) {
	f := goodWorld()
	f.addOpen(wish("822", journal.Pending, 0))
	f.ops[5].Kin = f.ops[4].Kin
	f.ops[4].Fields, f.ops[5].Fields = nil, nil
	if broken := f.check(); len(broken) > 0 {
		t.Errorf("%q", broken)
	}
}

// A key is known in every shape in which a provider may want it, and in no other.
func TestKeysInOtherShapes(t *testing.T) {
	for _, knobs := range []string{
		"key: {encode: sf_string}", "key: {encode: uuid}", "key: {encode: base32hex}", "key: {max_length: 20}", "key: {encode: base32hex, max_length: 30}",
		"key: {in: body, name: key}", "key: {encode: number}, resend: after_absence, lookup: {by: reference, match: {path: key}}",
	} {
		r := play(t, story+"tools: {create_payment: {"+knobs+"}}\nsteps:\n  - {call: pay, expect: {word: DONE, effects: 1}}\n  - {call: pay, expect: {word: ALREADY DONE, requests: 1}}\n")
		if !r.Passed {
			t.Errorf("%s:\n%s", knobs, r)
		}
	}
}

// A person may wait, and decide before anything else has happened.
func TestWaitingIsNoSecondRuling(t *testing.T) {
	r := play(t, story+`tools: {create_payment: {unknown_after: 15m}}
steps:
  - fault:
      - {on: payments.create, do: timeout_no_commit}
      - {on: payments.search, do: lookup_error, status: 500, times: 10000}
  - {call: pay, expect: {status: unknown}}
  - advance: 20m
  - {reconcile: pay, expect: {waits: true}}
  - {rule: pay, decision: wait, expect: {status: unknown, waits: false}}
  - {rule: pay, decision: wait, expect: {status: unknown}}
  - {rule: pay, decision: close, expect: {status: failed_final}}
`)
	if !r.Passed {
		t.Error(r)
	}
}

// The checkers look at the real world: a request that comes from behind the product's back rings in a story's own check.
func TestTheWorldIsLookedAt(t *testing.T) {
	f, err := ParseFile("k.yaml", []byte(story+"steps:\n  - {call: pay, expect: {effects: 1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(f, t.TempDir(), way{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	r := runner{world: w, report: &Report{}, keys: map[string]journal.Key{}}
	if err := r.step(1, f.Steps[0]); err != nil || len(r.report.Failures) > 0 {
		t.Fatal(err, r.report.Failures)
	}
	req, err := http.NewRequest("POST", w.fake.URL()+"/payments", strings.NewReader(`{"order_id":"817","amount_minor":1,"currency":"EUR"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", string(r.keys["pay"]))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	rang := strings.Join(w.check(), "\n")
	for _, rule := range []string{"S2: ", "S4: ", "S11: "} {
		if !strings.Contains(rang, rule) {
			t.Errorf("the alarm of %s is silent; others:\n%s", rule, rang)
		}
	}
}
