package boltjournal

import (
	"bytes"
	"time"

	"notwice/journal"
)

// putter writes until the first error.
type putter struct {
	*ledger
	err error
}

func (p *putter) put(bucket, key, value []byte) {
	if p.err == nil {
		p.err = p.ledger.put(bucket, key, value)
	}
}

func (p *putter) move(bucket []byte, before, after []byte) {
	if bytes.Equal(before, after) {
		return
	}
	if before != nil && p.err == nil {
		p.err = p.drop(bucket, before)
	}
	if after != nil {
		p.put(bucket, after, []byte{})
	}
}

// register writes what never changes.
func (p *putter) register(op *journal.Operation) {
	key := []byte(op.Key)
	p.put(intentBucket, raw(op.Intent), key)
	p.put(kinBucket, join(raw(op.Kin), key), []byte{})
	p.put(scopeBucket, join(raw(op.Kin), hashKey(op.Scope), key), []byte{})
	p.put(numberBucket, []byte(op.Number), key)
	p.put(taskBucket, hashKey(op.Task), be(uint64(op.TaskSeq)))
	if op.Position != "" {
		p.put(placeBucket, hashKey(op.Position), key)
	}
}

// reindex moves the operation within the indexes of what changes.
func (p *putter) reindex(before, after *journal.Operation) {
	none := &journal.Operation{Status: journal.Succeeded, Scope: journal.JournalScope}
	if before == nil {
		before = none
	}
	p.move(unheardBucket, unheardPlace(before), unheardPlace(after))
	p.move(dueBucket, timePlace(before.Due, before.Key), timePlace(after.Due, after.Key))
	p.move(reviewBucket, reviewPlace(before), reviewPlace(after))
	if before.ExternalID != after.ExternalID {
		if before.ExternalID != "" && p.err == nil {
			p.err = p.drop(ownerBucket, hashKey(before.Account, before.ExternalID))
		}
		if after.ExternalID != "" {
			p.put(ownerBucket, hashKey(after.Account, after.ExternalID), []byte(after.Key))
		}
	}
}

func unheardPlace(op *journal.Operation) []byte {
	if !op.Unheard() {
		return nil
	}
	return join(raw(op.Kin), []byte(op.Key))
}

func reviewPlace(op *journal.Operation) []byte {
	if !op.InReview() {
		return nil
	}
	return timePlace(op.ReviewSince(), op.Key)
}

func timePlace(at time.Time, k journal.Key) []byte {
	if at.IsZero() {
		return nil
	}
	return join(be(nanos(at)), []byte(k))
}
