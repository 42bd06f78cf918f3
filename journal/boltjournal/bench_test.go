package boltjournal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// Each benchmark measures both sides of its ratio in one run, in blocks that take turns, so that what else the machine does
// falls on both. NOTWICE_BENCH_OPS says how many operations a full journal holds.

const smallJournal = 10_000

func benchOps(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("NOTWICE_BENCH_OPS"))
	if err != nil || n < 1 {
		return 2 * smallJournal
	}
	return n
}

// filled is a journal of n operations, written in large groups and then compacted: a large group leaves as many free pages
// as it touched, which no journal that grew commit by commit has.
func filled(b *testing.B, n int) *Store {
	b.Helper()
	s := openAt(b, filepath.Join(b.TempDir(), "journal.db"), Options{})
	const group = 10_000
	for from := 0; from < n; from += group {
		err := s.write(background, time.Unix(1_780_000_000, 0), func(tx *txn) error {
			for i := from; i < min(from+group, n); i++ {
				op := opOf("fill", i)
				if err := tx.apply(journal.Record{Operation: &op, Events: []journal.Event{{At: op.Registered, What: "registered", Status: op.Status}}}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := compacted(s.path); err != nil {
		b.Fatal(err)
	}
	return s
}

func compacted(path string) error {
	old, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Minute})
	if err != nil {
		return err
	}
	defer old.Close()
	dense, err := bolt.Open(path+".dense", 0o600, &bolt.Options{PageSize: pageSize, NoSync: true})
	if err != nil {
		return err
	}
	err = bolt.Compact(dense, old, 1<<20)
	if closed := errors.Join(dense.Sync(), dense.Close()); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(path+".dense", path)
}

// bare is bbolt without anything of ours: no reading, no checks, no turns; one commit for each call of put, of the same
// entries in the same buckets.
type bare struct{ db *bolt.DB }

func openBare(b *testing.B) bare {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, &bolt.Options{PageSize: pageSize, FreelistType: bolt.FreelistMapType})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if err := db.Update(func(tx *bolt.Tx) error { return migrate(tx, 0) }); err != nil {
		b.Fatal(err)
	}
	return bare{db}
}

// entry is one thing to put, or to delete if value is nil.
type entry struct{ bucket, key, value []byte }

func (p bare) put(op journal.Operation, n uint64, more ...entry) error {
	key, place := []byte(op.Key), join([]byte(op.Key), []byte{0}, be(n))
	record, err := sealValue(key, n, op)
	if err != nil {
		return err
	}
	event, err := sealValue(place, n, journal.Event{At: op.Registered, What: "registered", Status: op.Status})
	if err != nil {
		return err
	}
	more = append(more, entry{opsBucket, key, record}, entry{eventsBucket, place, event},
		entry{metaBucket, metaHigh, be(n)}, entry{metaBucket, metaRunning, be(n)})
	return p.db.Update(func(tx *bolt.Tx) error {
		for _, e := range more {
			bucket := tx.Bucket(e.bucket)
			put := func() error { return bucket.Put(e.key, e.value) }
			if e.value == nil {
				put = func() error { return bucket.Delete(e.key) }
			}
			if err := put(); err != nil {
				return err
			}
		}
		return nil
	})
}

func ordinary(s *Store, n int) error {
	op := opOf("bench", n)
	if err := registerIn(s, op); err != nil {
		return err
	}
	return settleIn(s, op.Key)
}

func (p bare) ordinary(n int) error {
	op := opOf("bench", n)
	key, unheard, empty := []byte(op.Key), unheardPlace(&op), []byte{}
	err := p.put(op, 0, entry{intentBucket, raw(op.Intent), key}, entry{kinBucket, join(raw(op.Kin), key), empty},
		entry{scopeBucket, join(raw(op.Kin), hashKey(op.Scope), key), empty}, entry{numberBucket, []byte(op.Number), key},
		entry{taskBucket, hashKey(op.Task), be(uint64(n))}, entry{unheardBucket, unheard, empty})
	if err != nil {
		return err
	}
	op.Status, op.Evidence, op.ExternalID, op.Ended = journal.Succeeded, journal.Person, "pay-"+string(op.Key), op.Registered
	return p.put(op, 1, entry{unheardBucket, unheard, nil}, entry{ownerBucket, hashKey(op.Account, op.ExternalID), key})
}

// spread runs one call for each number from..to, by so many callers at once.
func spread(b *testing.B, callers, from, to int, call func(n int) error) time.Duration {
	b.Helper()
	begin := time.Now()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for n := from + c; n < to; n += callers {
				if err := call(n); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

func versus(b *testing.B, callers, block int) (ours, theirs time.Duration) {
	s, plain := openAt(b, filepath.Join(b.TempDir(), "journal.db"), Options{}), openBare(b)
	for from := 0; from < b.N; from += block {
		to := min(from+block, b.N)
		ours += spread(b, callers, from, to, func(n int) error { return ordinary(s, n) })
		theirs += spread(b, callers, from, to, plain.ordinary)
	}
	b.ReportMetric(float64(2*b.N)/float64(s.Stats().Commits), "moves/commit")
	return ours, theirs
}

// One caller: an ordinary operation costs what two bare commits cost (goal: at most 1.3 times).
func BenchmarkOneCaller(b *testing.B) {
	ours, theirs := versus(b, 1, 50)
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-bare")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/operation")
}

// 64 callers share commits; bare, each has its own (goal: at least 8 times the throughput).
func BenchmarkManyCallers(b *testing.B) {
	ours, theirs := versus(b, 64, 1280)
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-throughput")
	b.ReportMetric(float64(b.N)/ours.Seconds(), "operations/s")
}

// Opening the file for a turn, as a share of a commit in it (goal: at most 25 %).
func BenchmarkOpening(b *testing.B) {
	s := filled(b, benchOps(b))
	var opening, commits time.Duration
	var free int
	b.ResetTimer()
	for from := 0; from < b.N; from += 50 {
		to := min(from+50, b.N)
		s.EndTurn()
		begin := time.Now()
		for range to - from {
			t, err := beginTurn(s.path, time.Second)
			if err != nil {
				b.Fatal(err)
			}
			db, _, err := s.openFile(t)
			if err != nil {
				b.Fatal(err)
			}
			free = db.Stats().FreePageN
			db.Close()
			t.end()
		}
		opening += time.Since(begin)
		commits += spread(b, 1, from, to, func(n int) error { return registerIn(s, opOf("bench", n)) })
	}
	b.ReportMetric(100*opening.Seconds()/commits.Seconds(), "%-of-commit")
	b.ReportMetric(float64(opening.Microseconds())/float64(b.N), "µs/opening")
	b.ReportMetric(float64(free), "free-pages") // opening reads them all
}

// Reading one operation by its key, beside the same in a journal of ten thousand (goal: at most 3 times).
func BenchmarkGet(b *testing.B) {
	n := benchOps(b)
	full, small := filled(b, n), filled(b, smallJournal)
	random := rand.New(rand.NewPCG(1, 2))
	get := func(s *Store, of, times int) time.Duration {
		begin := time.Now()
		for range times {
			key := journal.Key(fmt.Sprintf("%012x-fill", random.IntN(of)))
			if _, err := s.Get(background, key); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(begin)
	}
	var large, little time.Duration
	b.ResetTimer()
	for from := 0; from < b.N; from += 500 {
		times := min(500, b.N-from)
		large += get(full, n, times)
		little += get(small, smallJournal, times)
	}
	b.ReportMetric(large.Seconds()/little.Seconds(), "x-small")
	b.ReportMetric(float64(large.Microseconds())/float64(b.N), "µs/get")
}
