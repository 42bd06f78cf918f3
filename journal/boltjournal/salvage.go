package boltjournal

import (
	"bytes"
	"cmp"
	"slices"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// A damaged file is read as far as it can be. A page that cannot be followed ends the walk that comes to it, so the keys of
// operations are looked for in several places and from both ends, and each operation is then read by its own key.

// try runs a part of a read. A page that cannot be followed ends this part only.
func (t *txn) try(run func() error) (err error) {
	defer recovered(&err)
	return run()
}

// salvage reads all operations that can be read, newest first. The error is the first reason why something cannot be; nil says only
// that nothing in the way of it was met.
func (t *txn) salvage() ([]journal.Operation, error) {
	var keys []string
	note := func(k []byte) { keys = append(keys, string(k)) }
	damage := t.walk(opsBucket, func(k, _ []byte) { note(k) })
	damage = cmp.Or(damage, t.walk(numberBucket, func(_, v []byte) { note(v) }))
	damage = cmp.Or(damage, t.walk(eventsBucket, func(k, _ []byte) {
		if key, _, ok := bytes.Cut(k, []byte{0}); ok {
			note(key)
		}
	}))
	slices.Sort(keys)
	ops, unread := t.readable(slices.Compact(keys))
	slices.Reverse(ops)
	return ops, cmp.Or(damage, unread)
}

// walk shows the entries of a bucket, forward and backward, each way as far as it goes.
func (t *txn) walk(bucket []byte, show func(k, v []byte)) error {
	way := func(first, next func(*bolt.Cursor) (k, v []byte)) error {
		return t.try(func() error {
			c := t.tx.Bucket(bucket).Cursor()
			for k, v := first(c); k != nil; k, v = next(c) {
				show(k, v)
			}
			return nil
		})
	}
	damage := way((*bolt.Cursor).First, (*bolt.Cursor).Next)
	if damage == nil {
		return nil
	}
	way((*bolt.Cursor).Last, (*bolt.Cursor).Prev)
	return damage
}

// readable reads the operations with these keys, in their order; the error is that of the first that cannot be read.
func (t *txn) readable(keys []string) (ops []journal.Operation, damage error) {
	for _, k := range keys {
		err := t.try(func() error {
			op, err := t.indexed([]byte(k))
			if err == nil {
				ops = append(ops, *op)
			}
			return err
		})
		damage = cmp.Or(damage, err)
	}
	return ops, damage
}

// selected is what List returns of all operations.
func selected(ops []journal.Operation, q journal.Query, limit int) (found []journal.Operation, next journal.Key) {
	for i := range ops {
		switch op := &ops[i]; {
		case q.Before != "" && op.Key >= q.Before, !q.Matches(op):
		case len(found) == limit:
			return found, found[limit-1].Key
		default:
			found = append(found, *op)
		}
	}
	return found, ""
}

// waiting is what Review returns of all operations.
func waiting(ops []journal.Operation, limit int) []journal.Operation {
	ops = slices.DeleteFunc(ops, func(op journal.Operation) bool { return !op.InReview() })
	slices.SortFunc(ops, func(a, b journal.Operation) int {
		return cmp.Or(cmp.Compare(nanos(a.ReviewSince()), nanos(b.ReviewSince())), cmp.Compare(a.Key, b.Key))
	})
	return ops[:min(len(ops), limit)]
}
