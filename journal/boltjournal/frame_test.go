package boltjournal

import (
	"bytes"
	"testing"

	"notwice/journal"
)

// Bytes that nobody sealed are never a record; a record that was, is read back, and with any other place or number it is none.
func FuzzRecord(f *testing.F) {
	op := opOf("fuzz", 1)
	whole, err := sealValue([]byte(op.Key), 7, op)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(op.Key), whole, uint64(7))
	f.Add([]byte("k"), seal([]byte("k"), 1, []byte(`{"key":"k","epoch":1e99}`)), uint64(3))
	f.Add([]byte("k"), []byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, place, b []byte, running uint64) {
		var got journal.Operation
		if err := openValue(place, b, running, &got); err == nil {
			again, err := sealValue(place, running, got)
			if err != nil {
				t.Fatal(err)
			}
			var twice journal.Operation
			if err := openValue(place, again, running, &twice); err != nil {
				t.Fatalf("a record that was read cannot be written and read: %v", err)
			}
		}
		sealed := seal(place, running, b)
		if payload, err := open(place, sealed, running); err != nil || !bytes.Equal(payload, b) {
			t.Fatalf("sealed %x, opened %x: %v", b, payload, err)
		}
		if _, err := open(append([]byte{1}, place...), sealed, running); err == nil {
			t.Fatal("a record is good at another place")
		}
		if running > 0 {
			if _, err := open(place, sealed, running-1); err == nil {
				t.Fatal("a record of a later commit is good")
			}
		}
	})
}
