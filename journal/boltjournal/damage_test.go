package boltjournal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// made is a journal with n operations, half of them settled; it is closed.
func made(t testing.TB, n int) (path string, ops []journal.Operation) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal.db")
	s := openAt(t, path, Options{})
	for i := range n {
		op := opOf("made", i)
		if err := registerIn(s, op); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := settleIn(s, op.Key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Append(background, "task", 0, []byte("entry")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		op, err := openAt(t, path, Options{}).Get(background, opOf("made", i).Key)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	return path, ops
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever took the journal's place: an error, never a panic, never a fresh empty journal in its stead.
func TestCase145DamagedFiles(t *testing.T) {
	path, _ := made(t, 40)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"the first 4 KB zeroed": append(make([]byte, 4096), whole[4096:]...),
		"the first 8 KB zeroed": append(make([]byte, 8192), whole[8192:]...),
		"cut to half":           whole[:len(whole)/2],
		"cut to 100 bytes":      whole[:100],
		"empty":                 {},
		"a text file":           bytes.Repeat([]byte("this is a letter, not a journal\n"), 1000),
		"zeros":                 make([]byte, len(whole)),
	} {
		t.Run(name, func(t *testing.T) {
			write(t, path, data)
			s, err := Open(path, Options{Patience: 2 * time.Second})
			if err == nil { // bbolt keeps two heads: one zeroed leaves an older state, which must be noticed
				err = registerIn(s, opOf("new", 1))
				s.Close()
			}
			if !errors.Is(err, journal.ErrDamaged) && !errors.Is(err, journal.ErrRollback) {
				t.Errorf("error %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
				t.Errorf("the file was touched: %d bytes before, %d after, %v", len(data), len(after), err)
			}
		})
	}
	write(t, path, whole)
	if n := readAll(t, path); n != 40 {
		t.Errorf("the whole file holds %d operations", n)
	}
}

func TestCase145DamageInTheMiddle(t *testing.T) {
	path, ops := made(t, 12)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	var used []int
	for i, b := range whole {
		if b != 0 {
			used = append(used, i)
		}
	}
	random := rand.New(rand.NewPCG(145, 1))
	seen, silent := 0, 0
	for range 400 {
		bit := used[random.IntN(len(used))]*8 + random.IntN(8)
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		write(t, path, data)
		write(t, path+".lock", lock)
		if flipped(t, path, ops, fmt.Sprintf("byte %d, bit %d", bit/8, bit%8)) {
			seen++
		} else {
			silent++
		}
		if t.Failed() {
			return
		}
	}
	if seen == 0 {
		t.Error("no flip was ever noticed")
	}
	t.Logf("%d flips were noticed, %d did not matter", seen, silent)
}

// flipped asks a file with one flipped bit about everything that it held. Each answer is right or an error; a known
// operation is never absent. noticed reports whether there was an error.
func flipped(t *testing.T, path string, ops []journal.Operation, what string) (noticed bool) {
	t.Helper()
	wrong := func(err error) bool {
		if err != nil && !errors.Is(err, journal.ErrDamaged) && !errors.Is(err, journal.ErrRollback) && !errors.Is(err, journal.ErrVersion) {
			t.Errorf("%s: %v", what, err)
		}
		noticed = noticed || err != nil
		return err != nil
	}
	s, err := Open(path, Options{Patience: 2 * time.Second, Idle: time.Microsecond})
	if wrong(err) {
		return
	}
	defer s.Close()
	for _, want := range ops {
		op, err := s.Get(background, want.Key)
		if !wrong(err) && !reflect.DeepEqual(op, want) {
			t.Errorf("%s: operation %s reads otherwise", what, want.Key)
		}
		w := journal.Wish{Kin: want.Kin, Scope: want.Scope, Task: want.Task}
		wrong(s.DecideByIntent(background, time.Time{}, w, func(k journal.Known) (journal.Change, error) {
			if k.Last == nil || k.Last.Key != want.Key || len(k.Recent) != 1 || (len(k.Unheard) == 1) != want.Unheard() {
				t.Errorf("%s: operation %s is absent for its intent", what, want.Key)
			}
			return journal.Change{}, nil
		}))
		_, err = s.History(background, want.Key)
		wrong(err)
	}
	return
}

// A record flipped in its own bytes is damage for whoever asks for it, and for nobody else; effects of its intent stop.
func TestCase145DamagedRecord(t *testing.T) {
	path, ops := made(t, 6)
	spoil(t, path, func(tx *bolt.Tx) error {
		b := tx.Bucket(opsBucket)
		record := bytes.Clone(b.Get([]byte(ops[2].Key)))
		record[len(record)/2] ^= 4
		return b.Put([]byte(ops[2].Key), record)
	})
	s := openAt(t, path, Options{})
	none := func(journal.Known) (journal.Change, error) {
		t.Error("S16: decide was asked about a damaged record")
		return journal.Change{}, nil
	}
	_, err := s.Get(background, ops[2].Key)
	wantDamage(t, "get", err)
	wantDamage(t, "by key", s.DecideByKey(background, time.Time{}, ops[2].Key, none))
	wantDamage(t, "by intent", s.DecideByIntent(background, time.Time{}, journal.Wish{Kin: ops[2].Kin, Scope: ops[2].Scope}, none))
	wantDamage(t, "register again", registerIn(s, opOf("made", 2)))
	_, _, err = s.List(background, journal.Query{})
	wantDamage(t, "list", err)
	if err := settleIn(s, ops[3].Key); err != nil {
		t.Errorf("the others go on: %v", err)
	}
}

func wantDamage(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("S16: %s: %v, want %v", what, err, journal.ErrDamaged)
	}
}

// spoil changes the file behind the store's back.
func spoil(t testing.TB, path string, do func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err == nil {
		err = db.Update(func(tx *bolt.Tx) error {
			books := ledger{tx, readSum(tx)} // as a bad disk would leave it: nothing else is changed
			return errors.Join(do(tx), books.end())
		})
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An entry that is missing from any one index makes the journal refuse, never forget.
func TestMissingIndexEntries(t *testing.T) {
	for name, take := range map[string]func(*bolt.Tx, journal.Operation) error{
		"record": func(tx *bolt.Tx, op journal.Operation) error { return tx.Bucket(opsBucket).Delete([]byte(op.Key)) },
		"kin": func(tx *bolt.Tx, op journal.Operation) error {
			return tx.Bucket(kinBucket).Delete(join(raw(op.Kin), []byte(op.Key)))
		},
		"unheard": func(tx *bolt.Tx, op journal.Operation) error {
			return tx.Bucket(unheardBucket).Delete(unheardPlace(&op))
		},
		"scope": func(tx *bolt.Tx, op journal.Operation) error {
			return tx.Bucket(scopeBucket).Delete(join(raw(op.Kin), hashKey(op.Scope), []byte(op.Key)))
		},
		"history": func(tx *bolt.Tx, op journal.Operation) error {
			return tx.Bucket(eventsBucket).Put(join([]byte(op.Key), []byte{0}, be(0)), []byte("x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, ops := made(t, 6)
			spoil(t, path, func(tx *bolt.Tx) error { return take(tx, ops[3]) })
			s := openAt(t, path, Options{})
			if name == "history" {
				_, err := s.History(background, ops[3].Key)
				wantDamage(t, "history", err)
				return
			}
			wantDamage(t, "the intent", registerIn(s, opOf("made", 3)))
			if name == "record" {
				_, err := s.Get(background, ops[3].Key)
				wantDamage(t, "get", err)
				_, err = s.History(background, ops[3].Key)
				wantDamage(t, "history", err)
				wantDamage(t, "by key", settleIn(s, ops[3].Key))
			}
		})
	}
}

func TestNewerVersionRefused(t *testing.T) {
	path, _ := made(t, 2)
	spoil(t, path, func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(metaVersion, be(schemaVersion+1)) })
	if _, err := Open(path, Options{}); !errors.Is(err, journal.ErrVersion) {
		t.Errorf("a newer file: %v", err)
	}
	path, ops := made(t, 2)
	spoil(t, path, func(tx *bolt.Tx) error { // a record of a newer version in a file of ours
		record := bytes.Clone(tx.Bucket(opsBucket).Get([]byte(ops[0].Key)))
		record[0] = frameVersion + 1
		return tx.Bucket(opsBucket).Put([]byte(ops[0].Key), record)
	})
	if _, err := openAt(t, path, Options{}).Get(background, ops[0].Key); !errors.Is(err, journal.ErrVersion) {
		t.Errorf("a newer record: %v", err)
	}
}

// An older copy is read, and not written (S19).
func TestOlderCopyIsRollback(t *testing.T) {
	path, ops := made(t, 4)
	copied, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path, Options{})
	later := opOf("later", 1)
	if err := registerIn(s, later); err != nil {
		t.Fatal(err)
	}
	s.Close()
	write(t, path, copied)
	s = openAt(t, path, Options{})
	if op, err := s.Get(background, ops[1].Key); err != nil || op.Key != ops[1].Key {
		t.Errorf("reads: %v", err)
	}
	if _, err := s.Get(background, later.Key); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("an older copy says that an operation never was: %v", err)
	}
	if err := settleIn(s, ops[1].Key); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("by key: %v", err)
	}
	if err := registerIn(s, opOf("later", 2)); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("by intent: %v", err)
	}
	if _, err := s.Append(background, "task", 1, nil); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("append: %v", err)
	}
	s.Later(time.Time{}, ops[1].Key, func(journal.Known) (journal.Change, error) {
		t.Error("a rider was written into an older copy")
		return journal.Change{}, nil
	})
	if err := s.Close(); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("close with a rider: %v", err)
	}
}

func TestDeletedFileIsRollback(t *testing.T) {
	path, ops := made(t, 2)
	s := openAt(t, path, Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"write": registerIn(s, opOf("later", 1)), "settle": settleIn(s, ops[1].Key)} {
		if !errors.Is(err, journal.ErrRollback) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Get(background, ops[0].Key); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("read: %v", err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, journal.ErrRollback) {
		t.Errorf("open: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a fresh journal took the place of the deleted one")
	}
}

func TestPermissions(t *testing.T) {
	path, _ := made(t, 1)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, journal.ErrPermissions) {
		t.Errorf("a file that others may read: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, journal.ErrPermissions) {
		t.Errorf("a folder that others may write: %v", err)
	}
	nested := filepath.Join(t.TempDir(), "a", "b", "journal.db")
	openAt(t, nested, Options{})
	if info, err := os.Stat(filepath.Dir(nested)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a new folder: %v %v", info.Mode(), err)
	}
}

// The mark beside the file was never synced: a loss of power may leave zeros, which say nothing. Anything else that cannot
// be read is damage.
func TestMark(t *testing.T) {
	path, ops := made(t, 2)
	write(t, path+".lock", make([]byte, 64))
	if err := settleIn(openAt(t, path, Options{}), ops[1].Key); err != nil {
		t.Errorf("a mark of zeros: %v", err)
	}
	write(t, path+".lock", []byte("something else stands here, not a mark"))
	_, err := Open(path, Options{})
	wantDamage(t, "a mark that is none", err)
}

func TestFrame(t *testing.T) {
	place := []byte("place")
	record := seal(place, 7, []byte("payload"))
	if payload, err := open(place, record, 7); err != nil || string(payload) != "payload" {
		t.Fatalf("%q %v", payload, err)
	}
	_, err := open([]byte("other"), record, 7)
	wantDamage(t, "moved", err)
	_, err = open(place, record, 6)
	wantDamage(t, "from the future", err)
	for i := range record {
		for bit := range 8 {
			spoiled := bytes.Clone(record)
			spoiled[i] ^= 1 << bit
			if _, err := open(place, spoiled, 1<<62); err == nil {
				t.Errorf("a flip of bit %d in byte %d is not seen", bit, i)
			}
		}
		if _, err := open(place, record[:i], 7); err == nil {
			t.Errorf("a record cut to %d bytes is not seen", i)
		}
	}
	if got := binary.BigEndian.Uint64(record[1:]); got != 7 {
		t.Errorf("running number %d", got)
	}
}

// A file of version 1 knew no declarations and no counters: it is brought up, its operations are there, and no tool of it is
// taken to be indexed as today's declarations say.
func TestVersionOneIsMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openAt(t, path, Options{})
	op := opOf("old", 1)
	if err := registerIn(s, op); err != nil {
		t.Fatal(err)
	}
	s.Close()
	spoil(t, path, func(tx *bolt.Tx) error {
		return errors.Join(tx.DeleteBucket(spentBucket), tx.DeleteBucket(shapeBucket), tx.Bucket(metaBucket).Put(metaVersion, be(1)))
	})
	s = openAt(t, path, Options{})
	if _, err := s.Get(background, op.Key); err != nil {
		t.Errorf("the operation: %v", err)
	}
	w := journal.Wish{Tool: op.Tool, Declared: "today", Kin: op.Kin, Scope: op.Scope, Task: op.Task}
	err := s.DecideByIntent(background, op.Registered, w, func(journal.Known) (journal.Change, error) { return journal.Change{}, nil })
	if !errors.Is(err, journal.ErrDeclared) {
		t.Errorf("the old indexes were trusted: %v", err)
	}
}

// Rot: a page flipped, taken for another, emptied, left as it was before, or the file cut; in a file that shows that it was touched, and
// in one that does not, as a bad disk leaves it, and was read whole a while ago. Whatever is answered is right, or says that something is
// lost.
func TestRot(t *testing.T) {
	path, ops := made(t, 60)
	past, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path, Options{})
	for i := range 12 {
		op := opOf("later", i)
		if err := registerIn(s, op); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	s.Close()
	everything := inquiry{ops: []journal.Operation{ops[0], ops[1], ops[30], ops[59], ops[60], ops[71]}, tasks: []string{"task"}}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	says, err := everything.read(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	left, err := readMark(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	idle := regexp.MustCompile(`whole=\d+`).ReplaceAll(lines, fmt.Appendf(nil, "whole=%020d", time.Now().Add(-wholeFor).UnixNano()))
	random := rand.New(rand.NewPCG(4, 2))
	pages := len(whole) / pageSize
	page := func(b []byte, i int) []byte { return b[i*pageSize : (i+1)*pageSize] }
	kinds := []func(data []byte, i, j int) []byte{
		func(data []byte, i, j int) []byte { data[i*pageSize+j*61%pageSize] ^= 1 << (j % 8); return data },
		func(data []byte, i, j int) []byte {
			copy(page(data, i), page(whole, j))
			copy(page(data, j), page(whole, i))
			return data
		},
		func(data []byte, i, j int) []byte { // another page that says it is this one
			copy(page(data, i)[8:], page(whole, j)[8:])
			return data
		},
		func(data []byte, i, j int) []byte { clear(page(data, i)); return data },
		func(data []byte, i, j int) []byte {
			copy(page(data, i), page(past, i%(len(past)/pageSize)))
			return data
		},
		func(data []byte, i, j int) []byte { return data[:i*pageSize+j*16] },
		func(data []byte, i, j int) []byte { // an entry of a branch leads somewhere else
			binary.NativeEndian.PutUint64(page(data, i)[pageHead+8+16*(j%3):], uint64(2+j%(pages-2)))
			return data
		},
	}
	seen := make([]int, len(kinds))
	for n := range 40 * len(kinds) {
		kind := n % len(kinds)
		data := kinds[kind](bytes.Clone(whole), 2+random.IntN(pages-2), 2+random.IntN(pages-2))
		write(t, path, data)
		write(t, path+".lock", idle)
		if n%2 == 1 {
			if err := os.Chtimes(path, time.Time{}, time.Unix(0, left.changed)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := everything.read(path)
		if err == nil {
			v := compare(got, says, says)
			if v.wrong != "" {
				t.Errorf("rot %d of kind %d: %s", n, kind, v.wrong)
			}
			err = nil
			if v.loud {
				err = journal.ErrDamaged
			}
		}
		if err != nil {
			seen[kind]++
		}
	}
	for kind, n := range seen {
		if n == 0 {
			t.Errorf("rot of kind %d was never noticed", kind)
		}
	}
	t.Logf("noticed, by kind, of 40 each: %v", seen)
}

// A page that leads back to itself would be followed until memory is full, which ends the process. It is seen also where the page is
// wrong in another way, for bbolt follows it all the same.
func TestPageThatLeadsToItself(t *testing.T) {
	path, _ := made(t, 60)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]func(p []byte, id int) []byte{
		"otherwise whole":   func(p []byte, _ int) []byte { return p },
		"of too many pages": func(p []byte, id int) []byte { p[id*pageSize+12] = 0xff; return p },
		"without entries":   func(p []byte, id int) []byte { p[id*pageSize+10] = 0; return p },
		"out of the file": func(p []byte, id int) []byte {
			binary.NativeEndian.PutUint64(p[id*pageSize+pageHead+8:], 0)
			p[id*pageSize+11] = 0xff
			return p
		},
		"through a list of free pages": func(p []byte, id int) []byte {
			free := int(word(p[pageHead+32:]))
			binary.NativeEndian.PutUint64(p[id*pageSize+pageHead+8:], uint64(free))
			for n := range 100 {
				binary.NativeEndian.PutUint64(p[free*pageSize+pageHead+16*n+8:], uint64(id))
			}
			binary.NativeEndian.PutUint16(p[free*pageSize+10:], 100)
			return p
		},
	}
	found := 0
	for id := 2; id < len(data)/pageSize; id++ {
		here := data[id*pageSize:]
		if word(here) != uint64(id) || quarter(here[8:]) != branchPage || !inUse(t, path, data, id) {
			continue
		}
		found++
		for name, how := range wrong {
			p := bytes.Clone(data)
			binary.NativeEndian.PutUint64(p[id*pageSize+pageHead+8:], uint64(id))
			write(t, path, how(p, id))
			if _, err := Open(path, Options{}); !errors.Is(err, journal.ErrDamaged) {
				t.Errorf("page %d, %s: %v", id, name, err)
			}
		}
	}
	if found == 0 {
		t.Error("the journal has no branch")
	}
}

// inUse reports whether a page belongs to the tree: without it the file is damaged.
func inUse(t *testing.T, path string, data []byte, id int) bool {
	p := bytes.Clone(data)
	clear(p[id*pageSize : (id+1)*pageSize])
	write(t, path, p)
	damaged, err := inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	return damaged != nil
}

// A damaged file is not written, not even to bring it up to this version.
func TestDamagedFileIsNotMigrated(t *testing.T) {
	path, ops := made(t, 60)
	spoil(t, path, func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(metaVersion, be(2)) })
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for id := 2; id < len(data)/pageSize; id++ {
		if here := data[id*pageSize:]; word(here) == uint64(id) && quarter(here[8:]) == branchPage {
			clear(data[id*pageSize : (id+1)*pageSize])
		}
	}
	write(t, path, data)
	s, err := Open(path, Options{})
	if err == nil {
		err = errors.Join(registerIn(s, opOf("later", 1)), settleIn(s, ops[1].Key))
		s.Close()
	}
	wantDamage(t, "a damaged file of an older version", err)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
		t.Errorf("it was written, %v", err)
	}
}

// Where the system does not name its runs, only a program that has seen the file whole trusts it as it was left.
func TestUntouchedWithoutNameOfTheRun(t *testing.T) {
	path, _ := made(t, 1)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	left := mark{boot: noBoot, size: info.Size(), changed: info.ModTime().UnixNano(), whole: time.Now().UnixNano()}
	nameless, named := &turn{boot: noBoot, noted: left}, &turn{boot: "00000000000000aa", noted: left}
	if nameless.untouched(info, false) || !nameless.untouched(info, true) || named.untouched(info, true) {
		t.Error("a file is trusted that nobody vouches for, or one that was seen is not")
	}
	if named.noted.boot = named.boot; !named.untouched(info, false) {
		t.Error("a file is as it was left in this run, and is read whole again")
	}
	for _, past := range []time.Duration{wholeFor, -time.Minute} {
		if named.noted.whole = time.Now().Add(-past).UnixNano(); named.untouched(info, false) {
			t.Errorf("a file that was read whole %v ago is trusted", past)
		}
	}
}
