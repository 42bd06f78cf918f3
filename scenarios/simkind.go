package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/journal/memjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// simKindFacts are the worlds of a simulation: what the provider keeps, and tools that declare no more than that.
var simKindFacts = []struct {
	name     string
	provider fakeprovider.Options
	late     time.Duration // an effect may happen so long after its request
	blind    time.Duration // a search may miss an effect for so long
	tools    string        // knobs, as in a story
	unseen   []string      // tools that have no look-up
}{
	{
		name: "honours keys and can be searched", provider: fakeprovider.Options{Key: "honoured", ForgetAfter: 24 * time.Hour, SearchLag: time.Second},
		late: 900 * time.Millisecond, blind: time.Second,
		tools: `{}`,
	},
	{
		name: "honours keys for a short while and cannot be searched", provider: fakeprovider.Options{Key: "honoured", ForgetAfter: 90 * time.Second},
		late: 10 * time.Second, blind: 0,
		tools: `{create_payment: {dedup_window: 90s, unknown_after: 20m, max_attempts: 20, backoff: {first: 5s, max: 20s}}, send_email: {dedup_window: 90s}}`, unseen: []string{"create_payment", "send_email"},
	},
	{
		name: "keeps our number and can be searched", provider: fakeprovider.Options{Key: "none", SearchLag: 10 * time.Second, SearchPage: 1},
		late: 9 * time.Second, blind: 10 * time.Second,
		tools: `{create_payment: {profile: reference, resend: after_absence, lookup: {by: reference, complete: true, visibility_window: 20s, misses: 2, trust_empty: true}},
			send_email: {profile: reference, resend: after_absence, lookup: {by: reference, complete: true, visibility_window: 20s, misses: 1, trust_empty: false}}}`,
	},
	{
		name: "keeps our number, and its search promises nothing", provider: fakeprovider.Options{Key: "none", SearchLag: time.Minute},
		late: 5 * time.Minute, blind: time.Minute,
		tools: `{create_payment: {profile: reference}, send_email: {profile: none}}`, unseen: []string{"send_email"},
	},
	{
		name: "knows no key, and is searched by order", provider: fakeprovider.Options{Key: "none", SearchLag: time.Second},
		late: time.Second, blind: time.Second,
		tools: `{create_payment: {key: {in: none}, on_repeat: executes, unique: false, resend: after_absence,
			lookup: {by: scan, match: {path: order_id, equals: args.order_id, unique: true}, complete: true, visibility_window: 20s, misses: 1, trust_empty: true}}}`,
	},
	{
		name: "asks a person first", provider: fakeprovider.Options{Key: "honoured"},
		late: time.Second, blind: 0,
		tools: `{create_payment: {approval: {when: "args.amount_minor > 490000"}, limits: {count: 2, sum: 900000}, unique: false}, send_email: {approval: always}}`,
	},
}

// simKind is one of them, ready.
type simKind struct {
	n                       int
	provider                fakeprovider.Options
	tools                   *toolbox.Toolbox // those that every life shares
	promises                map[string]promise
	wishes                  []simWish
	wrongWrites, wrongLooks []simFault
}

// simWish is something that a person wants.
type simWish struct {
	tool  string
	args  map[string]any
	prose string
}

// simKinds makes all worlds once; compiling tools takes longer than a history.
var simKinds = sync.OnceValues(func() ([]*simKind, error) {
	var all []*simKind
	for i, facts := range simKindFacts {
		k, err := newSimKind(i)
		if err != nil {
			return nil, fmt.Errorf("the provider that %s: %w", facts.name, err)
		}
		all = append(all, k)
	}
	return all, nil
})

func newSimKind(n int) (*simKind, error) {
	f := simKindFacts[n]
	k := &simKind{n: n, provider: f.provider, wishes: simWishes, promises: map[string]promise{}}
	node, err := strictyaml.Parse("sim", []byte(f.tools))
	if err != nil {
		return nil, err
	}
	if k.tools, err = toolbox.New(context.Background(), toolbox.Options{Journal: memjournal.New()}); err != nil {
		return nil, err
	}
	for _, name := range []string{"create_payment", "send_email", "create_ticket"} {
		tool, err := demo.Tool(name, "http://provider.test", "fake", httptool.Exchange(simExchange), layOver(node.Get(name), slices.Contains(f.unseen, name)))
		if err == nil {
			err = k.tools.Add(tool)
		}
		if err != nil {
			return nil, err
		}
		k.promises[name] = promiseOf(tool.Declare().Facts)
	}
	k.wrongWrites, err = simFaults(f.late, wrongWrites)
	if err != nil {
		return nil, err
	}
	k.wrongLooks, err = simFaults(0, wrongLooks)
	return k, err
}

// layOver is Lay, and takes the look-up away from a tool that has none.
func layOver(n *strictyaml.Node, unseen bool) func(toolbox.Facts) (toolbox.Facts, error) {
	lay := Lay(n)
	return func(f toolbox.Facts) (toolbox.Facts, error) {
		var err error
		if lay != nil {
			f, err = lay(f)
		}
		if unseen {
			f.Lookup = nil
		}
		return f, err
	}
}

// simFaults are those of an exploration that break no promise, with lateness as the provider has it.
func simFaults(late time.Duration, list []wrong) ([]simFault, error) {
	all := []simFault{{do: "refuse"}, {do: "refuse"}}
	for _, w := range list {
		if w.limit || w.do == "lookup_lag" {
			continue
		}
		on := "payments.create"
		if len(list) == len(wrongLooks) {
			on = "payments.search"
		}
		faults, err := fakeprovider.ParseFaults(fmt.Appendf(nil, `{"on":%q,"do":%q%s}`, on, w.do, w.more))
		if err != nil {
			return nil, err
		}
		f := faults[0]
		if f.Do == "late_commit" {
			f.After = late
		}
		if f.Do == "slow" {
			f.For = max(late, time.Second)
		}
		all = append(all, simFault{do: f.Do, with: f})
		if f.Do == "redirect" {
			f.To = "" // to its own address
			all = append(all, simFault{do: f.Do, with: f})
		}
	}
	return all, nil
}

var simWishes = []simWish{
	{"create_payment", map[string]any{"order_id": "817", "amount_minor": canonical.Number("490000"), "currency": "RUB"}, "note"},
	{"create_payment", map[string]any{"order_id": "817", "amount_minor": canonical.Number("490000"), "currency": "RUB"}, "note"},
	{"create_payment", map[string]any{"order_id": "818", "amount_minor": canonical.Number("1200"), "currency": "USD"}, "note"},
	{"create_payment", map[string]any{"order_id": "819", "amount_minor": canonical.Number("9007199254740993"), "currency": "JPY"}, "note"},
	{"send_email", map[string]any{"to": "ada@shop.example", "case_id": "817", "subject": "Order 817", "body": "It is paid."}, "body"},
	{"create_ticket", map[string]any{"project": "OPS", "title": "The printer on the second floor does not print.", "ref": "r1"}, "title"},
}
