package boltjournal

import (
	"notwice/journal"
)

func (t *txn) spent(place []byte) (s journal.Spent, err error) {
	if b := t.tx.Bucket(spentBucket).Get(place); b != nil {
		err = openValue(place, b, t.now(), &s)
	}
	return s, err
}

// recount moves the counters of the limits.
func (t *txn) recount(p *putter, tool string, before, after *journal.Counted) {
	for _, day := range journal.Recount(before, after) {
		place := hashKey(tool, day.Day)
		spent, err := t.spent(place)
		var record []byte
		if err == nil {
			record, err = sealValue(place, t.running, spent.Add(day.More).Sub(day.Less))
		}
		if err != nil {
			p.err = err
			return
		}
		p.put(spentBucket, place, record)
	}
}
