package boltjournal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/canonical"
	"notwice/journal"
)

// each reads all operations, in the order of time.
func (t *txn) each(do func(*journal.Operation) error) error {
	c := t.tx.Bucket(opsBucket).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		op, err := t.indexed(k)
		if err == nil {
			err = do(op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shapeValue is a fingerprint as it is stored; it may be empty, a value may not.
func shapeValue(declared string) []byte { return []byte("=" + declared) }

// txn is one transaction of the file, read or write.
type txn struct {
	tx      *bolt.Tx
	running uint64 // of this commit; for reads filled on demand
	high    time.Time
	wrote   bool
	books   *ledger // of a commit
	rotten  bool    // the file is damaged: what an index names may not be all that there is
}

func (t *txn) begin() error {
	_, running, err := readMeta(t.tx)
	t.running = running + 1
	t.high = t.readHigh()
	t.books = &ledger{t.tx, readSum(t.tx)}
	for _, name := range [][]byte{opsBucket, eventsBucket, kinBucket, scopeBucket, transcriptBucket} {
		t.tx.Bucket(name).FillPercent = 0.9 // keys come in the order of time
	}
	return err
}

func (t *txn) end() error {
	meta := t.tx.Bucket(metaBucket)
	if err := meta.Put(metaHigh, be(nanos(t.high))); err != nil {
		return err
	}
	return errors.Join(meta.Put(metaRunning, be(t.running)), t.books.end())
}

func (t *txn) saw(at time.Time) {
	if at.After(t.high) {
		t.high = at
	}
}

func (t *txn) readHigh() time.Time {
	if b := t.tx.Bucket(metaBucket).Get(metaHigh); len(b) == 8 {
		if n := binary.BigEndian.Uint64(b); n > 0 {
			return time.Unix(0, int64(n))
		}
	}
	return time.Time{}
}

// now is the running number up to which records may be read.
func (t *txn) now() uint64 {
	if t.running == 0 {
		_, t.running, _ = readMeta(t.tx)
	}
	return t.running
}

// nanos is a time as an index orders it: nanoseconds since 1970, times before that as 1970, times beyond 2262 as 2262.
func nanos(t time.Time) uint64 {
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case s > math.MaxInt64/int64(time.Second)-1:
		return math.MaxInt64
	}
	return uint64(t.UnixNano())
}

func be(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func hashKey(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(be(uint64(len(p))))
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

func raw(h canonical.Hash) []byte {
	b, err := hex.DecodeString(string(h))
	if err != nil {
		return []byte(h)
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// operation reads one operation; nil, nil when there is none.
func (t *txn) operation(k journal.Key) (*journal.Operation, error) {
	b := t.tx.Bucket(opsBucket).Get([]byte(k))
	if b == nil {
		return nil, nil
	}
	var op journal.Operation
	if err := openValue([]byte(k), b, t.now(), &op); err != nil {
		return nil, err
	}
	if op.Key != k {
		return nil, fmt.Errorf("%w: the record of operation %s is another's", journal.ErrDamaged, k)
	}
	if err := journal.Check(nil, &op); err != nil {
		return nil, fmt.Errorf("%w: %v", journal.ErrDamaged, err)
	}
	return &op, nil
}

// indexed reads an operation that an index names: it must be there.
func (t *txn) indexed(k []byte) (*journal.Operation, error) {
	op, err := t.operation(journal.Key(k))
	if err == nil && op == nil {
		err = fmt.Errorf("%w: an index names operation %s, which is missing", journal.ErrDamaged, k)
	}
	return op, err
}

func (t *txn) byKey(k journal.Key, decide journal.Decide) error {
	op, err := t.operation(k)
	if err != nil {
		return err
	}
	if op == nil {
		return t.absent(k)
	}
	return t.decide(journal.Known{Operation: op}, decide)
}

// absent is the error for an operation that is not there, unless its history says that it was.
func (t *txn) absent(k journal.Key) error {
	prefix := join([]byte(k), []byte{0})
	if e, _ := t.tx.Bucket(eventsBucket).Cursor().Seek(prefix); bytes.HasPrefix(e, prefix) {
		return fmt.Errorf("%w: operation %s has a history and no record", journal.ErrDamaged, k)
	}
	return journal.ErrNotFound
}

func (t *txn) byIntent(w journal.Wish, decide journal.Decide) error {
	shape := t.tx.Bucket(shapeBucket).Get([]byte(w.Tool))
	if shape != nil && w.Declared != "" && !bytes.Equal(shape, shapeValue(w.Declared)) {
		return journal.ErrDeclared
	}
	var k journal.Known
	var err error
	if b := t.tx.Bucket(taskBucket).Get(hashKey(w.Task)); len(b) == 8 {
		k.TaskSeq = int(binary.BigEndian.Uint64(b))
	}
	if w.Position != "" {
		if key := t.tx.Bucket(placeBucket).Get(hashKey(w.Position)); key != nil {
			if k.Recorded, err = t.indexed(key); err != nil {
				return err
			}
		}
	}
	if k.Unheard, err = t.under(unheardBucket, raw(w.Kin), 0); err != nil {
		return err
	}
	slices.Reverse(k.Unheard)
	if k.Recent, err = t.under(kinBucket, raw(w.Kin), journal.RecentLimit); err != nil {
		return err
	}
	last, err := t.under(scopeBucket, join(raw(w.Kin), hashKey(w.Scope)), 1)
	if err != nil {
		return err
	}
	if len(last) > 0 {
		k.Last = &last[0]
	}
	if err := agree(w, k); err != nil {
		return err
	}
	if err := t.decide(k, decide); err != nil || shape != nil || !t.wrote || w.Tool == "" {
		return err
	}
	return t.books.put(shapeBucket, []byte(w.Tool), shapeValue(w.Declared))
}

// agree compares what the indexes of a kin say of each other: an entry that damage took from one of them must not make an
// operation absent.
func agree(w journal.Wish, k journal.Known) error {
	damaged := func(key journal.Key) error {
		return fmt.Errorf("%w: the indexes disagree about operation %s", journal.ErrDamaged, key)
	}
	recent, unheard := map[journal.Key]bool{}, map[journal.Key]bool{}
	for i := range k.Unheard {
		unheard[k.Unheard[i].Key] = true
	}
	var last *journal.Operation
	for i := range k.Recent {
		op := &k.Recent[i]
		recent[op.Key] = true
		if op.Kin != w.Kin || op.Unheard() != unheard[op.Key] {
			return damaged(op.Key)
		}
		if last == nil && op.Scope == w.Scope {
			last = op
		}
	}
	all := func(op *journal.Operation) bool { // whether Recent must hold it
		return len(k.Recent) < journal.RecentLimit || op.Key > k.Recent[len(k.Recent)-1].Key
	}
	for i := range k.Unheard {
		if op := &k.Unheard[i]; op.Kin != w.Kin || !op.Unheard() || all(op) && !recent[op.Key] {
			return damaged(op.Key)
		}
	}
	switch {
	case last != nil && (k.Last == nil || k.Last.Key != last.Key):
		return damaged(last.Key)
	case last == nil && k.Last != nil && (k.Last.Kin != w.Kin || k.Last.Scope != w.Scope || all(k.Last)):
		return damaged(k.Last.Key)
	}
	return nil
}

// under reads the operations that an index names under a prefix, newest first, at most limit (0: all).
func (t *txn) under(bucket, prefix []byte, limit int) ([]journal.Operation, error) {
	var found []journal.Operation
	c := t.tx.Bucket(bucket).Cursor()
	for k := lastUnder(c, prefix); k != nil && bytes.HasPrefix(k, prefix) && (limit == 0 || len(found) < limit); k, _ = c.Prev() {
		op, err := t.indexed(k[len(prefix):])
		if err != nil {
			return nil, err
		}
		found = append(found, *op)
	}
	return found, nil
}

// lastUnder moves a cursor to the last key with a prefix.
func lastUnder(c *bolt.Cursor, prefix []byte) []byte {
	after := join(prefix, bytes.Repeat([]byte{0xff}, 64))
	if k, _ := c.Seek(after); k == nil {
		k, _ = c.Last()
		return k
	}
	k, _ := c.Prev()
	return k
}

func (t *txn) decide(k journal.Known, decide journal.Decide) error {
	var unread error
	k.High = t.high
	k.Owner = func(account, id string) (journal.Key, bool) {
		key := t.tx.Bucket(ownerBucket).Get(hashKey(account, id))
		return journal.Key(key), key != nil
	}
	k.Spent = func(tool, day string) journal.Spent {
		spent, err := t.spent(hashKey(tool, day))
		if err != nil {
			unread = err
		}
		return spent
	}
	var before *journal.Operation
	if k.Operation != nil { // decide may change what it is given
		b := k.Operation.Clone()
		before = &b
	}
	c, err := asked(decide, k)
	if err == nil {
		err = unread
	}
	if err != nil {
		return err
	}
	for _, r := range c.Records() {
		if before != nil && before.Key == r.Operation.Key {
			err = t.replace(before, r)
		} else {
			err = t.apply(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asked runs decide. A panic in it is a fault of ours, unless it is a page that cannot be read.
func asked(decide journal.Decide, k journal.Known) (c journal.Change, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			panic(r)
		default:
			err = fmt.Errorf("%w: decide: %v", journal.ErrInvariant, r)
		}
	}()
	return decide(k)
}

// apply writes a change: the record, its indexes, its history. All checks come before the first write.
func (t *txn) apply(c journal.Record) error {
	before, err := t.operation(c.Operation.Key)
	if err != nil {
		return err
	}
	return t.replace(before, c)
}

// replace is apply for a record of which this transaction knows what was there before; nil: nothing.
func (t *txn) replace(before *journal.Operation, c journal.Record) error {
	op := c.Operation
	if err := journal.Check(before, op); err != nil {
		return err
	}
	owner := hashKey(op.Account, op.ExternalID)
	if key := t.tx.Bucket(ownerBucket).Get(owner); op.ExternalID != "" && key != nil && string(key) != string(op.Key) {
		return fmt.Errorf("%w: %s", journal.ErrExternalIDTaken, op.ExternalID)
	}
	if before == nil {
		if err := t.mayRegister(op); err != nil {
			return err
		}
	}
	record, err := sealValue([]byte(op.Key), t.running, op)
	if err != nil {
		return err
	}
	t.wrote = true
	p := putter{ledger: t.books}
	p.put(opsBucket, []byte(op.Key), record)
	if before == nil {
		p.register(op)
	}
	p.reindex(before, op)
	if before == nil {
		before = &journal.Operation{}
	}
	t.recount(&p, op.Tool, before.Counted, op.Counted)
	t.history(&p, op.Key, c.Events)
	return p.err
}

// mayRegister checks that a new operation takes nobody's key, intent or number.
func (t *txn) mayRegister(op *journal.Operation) error {
	if err := t.absent(op.Key); !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	if key := t.tx.Bucket(intentBucket).Get(raw(op.Intent)); key != nil {
		return fmt.Errorf("%w: operation %s: its intent has the key %s", journal.ErrInvariant, op.Key, key)
	}
	if key := t.tx.Bucket(numberBucket).Get([]byte(op.Number)); key != nil {
		return fmt.Errorf("%w: operation %s: its number belongs to %s", journal.ErrInvariant, op.Key, key)
	}
	return nil
}

func (t *txn) history(p *putter, k journal.Key, events []journal.Event) {
	next := uint64(0)
	if last := lastUnder(t.tx.Bucket(eventsBucket).Cursor(), join([]byte(k), []byte{0})); bytes.HasPrefix(last, join([]byte(k), []byte{0})) {
		next = binary.BigEndian.Uint64(last[len(last)-8:]) + 1
	}
	for i, e := range events {
		place := join([]byte(k), []byte{0}, be(next+uint64(i)))
		record, err := sealValue(place, t.running, e)
		if err != nil {
			p.err = err
			return
		}
		p.put(eventsBucket, place, record)
	}
}
