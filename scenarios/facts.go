package scenarios

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/fakeprovider"
	"notwice/journal"
)

// facts are all that the checkers look at: what the journal says of itself, what the provider did, and what it received.
type facts struct {
	ops       []journal.Operation
	histories map[journal.Key][]journal.Event
	effects   []fakeprovider.Effect
	requests  []fakeprovider.RequestSeen
	unread    []string // what could not be read at all
	promises  map[string]promise
	answers   []answerSeen

	before *facts // as they were after the step before; nil: there was none
}

// facts reads journal and ledger as they stand.
func (w *world) facts() *facts {
	f := &facts{histories: map[journal.Key][]journal.Event{}, before: w.before, promises: w.promises, answers: w.answers}
	requests, err := w.out.requests()
	if f.requests = requests.List; err != nil {
		f.unread = append(f.unread, "the requests cannot be read: "+err.Error())
	}
	if f.ops, err = w.operations(); err != nil {
		f.unread = append(f.unread, "the journal cannot be read: "+err.Error())
	}
	if f.effects, err = w.out.effects(w.clock.Now()); err != nil {
		f.unread = append(f.unread, "the ledger cannot be read: "+err.Error())
	}
	for _, op := range f.ops {
		if f.histories[op.Key], err = w.store.History(context.Background(), op.Key); err != nil {
			f.unread = append(f.unread, "the history of "+op.Number+" cannot be read: "+err.Error())
		}
	}
	return f
}

// check holds the present facts, and what became of the earlier ones, against the invariants.
func (w *world) check() []string {
	f := w.facts()
	broken := f.check()
	f.before = nil // only the last step is compared
	w.before, w.answers = f, nil
	return broken
}

// writesOf are the writes that bear an operation's key or number, in the order in which the provider received them.
func (f *facts) writesOf(op journal.Operation) (mine []fakeprovider.RequestSeen) {
	for _, r := range f.requests {
		if isWrite(r) && bearsKey(r, op) {
			mine = append(mine, r)
		}
	}
	return mine
}

func isWrite(r fakeprovider.RequestSeen) bool { return r.Action == "create" || r.Action == "cancel" }

// bearsKey reports whether a request shows that it is an operation's: by its header, or by key or number in its body.
func bearsKey(r fakeprovider.RequestSeen, op journal.Operation) bool {
	if isKeyOf(r.Key, op) {
		return true
	}
	body := fieldsOf(r)
	for _, name := range []string{"key", "reference", "number"} {
		if text, _ := body[name].(string); isKeyOf(text, op) {
			return true
		}
	}
	return false
}

// isKeyOf reports whether a text on the wire is an operation's key or number in one of the shapes that providers want.
func isKeyOf(text string, op journal.Operation) bool {
	if text == "" {
		return false
	}
	shapes := shapesOf(op)
	digest := shapes[len(shapes)-1]
	return slices.Contains(shapes, text) || len(text) >= 16 && strings.HasPrefix(digest, text)
}

// shapesOf are the shapes of an operation's name (FORMATS §2, `encode:`), the digest last: a key that is too long for its
// provider is sent as the beginning of its digest.
func shapesOf(op journal.Operation) []string {
	key := string(op.Key)
	sum := sha256.Sum256([]byte(key))
	uuid := sum
	uuid[6], uuid[8] = uuid[6]&0x0f|0x80, uuid[8]&0x3f|0x80
	return []string{
		key, op.Number, `"` + key + `"`, strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(key))),
		fmt.Sprintf("%x-%x-%x-%x-%x", uuid[0:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:16]), hex.EncodeToString(sum[:]),
	}
}

// fieldsOf are the fields of a request's body; none where it is no JSON object.
func fieldsOf(r fakeprovider.RequestSeen) map[string]any {
	fields, err := canonical.ParseObject(r.Body)
	if err != nil {
		return nil
	}
	return fields
}

// effectsOf are the effects that bear an operation's key or number.
func (f *facts) effectsOf(op journal.Operation) (mine []fakeprovider.Effect) {
	for _, e := range f.effects {
		inBody, _ := canonical.Parse(e.Fields["key"])
		text, _ := inBody.(string)
		if isKeyOf(e.Key, op) || isKeyOf(e.Number, op) || isKeyOf(e.Reference, op) || isKeyOf(text, op) {
			mine = append(mine, e)
		}
	}
	return mine
}

// identified reports whether an operation's tool declares which fields name the business thing.
func identified(op journal.Operation) bool {
	for _, f := range op.Fields {
		if f.Role == canonical.Identity {
			return true
		}
	}
	return false
}

// finalSince is when an operation first became final, by its history.
func finalSince(events []journal.Event) (at time.Time, ok bool) {
	for _, e := range events {
		if e.Status.Final() {
			return e.At, true
		}
	}
	return at, false
}
