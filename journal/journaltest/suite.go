package journaltest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// Store is a journal under test.
type Store interface {
	journal.Journal
	journal.Transcripts
}

// Subject makes stores for the suite.
type Subject struct {
	// Open makes an empty journal. What must hold of it at the end of the test is checked by a cleanup of its own.
	Open func(t *testing.T) Store
	// Reopen closes a journal and opens what it left. Nil: nothing of this store outlives it.
	Reopen func(t *testing.T, s Store) Store
}

// Run runs the whole suite.
func Run(t *testing.T, s Subject) {
	for _, part := range []struct {
		name string
		run  func(*rig)
	}{
		{"register", register}, {"taken names", takenNames}, {"known", known}, {"recent", recent}, {"recorded", recorded},
		{"kins apart", kinsApart}, {"moves", moves}, {"illegal moves", illegalMoves}, {"decide errors", decideErrors},
		{"not found", notFound}, {"external id", externalID}, {"due", due}, {"review", review}, {"list", list}, {"find", find},
		{"history", history}, {"later", later}, {"later fails", laterFails}, {"close commits riders", closeCommitsRiders},
		{"high time", highTime}, {"copies", copies}, {"digest key", digestKey}, {"transcript", transcript},
		{"transcript race", transcriptRace}, {"callers", callers}, {"one winner", oneWinner}, {"cancel", cancel},
		{"closed", closed}, {"commits", commits}, {"spent", spent}, {"spent by many", spentByMany}, {"two at once", twoAtOnce},
		{"declare", declare}, {"question", question},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.run(&rig{T: t, subject: s, Store: s.Open(t)})
		})
	}
}

// rig is one test with its store.
type rig struct {
	*testing.T
	Store
	subject Subject
}

var (
	ctx   = context.Background()
	start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// reopen is a restart: everything but what is stored is dropped.
func (r *rig) reopen() {
	if r.subject.Reopen != nil {
		r.Store = r.subject.Reopen(r.T, r.Store)
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) wants(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("error %v, want %v", err, want)
	}
}

func hash(parts ...any) canonical.Hash {
	sum := sha256.Sum256(fmt.Append(nil, parts...))
	return canonical.Hash(hex.EncodeToString(sum[:]))
}

func keyOf(n int) journal.Key { return journal.Key(fmt.Sprintf("0197%04d-aaaa-7000-8000-%012d", n, n)) }

// wish number n of an item, as a fresh record.
func fresh(n int, item string) journal.Operation {
	return journal.Operation{
		Key: keyOf(n), Number: fmt.Sprintf("20260301-AAAA%06d", n), Tool: "create_payment", Account: "shop@fake", Task: "default",
		Scope: journal.JournalScope, Kin: hash("kin", item), Intent: hash("intent", item, n), RequestHash: hash("request", item), Seq: 1, TaskSeq: n,
		Status: journal.Pending, Registered: at(n), Request: canonical.Raw(`{"order_id":"` + item + `"}`),
	}
}

func wishOf(op journal.Operation) journal.Wish {
	return journal.Wish{Kin: op.Kin, Scope: op.Scope, Task: op.Task, Position: op.Position}
}

// register stores a record as it stands.
func (r *rig) register(op journal.Operation) journal.Operation {
	r.Helper()
	r.must(r.tryRegister(op))
	return r.get(op.Key)
}

func (r *rig) tryRegister(op journal.Operation) error {
	return r.DecideByIntent(ctx, op.Registered, wishOf(op), func(journal.Known) (journal.Change, error) {
		c := op.Clone()
		return journal.Change{Operation: &c, Events: []journal.Event{{At: op.Registered, What: "registered", Status: op.Status}}}, nil
	})
}

func (r *rig) get(k journal.Key) journal.Operation {
	r.Helper()
	op, err := r.Get(ctx, k)
	r.must(err)
	return op
}

// change is one move by key.
func (r *rig) change(k journal.Key, do func(*journal.Operation)) error {
	return r.DecideByKey(ctx, at(100), k, changed(do))
}

func changed(do func(*journal.Operation)) journal.Decide {
	return func(known journal.Known) (journal.Change, error) {
		do(known.Operation)
		return journal.Change{Operation: known.Operation, Events: []journal.Event{{At: at(100), What: "moved", Status: known.Operation.Status}}}, nil
	}
}

func claim(op *journal.Operation) {
	op.Status, op.Epoch, op.AttemptCount = journal.InProgress, op.Epoch+1, op.AttemptCount+1
	op.Attempts = append(op.Attempts, journal.Attempt{N: op.AttemptCount, Epoch: op.Epoch, Started: at(50), Deadline: at(60), Lease: at(61)})
	op.Due = at(61)
	if op.FirstSent.IsZero() {
		op.FirstSent = at(50)
	}
}

func lose(op *journal.Operation) { op.Status, op.Due = journal.Unknown, at(70) }

func succeed(id string) func(*journal.Operation) {
	return func(op *journal.Operation) {
		op.Status, op.Evidence, op.ExternalID, op.Ended, op.Due = journal.Succeeded, journal.Response, id, at(80), time.Time{}
		op.Wait, op.Request = nil, nil
	}
}

// ask reads what a wish is shown, and writes nothing.
func (r *rig) ask(w journal.Wish) (seen journal.Known) {
	r.Helper()
	r.must(r.DecideByIntent(ctx, at(0), w, func(k journal.Known) (journal.Change, error) {
		seen = k
		return journal.Change{}, nil
	}))
	return seen
}

func keysOf(ops []journal.Operation) (keys []journal.Key) {
	for _, op := range ops {
		keys = append(keys, op.Key)
	}
	return keys
}

func (r *rig) same(what string, got []journal.Key, want ...int) {
	r.Helper()
	var keys []journal.Key
	for _, n := range want {
		keys = append(keys, keyOf(n))
	}
	if !slices.Equal(got, keys) {
		r.Fatalf("%s: got %v, want %v", what, got, keys)
	}
}

func keyIn(op *journal.Operation) []journal.Key {
	if op == nil {
		return nil
	}
	return []journal.Key{op.Key}
}
