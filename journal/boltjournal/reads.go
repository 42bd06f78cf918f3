package boltjournal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// DecideByIntent implements journal.Journal.
func (s *Store) DecideByIntent(ctx context.Context, at time.Time, w journal.Wish, decide journal.Decide) error {
	return s.write(ctx, at, func(t *txn) error { return t.byIntent(w, decide) })
}

// DecideByKey implements journal.Journal.
func (s *Store) DecideByKey(ctx context.Context, at time.Time, k journal.Key, decide journal.Decide) error {
	return s.write(ctx, at, func(t *txn) error { return t.byKey(k, decide) })
}

// Declare implements journal.Journal. It holds the file for as long as it takes.
func (s *Store) Declare(ctx context.Context, at time.Time, tool, declared string, place func(journal.Operation) (journal.Place, error)) error {
	return s.write(ctx, at, func(t *txn) error { return t.declare(tool, declared, place) })
}

// Get implements journal.Journal.
func (s *Store) Get(ctx context.Context, k journal.Key) (op journal.Operation, err error) {
	err = s.read(ctx, func(t *txn) error {
		found, err := t.operation(k)
		if err != nil {
			return err
		}
		if found == nil {
			return t.absent(k)
		}
		op = *found
		return nil
	})
	return op, err
}

// Find implements journal.Journal.
func (s *Store) Find(ctx context.Context, text string) (found []journal.Operation, err error) {
	if text == "" {
		return nil, nil
	}
	err = s.read(ctx, func(t *txn) error {
		var keys []string
		damage := t.try(func() error {
			keys = beginWith(t.tx.Bucket(opsBucket), text, func(k, _ []byte) string { return string(k) })
			return nil
		})
		more := t.try(func() error {
			keys = append(keys, beginWith(t.tx.Bucket(numberBucket), text, func(_, v []byte) string { return string(v) })...)
			return nil
		})
		slices.Sort(keys)
		ops, unread := t.readable(slices.Compact(keys))
		found = ops[:min(len(ops), 2)]
		return cmp.Or(damage, more, unread)
	})
	return found, err
}

// beginWith returns what an index names under a text: the entry that is the text, and from eight characters on those that
// begin with it, at most two.
func beginWith(bucket *bolt.Bucket, text string, name func(k, v []byte) string) (names []string) {
	c := bucket.Cursor()
	for k, v := c.Seek([]byte(text)); k != nil && strings.HasPrefix(string(k), text) && len(names) < 2; k, v = c.Next() {
		if len(text) < 8 && string(k) != text {
			break
		}
		names = append(names, name(k, v))
	}
	return names
}

// List implements journal.Journal.
func (s *Store) List(ctx context.Context, q journal.Query) (found []journal.Operation, next journal.Key, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	err = s.read(ctx, func(t *txn) error {
		damage := t.try(func() (err error) {
			found, next, err = t.list(q, limit)
			return err
		})
		if damage == nil && !t.rotten {
			return nil
		}
		ops, unread := t.salvage()
		found, next = selected(ops, q, limit)
		return cmp.Or(damage, unread)
	})
	return found, next, err
}

func (t *txn) list(q journal.Query, limit int) (found []journal.Operation, next journal.Key, err error) {
	c := t.tx.Bucket(opsBucket).Cursor()
	k, _ := c.Last()
	if q.Before != "" {
		if k, _ = c.Seek([]byte(q.Before)); k == nil {
			k, _ = c.Last()
		} else {
			k, _ = c.Prev()
		}
	}
	for ; k != nil; k, _ = c.Prev() {
		op, err := t.indexed(k)
		switch {
		case err != nil:
			return nil, "", err
		case !q.Matches(op):
			continue
		case len(found) == limit:
			return found, found[limit-1].Key, nil
		}
		found = append(found, *op)
	}
	return found, "", nil
}

// Due implements journal.Journal.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (keys []journal.Key, err error) {
	err = s.read(ctx, func(t *txn) error {
		keys = nil
		end := be(nanos(now))
		c := t.tx.Bucket(dueBucket).Cursor()
		for k, _ := c.First(); k != nil && bytes.Compare(k[:8], end) <= 0 && len(keys) < limit; k, _ = c.Next() {
			keys = append(keys, journal.Key(k[8:]))
		}
		for k, _ := c.Seek(be(nanos(now.Add(journal.Horizon)) + 1)); k != nil && len(keys) < limit; k, _ = c.Next() {
			keys = append(keys, journal.Key(k[8:]))
		}
		return nil
	})
	return keys, err
}

// NextDue implements journal.Journal.
func (s *Store) NextDue(ctx context.Context) (due time.Time, ok bool, err error) {
	err = s.read(ctx, func(t *txn) error {
		due, ok = time.Time{}, false
		if k, _ := t.tx.Bucket(dueBucket).Cursor().First(); k != nil {
			due, ok = time.Unix(0, int64(binary.BigEndian.Uint64(k[:8]))), true
		}
		return nil
	})
	return due, ok, err
}

// Review implements journal.Journal.
func (s *Store) Review(ctx context.Context, limit int) (found []journal.Operation, err error) {
	err = s.read(ctx, func(t *txn) error {
		damage := t.try(func() (err error) {
			found, err = t.review(limit)
			return err
		})
		if damage == nil && !t.rotten {
			return nil
		}
		ops, unread := t.salvage()
		found = waiting(ops, limit)
		return cmp.Or(damage, unread)
	})
	return found, err
}

func (t *txn) review(limit int) (found []journal.Operation, err error) {
	c := t.tx.Bucket(reviewBucket).Cursor()
	for k, _ := c.First(); k != nil && len(found) < limit; k, _ = c.Next() {
		op, err := t.indexed(k[8:])
		if err != nil {
			return nil, err
		}
		found = append(found, *op)
	}
	return found, nil
}

// History implements journal.Journal.
func (s *Store) History(ctx context.Context, key journal.Key) (events []journal.Event, err error) {
	err = s.read(ctx, func(t *txn) error {
		events = nil
		if t.tx.Bucket(opsBucket).Get([]byte(key)) == nil {
			return t.absent(key)
		}
		prefix := join([]byte(key), []byte{0})
		c := t.tx.Bucket(eventsBucket).Cursor()
		var damage error
		n := uint64(0)
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if at := binary.BigEndian.Uint64(k[len(k)-8:]); at != n {
				damage = cmp.Or(damage, fmt.Errorf("%w: the history of operation %s has a gap", journal.ErrDamaged, key))
				n = at
			}
			n++
			var e journal.Event
			if err := openValue(k, v, t.now(), &e); err != nil {
				damage = cmp.Or(damage, err)
				continue
			}
			events = append(events, e)
		}
		return damage
	})
	return events, err
}

// DigestKey implements journal.Journal.
func (s *Store) DigestKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	get := func(t *txn) error {
		key = slices.Clone(t.tx.Bucket(metaBucket).Get(metaDigest))
		return nil
	}
	if err := s.read(ctx, get); err != nil || key != nil {
		return key, err
	}
	err = s.write(ctx, time.Time{}, func(t *txn) error {
		if get(t); key != nil {
			return nil
		}
		t.wrote = true
		key = slices.Clone(fresh)
		return t.tx.Bucket(metaBucket).Put(metaDigest, fresh)
	})
	return key, err
}

// Append implements journal.Transcripts.
func (s *Store) Append(ctx context.Context, task string, n int, entry []byte) (taken bool, err error) {
	if task == "" || len(task) > journal.MaxTask {
		return false, fmt.Errorf("%w: a task's name of %d bytes", journal.ErrInvariant, len(task))
	}
	err = s.write(ctx, time.Time{}, func(t *txn) error {
		taken = false
		have := t.length(task)
		switch {
		case n < have:
			taken = true
			return nil
		case n > have:
			return fmt.Errorf("%w: task %q has %d entries, entry %d cannot be added", journal.ErrInvariant, task, have, n)
		}
		t.wrote = true
		place := join(hashKey(task), be(uint64(n)))
		if err := t.books.put(transcriptBucket, place, seal(place, t.running, entry)); err != nil {
			return err
		}
		return t.books.put(lengthBucket, []byte(task), be(uint64(n+1)))
	})
	return taken, err
}

func (t *txn) length(task string) int {
	if b := t.tx.Bucket(lengthBucket).Get([]byte(task)); len(b) == 8 {
		return int(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Entries implements journal.Transcripts.
func (s *Store) Entries(ctx context.Context, task string) (entries [][]byte, err error) {
	err = s.read(ctx, func(t *txn) error {
		entries = nil
		for n := range t.length(task) {
			place := join(hashKey(task), be(uint64(n)))
			b := t.tx.Bucket(transcriptBucket).Get(place)
			if b == nil {
				return fmt.Errorf("%w: entry %d of task %q is missing", journal.ErrDamaged, n, task)
			}
			payload, err := open(place, b, t.now())
			if err != nil {
				return err
			}
			entries = append(entries, slices.Clone(payload))
		}
		return nil
	})
	return entries, err
}

// Tasks implements journal.Transcripts.
func (s *Store) Tasks(ctx context.Context) (names []string, entries []int, err error) {
	err = s.read(ctx, func(t *txn) error {
		names, entries = nil, nil
		return t.tx.Bucket(lengthBucket).ForEach(func(k, v []byte) error {
			names = append(names, string(k))
			entries = append(entries, int(binary.BigEndian.Uint64(v)))
			return nil
		})
	})
	return names, entries, err
}
