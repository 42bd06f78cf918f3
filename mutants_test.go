package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mutant is the product with one rule taken out. It is made by an overlay of the compiler, so that the product itself holds no
// switches; every old text stands exactly once, or the mutant is not of this product any more. Each must be caught by the invariant
// that it breaks.
type mutant struct {
	name, rule string
	edits      []edit
	test       string // the test that names the rule when it fails; empty: the hunt through simulated histories and stories
	in         string // and its package
}

type edit struct{ file, old, new string }

const (
	policyCall    = "policy/call.go"
	policyNext    = "policy/next.go"
	policyOutcome = "policy/outcome.go"
	policyLook    = "policy/look.go"
	policyNow     = "policy/now.go"
	toolboxFlight = "toolbox/flight.go"
	toolboxCall   = "toolbox/call.go"
	boltStore     = "journal/boltjournal/store.go"
	boltTxn       = "journal/boltjournal/txn.go"
	httpRules     = "toolbox/httptool/rules.go"
	httpTool      = "toolbox/httptool/tool.go"
	httpLookup    = "toolbox/httptool/lookup.go"
)

func one(name, rule, file, old, new string) mutant {
	return mutant{name: name, rule: rule, edits: []edit{{file, old, new}}}
}

var mutants = []mutant{
	one("new key per attempt", "S3", toolboxFlight, "	r.Volatile, r.Secret = volatile",
		"	if op.AttemptCount > 1 {\n		for i := 0; i+36 <= len(r.Wire); i++ {\n			if string(r.Wire[i:i+36]) == string(op.Key) {\n				r.Wire[i+35] = byte('0' + op.AttemptCount%10)\n				r.Wire[i+34] = '0'\n			}\n		}\n	}\n	r.Volatile, r.Secret = volatile"),
	one("journal after send", "S2", toolboxCall, "	var d policy.Decision\n	err = t.decide(ctx, r.tool, wish,",
		"	if q, err := t.requestOf(&call.Fresh); err == nil {\n		q.Attempt = 1\n		dctx, cancel := t.clock.Deadline(context.Background(), t.clock.Now().Wall.Add(10*time.Second))\n		t.wire.Send(dctx, r.tool.Tool, q)\n		cancel()\n	}\n	var d policy.Decision\n	err = t.decide(ctx, r.tool, wish,"),
	one("timeout becomes failed_final", "S6", policyOutcome, "	return onUnknown(d, out, live, p, now)",
		"	return proof{status: journal.FailedFinal, evidence: journal.Response, out: out}.settle(d, live, p, now)"),
	one("retry without look-up", "S9", policyNext, "	if resendable(&o, p, now) && looked(&o, p, now) {", "	if op.Wait == nil {"),
	one("hash check skipped", "S4", policyCall, "	if op.RequestHash == c.Fresh.RequestHash {", "	if true {"),
	one("hash over raw bytes", "S11", toolboxCall, "	hash, err := canonical.RequestHash(r.account, r.tool.Name, hashed)",
		"	hash, err := canonical.RequestHash(r.account, r.tool.Name, map[string]any{\"raw\": string(r.call.Arguments)})"),
	{name: "numbers through float64", rule: "S4", edits: []edit{
		{"canonical/parse.go", "		return Number(t.String()), nil", "		f, _ := strconv.ParseFloat(t.String(), 64)\n		return Number(strconv.FormatFloat(f, 'f', -1, 64)), nil"},
		{"canonical/parse.go", "	\"strings\"\n", "	\"strconv\"\n	\"strings\"\n"},
	}},
	one("lease ignored", "S10", policyNow, "	return !known || up >= a.Length() // started again", "	return !known || up >= 0 // started again"),
	one("no epoch", "S10", policyOutcome, "	what := \"outcome\"", "	live = true\n	what := \"outcome\""),
	one("5xx counted definite", "S6", httpRules, "	if a.status >= 200 && a.status < 300 {", "	if a.status >= 500 {\n		out.Outcome = journal.Rejected\n		return out\n	}\n	if a.status >= 200 && a.status < 300 {"),
	one("409 still running counted failure", "S7", httpRules, "	default:\n		out.Word, out.Reason = rule.Outcome, rule.Outcome", "	default:\n		out.Outcome, out.ForKey = journal.Rejected, true"),
	one("not found trusted before the window", "S9", policyLook, "	if !look.AllPages || !windowOver(op, p, begun) {", "	_ = begun\n	if !look.AllPages {"),
	one("first of two candidates taken", "S12", policyLook, "		return review(d, \"candidates\", \"several\", found, p, now)", "		return one(d, found[0], p, now)"),
	{name: "stock HTTP client with the key header", rule: "S1", edits: []edit{
		{httpTool, "	req.GetBody = nil // nothing below may send the body a second time\n", ""},
		{"toolbox/httptool/transport.go", "		DisableKeepAlives:  true,\n", ""},
	}, test: "TestNoHiddenResend_Case106", in: "./toolbox/httptool"},
	{name: "redirects followed", rule: "S1", edits: []edit{
		{httpTool, "	req.GetBody = nil // nothing below may send the body a second time\n", ""},
		{"toolbox/httptool/transport.go", "return http.ErrUseLastResponse", "return nil"},
	}},
	{name: "recovery adopts a running operation", rule: "S10", edits: []edit{
		{policyNext, "		return Decision{Do: Join, Operation: op, Until: now.Wall.Add(a.Length() - (now.Up - a.Up))}", "		o := op.Clone()\n		return claim(Decision{Operation: &o}, p, now)"},
		{"journal/check.go", "	claimed := b.Status == InProgress && a.Status != InProgress\n", "	claimed := b.Status == InProgress && b.Epoch != a.Epoch\n"}, // the journal would refuse it
	}},
	one("recovery goes on although its claim failed", "S10", "toolbox/look.go", "		if err != nil {\n			return journal.Operation{}, fmt.Errorf(\"operation %s: %w\", key, err)\n		}\n		t.told(d)\n		op := *d.Operation",
		"		if err != nil && d.Do != policy.Send {\n			return journal.Operation{}, fmt.Errorf(\"operation %s: %w\", key, err)\n		}\n		t.told(d)\n		op := *d.Operation"),
	one("recovery swallows an error", "L1", policyLook, "	case look.Failed != \"\":\n		return again(d, p, now)", "	case look.Failed != \"\":\n		o.Due = time.Time{}\n		return d.write(Answer)"),
	one("result stored in a second transaction", "S15", toolboxFlight, "			d = policy.OnOutcome(k.Operation, out, taken, p, t.now(k))",
		"			first := out\n			first.Result = nil\n			d = policy.OnOutcome(k.Operation, first, taken, p, t.now(k))\n			t.journal.Later(t.clock.Now().Wall, op.Key, func(k journal.Known) (journal.Change, error) {\n				k.Operation.Result = out.Result\n				return journal.Change{Operation: k.Operation}, nil\n			})"),
	{name: "unsynced commit", rule: "S15", edits: []edit{{boltStore, "		Timeout: patience, PageSize: pageSize,", "		Timeout: patience, NoSync: true, PageSize: pageSize,"}},
		test: "TestSyncedBeforeAcknowledged", in: "./journal/boltjournal"},
	{name: "unreadable record read as absent", rule: "S16", edits: []edit{
		{boltTxn, "	if err := openValue([]byte(k), b, t.now(), &op); err != nil {\n		return nil, err\n	}", "	if err := openValue([]byte(k), b, t.now(), &op); err != nil {\n		return nil, nil\n	}"},
		{boltTxn, "	if e, _ := t.tx.Bucket(eventsBucket).Cursor().Seek(prefix); bytes.HasPrefix(e, prefix) {", "	if len(prefix) == 0 {"}, // its history would tell
	}, test: "TestCase145DamagedRecord", in: "./journal/boltjournal"},
	{name: "a file that is not as it was left is trusted", rule: "S16", edits: []edit{{boltStore, "	if info == nil || !t.untouched(info, s.seen) {", "	if info == nil {"}},
		test: "TestImages", in: "./journal/boltjournal"},
	one("wall clock alone frees a lease", "S17", policyNow, "	return !known || up >= a.Length() // started again", "	_ = up\n	return !known || !n.Wall.Before(a.Lease) // started again"),
	one("model-supplied key accepted", "S13", toolboxCall, "	if err := forbidden(tool.Shape, args); err != nil {\n		return prepared{}, refusal{err}\n	}",
		"	for name := range args {\n		if tool.Shape.Field(name) == nil && ours.MatchString(name) {\n			delete(args, name)\n		}\n	}"),
	one("retry after a ruling mints a key", "S20", toolboxFlight, "	r.Volatile, r.Secret = volatile",
		"	if op.Ruling != nil {\n		for i := 0; i+36 <= len(r.Wire); i++ {\n			if string(r.Wire[i:i+36]) == string(op.Key) {\n				copy(r.Wire[i+30:i+36], \"000000\")\n			}\n		}\n	}\n	r.Volatile, r.Secret = volatile"),
	one("echo not compared", "S8", httpRules, "	if differs := t.differs(a.body, r.Args); len(differs) > 0 {", "	if differs := t.differs(a.body, r.Args); len(differs) > 99 {"),
	one("success without evidence after a crash", "S8", policyNext, "	becomeUnknown(&d, p, now, \"lease_over\", 0)\n", "	proof{status: journal.Succeeded, evidence: journal.Response}.finish(&d, now)\n"),
	one("late answer dropped", "S21", policyOutcome, "	what := \"outcome\"", "	if !live {\n		return Decision{Do: Answer, Operation: op}\n	}\n	what := \"outcome\""),
	one("permit usable twice", "S14", policyCall, "	for _, o := range []*journal.Operation{op, k.Last} {",
		"	for i := range k.Recent {\n		if o := k.Recent[i].Clone(); o.Ruling != nil && o.Ruling.Decision == Again && o.Permit == nil && c.equals(&o) {\n			o.Permit = &journal.Permit{RequestHash: c.Fresh.RequestHash, Given: o.Ruling.At, By: o.Ruling.By}\n			return &o\n		}\n	}\n	for _, o := range []*journal.Operation{op, k.Last} {"),
	one("reworded call taken as new", "S14", policyCall, "	if corrected(k, op, c, now) {", "	if true {"),
	one("class C retried by itself", "S9", policyLook, "	case op.Misses < p.Lookup.Misses || !p.Lookup.Complete:", "	case op.Misses < p.Lookup.Misses:"),
	{name: "caller's cancel stops the journal write", rule: "S6", edits: []edit{
		{"toolbox/pursue.go", "	if ctx.Err() == nil {\n		return Result{}, err\n	}\n", "	if ctx.Err() == nil {\n		return Result{}, err\n	}\n	if f := t.flight(op.Key); f != nil {\n		f.said = \"gone\"\n	}\n"},
		{toolboxFlight, "		f.err = t.settle(op, out, p)\n", "		if f.said != \"gone\" {\n			f.err = t.settle(op, out, p)\n		}\n"},
	}},
	one("retry sends the caller's new arguments", "S4", policyCall, "	return ask(op, c, Conflict, \"conflict\", differs(op.Fields, c.Fresh.Fields), now)",
		"	if op.Status == journal.Unknown {\n		o := op.Clone()\n		o.Request = c.Fresh.Request\n		return Decision{Operation: &o}.write(Answer)\n	}\n	return ask(op, c, Conflict, \"conflict\", differs(op.Fields, c.Fresh.Fields), now)"),
	{name: "first attempt's window moved by a retry", rule: "S9", edits: []edit{
		{policyCall, "	if op.FirstSent.IsZero() {", "	{"},
		{"journal/check.go", "!b.FirstSent.Equal(a.FirstSent) && b.Executable() > 0", "false"}, // the journal would refuse it
	}},
	one("not_sent after an unknown becomes pending", "S9", policyOutcome, "	op := d.Operation\n	if op.Executable() > 0 {\n", "	op := d.Operation\n	if op.Executable() > 99 {\n"),
	one("a refusal closes while another attempt is open", "S7", policyOutcome, "	if op.Executable() == 0 {", "	if true {"),
	{name: "a look-up adopts another operation's effect", rule: "S22", edits: []edit{{policyLook, "		if owned(f.ID) {", "		if owned(\"\") {"}},
		test: "TestAnothersEffectIsNoCandidate", in: "./policy"},
	one("an open operation forgotten in another scope", "S14", policyCall, "op != nil && !own {", "op != nil && !own && op.Scope == c.Fresh.Scope {"),
	one("an empty answer of a broken look-up is absence", "S9", httpLookup, "	if len(found) != 1 {\n		return nil, \"look_up_without_list\"", "	if len(found) != 1 {\n		return nil, \"\""),
	one("a suspended sender sends after its lease", "S10", toolboxFlight, "	if !now.Wall.Before(a.Lease) || now.Up-a.Up >= a.Length() {", "	if now.Up < a.Up {"),
}

// canary is the mutant that every run of the tests must report.
const canary = "reworded call taken as new"

// TestMutants breaks the product on purpose and sees that it is caught. With NOTWICE_MUTANTS set it takes all mutants, else the canary.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here to build mutants with")
	}
	only := os.Getenv("NOTWICE_MUTANTS")
	var rows []string
	var counts []int
	for _, m := range mutants {
		texts := m.apply(t)
		if only == "" && m.name != canary || only != "" && only != "all" && only != m.name {
			continue
		}
		where, n, said := m.hunt(t, texts)
		if n == 0 {
			t.Errorf("%s: %s is silent\n%s", m.name, m.rule, said)
			continue
		}
		counts = append(counts, n)
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %d |", m.name, m.rule, where, n))
	}
	if len(counts) > 0 {
		slices.Sort(counts)
		t.Logf("\n| mutant | caught by | in | histories |\n|---|---|---|---|\n%s\n%d mutants, median %d histories", strings.Join(rows, "\n"), len(counts), counts[len(counts)/2])
	}
}

// apply makes the changed texts, by file.
func (m mutant) apply(t *testing.T) map[string]string {
	texts := map[string]string{}
	for _, e := range m.edits {
		if texts[e.file] == "" {
			text, err := os.ReadFile(e.file)
			if err != nil {
				t.Fatal(err)
			}
			texts[e.file] = string(text)
		}
		if n := strings.Count(texts[e.file], e.old); n != 1 {
			t.Errorf("%s: the old text stands %d times in %s:\n%s", m.name, n, e.file, e.old)
		}
		texts[e.file] = strings.Replace(texts[e.file], e.old, e.new, 1)
	}
	return texts
}

// overlay writes changed texts beside the project, and the list by which the compiler takes them instead.
func overlay(t *testing.T, texts map[string]string) (list string) {
	dir := t.TempDir()
	instead := map[string]map[string]string{"Replace": {}}
	for file, text := range texts {
		from, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		instead["Replace"][from] = to
	}
	text, err := json.Marshal(instead)
	if err != nil {
		t.Fatal(err)
	}
	list = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

// hunt builds the mutant and looks for its rule.
func (m mutant) hunt(t *testing.T, texts map[string]string) (where string, histories int, said string) {
	name := overlay(t, texts)
	test, in := "TestHunt", "./scenarios"
	if m.test != "" {
		test, in = m.test, m.in
	}
	run := exec.Command("go", "test", "-count=1", "-v", "-vet=off", "-timeout=90s", "-overlay", name, "-run", "^"+test+"$", in)
	run.Env = append(os.Environ(), "NOTWICE_HUNT="+m.rule)
	out, err := run.CombinedOutput()
	if m.test != "" && err != nil && strings.Contains(string(out), ": "+m.rule+": ") {
		return m.test, 1, ""
	}
	for line := range strings.Lines(string(out)) {
		if _, err := fmt.Sscanf(line, "HUNT caught "+m.rule+" %s %d", &where, &histories); err == nil {
			return where, histories, ""
		}
	}
	return "", 0, string(out[:min(len(out), 1500)])
}
