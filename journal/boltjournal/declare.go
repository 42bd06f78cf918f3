package boltjournal

import (
	"notwice/journal"
)

// declare indexes a tool's operations anew.
func (t *txn) declare(tool, declared string, place func(journal.Operation) (journal.Place, error)) error {
	var moved []*journal.Operation
	err := t.each(func(op *journal.Operation) error {
		if op.Tool != tool {
			return nil
		}
		to, err := place(op.Clone())
		if err == nil && (to.Kin != op.Kin || to.Scope != op.Scope) {
			moved = append(moved, op)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.wrote = true
	p := putter{ledger: t.books}
	for _, op := range moved {
		to, err := place(op.Clone())
		if err != nil {
			return err
		}
		if err := t.rehouse(&p, op, to); err != nil {
			return err
		}
	}
	p.put(shapeBucket, []byte(tool), shapeValue(declared))
	return p.err
}

// rehouse moves one operation to another place in the indexes.
func (t *txn) rehouse(p *putter, before *journal.Operation, to journal.Place) error {
	key, after := []byte(before.Key), before.Clone()
	after.Kin, after.Scope = to.Kin, to.Scope
	if err := journal.Check(nil, &after); err != nil {
		return err
	}
	record, err := sealValue(key, t.running, after)
	if err != nil {
		return err
	}
	p.put(opsBucket, key, record)
	p.move(kinBucket, join(raw(before.Kin), key), join(raw(after.Kin), key))
	p.move(scopeBucket, join(raw(before.Kin), hashKey(before.Scope), key), join(raw(after.Kin), hashKey(after.Scope), key))
	p.move(unheardBucket, unheardPlace(before), unheardPlace(&after))
	return p.err
}
