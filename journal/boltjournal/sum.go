package boltjournal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// sum is the sum of all entries of a file, in any order: each adds the number that its bucket, key and value hash to. Of a framed
// record only the tail counts, so that one that was spoiled in its own bytes is damage for whoever asks for it, and for nobody else.
type sum struct{ high, low uint64 }

// toggle adds an entry, or takes it out when it was in: addition is exclusive or.
func (s *sum) toggle(bucket, key, value []byte) {
	if framed(bucket) && len(value) >= frameTail {
		value = value[len(value)-frameTail:]
	}
	h := sha256.New()
	var n [16]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(bucket)))
	binary.BigEndian.PutUint64(n[8:], uint64(len(key)))
	h.Write(n[:])
	h.Write(bucket)
	h.Write(key)
	h.Write(value)
	b := h.Sum(nil)
	s.high ^= binary.BigEndian.Uint64(b)
	s.low ^= binary.BigEndian.Uint64(b[8:])
}

// noted is the sum as a commit keeps it, bound to bbolt's number of that transaction: an old page of ours under a new head is seen.
func (s sum) noted(txid uint64) []byte {
	return join(be(s.high), be(s.low), be(txid))
}

func framed(bucket []byte) bool {
	return slices.ContainsFunc([][]byte{opsBucket, eventsBucket, transcriptBucket, spentBucket}, func(b []byte) bool { return bytes.Equal(b, bucket) })
}

// sumOf adds up a file from its entries, which an older version did not.
func sumOf(tx *bolt.Tx) (s sum, err error) {
	for _, name := range allBuckets {
		if bytes.Equal(name, metaBucket) {
			continue
		}
		err := tx.Bucket(name).ForEach(func(k, v []byte) error {
			s.toggle(name, k, v)
			return nil
		})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// readSum is the sum that the last commit noted.
func readSum(tx *bolt.Tx) (s sum) {
	if b := tx.Bucket(metaBucket).Get(metaSum); len(b) == 24 {
		s = sum{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	}
	return s
}

// ledger writes entries and keeps the sum of them.
type ledger struct {
	tx  *bolt.Tx
	sum sum
}

func (l *ledger) put(bucket, key, value []byte) error {
	b := l.tx.Bucket(bucket)
	if old := b.Get(key); old != nil {
		l.sum.toggle(bucket, key, old)
	}
	l.sum.toggle(bucket, key, value)
	return b.Put(key, value)
}

func (l *ledger) drop(bucket, key []byte) error {
	b := l.tx.Bucket(bucket)
	if old := b.Get(key); old != nil {
		l.sum.toggle(bucket, key, old)
	}
	return b.Delete(key)
}

// end notes the sum.
func (l *ledger) end() error {
	return l.tx.Bucket(metaBucket).Put(metaSum, l.sum.noted(uint64(l.tx.ID())))
}
