package boltjournal

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"notwice/journal"
)

// schemaVersion is the version of the layout below. A newer file is refused, an older one migrated.
const schemaVersion = 3

// The buckets. Index keys end in the operation key, which is in the order of time.
var (
	metaBucket       = []byte("meta")
	opsBucket        = []byte("operations")  // key → operation
	eventsBucket     = []byte("events")      // key, number → event
	intentBucket     = []byte("intents")     // intent → key
	kinBucket        = []byte("kin")         // kin, key
	scopeBucket      = []byte("scopes")      // kin, scope, key
	unheardBucket    = []byte("unheard")     // kin, key
	dueBucket        = []byte("due")         // time, key
	reviewBucket     = []byte("review")      // time, key
	ownerBucket      = []byte("owners")      // account and external id → key
	placeBucket      = []byte("places")      // transcript position → key
	numberBucket     = []byte("numbers")     // operation number → key
	taskBucket       = []byte("tasks")       // task → writes registered
	transcriptBucket = []byte("transcripts") // task, number → entry
	lengthBucket     = []byte("lengths")     // task → entries
	spentBucket      = []byte("spent")       // tool and day → what counts against limits
	shapeBucket      = []byte("shapes")      // tool → fingerprint of the declaration by which its operations are indexed
)

var allBuckets = [][]byte{metaBucket, opsBucket, eventsBucket, intentBucket, kinBucket, scopeBucket, unheardBucket, dueBucket,
	reviewBucket, ownerBucket, placeBucket, numberBucket, taskBucket, transcriptBucket, lengthBucket, spentBucket, shapeBucket}

var (
	metaVersion = []byte("version")
	metaRunning = []byte("running")
	metaHigh    = []byte("high")
	metaDigest  = []byte("digest")
	metaSum     = []byte("sum") // of all entries of the other parts
)

// migrate brings the layout from a version to the newest; 0 is an empty file. Version 1 had no counters and no declarations,
// and found kin by other digests: its tools are indexed anew before their next call. Version 2 kept no sum.
func migrate(tx *bolt.Tx, from int) error {
	for _, name := range allBuckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	if from == 1 {
		t := txn{tx: tx}
		err := t.each(func(op *journal.Operation) error { return tx.Bucket(shapeBucket).Put([]byte(op.Tool), shapeValue("")) })
		if err != nil {
			return err
		}
	}
	total, err := sumOf(tx)
	if err != nil {
		return err
	}
	books := ledger{tx, total}
	return errors.Join(books.end(), tx.Bucket(metaBucket).Put(metaVersion, be(schemaVersion)))
}

func readMeta(tx *bolt.Tx) (version int, running uint64, err error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil || len(meta.Get(metaVersion)) != 8 {
		return 0, 0, fmt.Errorf("%w: the file holds no journal", journal.ErrDamaged)
	}
	version = int(binary.BigEndian.Uint64(meta.Get(metaVersion)))
	if b := meta.Get(metaRunning); len(b) == 8 {
		running = binary.BigEndian.Uint64(b)
	}
	if version == schemaVersion {
		for _, name := range allBuckets {
			if tx.Bucket(name) == nil {
				return 0, 0, fmt.Errorf("%w: the part %s is missing", journal.ErrDamaged, name)
			}
		}
	}
	return version, running, nil
}
