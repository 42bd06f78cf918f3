package boltjournal

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// A record that cannot be read takes no other with it: they are listed, together with the error.
func TestListsBesideADamagedRecord(t *testing.T) {
	path, ops := made(t, 6)
	s := openAt(t, path, Options{})
	for _, i := range []int{1, 3} { // a contradiction puts them into the review queue
		err := s.DecideByKey(background, ops[i].Registered, ops[i].Key, func(k journal.Known) (journal.Change, error) {
			k.Operation.Flags = []journal.Flag{{At: ops[i].Registered, What: "against_final"}}
			return journal.Change{Operation: k.Operation}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	spoil(t, path, func(tx *bolt.Tx) error {
		b := tx.Bucket(opsBucket)
		record := bytes.Clone(b.Get([]byte(ops[3].Key)))
		record[len(record)/2] ^= 4
		return b.Put([]byte(ops[3].Key), record)
	})
	s = openAt(t, path, Options{})
	found, next, err := s.List(background, journal.Query{})
	wantDamage(t, "list", err)
	wantKeys(t, "list", found, ops[5], ops[4], ops[2], ops[1], ops[0])
	if next != "" {
		t.Errorf("all is listed, and yet there is more behind %s", next)
	}
	found, next, err = s.List(background, journal.Query{Limit: 2, Before: ops[5].Key})
	wantDamage(t, "a page of the list", err)
	wantKeys(t, "a page of the list", found, ops[4], ops[2])
	if next != ops[2].Key {
		t.Errorf("it goes on behind %q", next)
	}
	found, err = s.Review(background, 10)
	wantDamage(t, "review", err)
	wantKeys(t, "review", found, ops[1])
	found, err = s.Find(background, string(ops[2].Key))
	if err != nil {
		t.Errorf("who asks for another is told nothing of it: %v", err)
	}
	wantKeys(t, "find", found, ops[2])
}

// Whatever page of a journal is emptied, each operation that can be read by its key is listed.
func TestListsBesideARottenPage(t *testing.T) {
	path, ops := made(t, 60)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lists, short := 0, 0
	for id := 2; id < len(whole)/pageSize; id++ {
		data := bytes.Clone(whole)
		clear(data[id*pageSize : (id+1)*pageSize])
		write(t, path, data)
		s, err := Open(path, Options{})
		if err != nil {
			wantDamage(t, "open", err)
			continue
		}
		found, _, err := s.List(background, journal.Query{Limit: 100})
		if err != nil {
			wantDamage(t, "list", err)
		}
		listed := map[journal.Key]journal.Operation{}
		for _, op := range found {
			listed[op.Key] = op
		}
		for _, want := range ops {
			op, err := s.Get(background, want.Key)
			if op.Key == "" {
				wantDamage(t, "get", err)
				continue
			}
			if !reflect.DeepEqual(listed[want.Key], want) || !reflect.DeepEqual(op, want) {
				t.Errorf("page %d: operation %s can be read and is not listed", id, want.Key)
			}
		}
		if lists++; len(found) < len(ops) {
			short++
		}
		if err == nil && len(found) < len(ops) {
			t.Errorf("page %d: %d of %d operations are listed as if they were all", id, len(found), len(ops))
		}
		s.Close()
	}
	t.Logf("%d files were listed, %d of them in part", lists, short)
	if short == 0 {
		t.Error("no page took an operation with it")
	}
}

// The history of which an entry cannot be read is told without it, together with the error.
func TestHistoryBesideADamagedEntry(t *testing.T) {
	path, ops := made(t, 2)
	s := openAt(t, path, Options{})
	whole, err := s.History(background, ops[0].Key)
	if err != nil || len(whole) != 2 {
		t.Fatalf("%v: %v", err, whole)
	}
	s.Close()
	spoil(t, path, func(tx *bolt.Tx) error {
		return tx.Bucket(eventsBucket).Put(join([]byte(ops[0].Key), []byte{0}, be(0)), []byte("x"))
	})
	events, err := openAt(t, path, Options{}).History(background, ops[0].Key)
	wantDamage(t, "history", err)
	if !reflect.DeepEqual(events, whole[1:]) {
		t.Errorf("of %v there is %v", whole, events)
	}
}

func wantKeys(t *testing.T, what string, found []journal.Operation, want ...journal.Operation) {
	t.Helper()
	var have, should []journal.Key
	for _, op := range found {
		have = append(have, op.Key)
	}
	for _, op := range want {
		should = append(should, op.Key)
	}
	if !reflect.DeepEqual(have, should) {
		t.Errorf("%s: %v, want %v", what, have, should)
	}
}
