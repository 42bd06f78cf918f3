package fakeprovider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// name is the entry's file name. A key's entry is named after the key, so that a second one cannot be created; any other effect is
// named after its number, which nobody else has.
func (e *entry) name() string {
	if r := e.Record; r != nil {
		return fmt.Sprintf("key-%s-%d.json", keyHash(r.Kind, r.Action, r.Key), r.Generation)
	}
	return fmt.Sprintf("effect-%06d.json", e.Seq)
}

// keyHash names the scope of a key: the same key for another kind or action is another key. The parts are framed as JSON, so that
// no two triples share a text.
func keyHash(kind, action, key string) string {
	sum := sha256.Sum256(encode([]string{kind, action, key}))
	return hex.EncodeToString(sum[:])
}

// idOf is an object's id, readable and never used twice in one ledger.
func idOf(prefix string, seq int) string { return fmt.Sprintf("%s_%06d", prefix, seq) }
