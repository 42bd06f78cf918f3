package canonical

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"time"
)

// Hash is a SHA-256 in lower-case hexadecimal text, 64 characters. Empty means none.
type Hash string

func hashOf(v any) (Hash, error) {
	b, err := Bytes(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return Hash(hex.EncodeToString(sum[:])), nil
}

// RequestHash says whether two calls ask for the same thing: SHA-256 of {"v":1,"account","action","args"} (FORMATS §7).
// args must be Shape.Hashed, without volatile fields.
func RequestHash(account, action string, args map[string]any) (Hash, error) {
	return hashOf(map[string]any{"v": 1, "account": account, "action": action, "args": args})
}

// IntentHash names one wish: SHA-256 of {"v":1,"account","action","scope","identity","seq"} (FORMATS §7). scope is
// ["journal"], ["task", NAME] or ["turn", NAME, N]; identity holds folded values, an absent one as nil; seq counts from 1.
func IntentHash(account, action string, scope []any, identity map[string]any, seq int) (Hash, error) {
	return hashOf(map[string]any{"v": 1, "account": account, "action": action, "scope": scope, "identity": identity, "seq": seq})
}

// KinHash groups all intents of one action, account and identity, whatever their scope and number: while one of them is
// open, an equal call is that operation (DESIGN §3).
func KinHash(account, action string, identity map[string]any) (Hash, error) {
	return hashOf(map[string]any{"v": 1, "account": account, "action": action, "identity": identity})
}

// Digest is a keyed digest (HMAC-SHA256, first 16 bytes) of one value: it tells later that a field differs without keeping
// the field. The key is the journal's own.
func Digest(key []byte, field string, v any) (string, error) {
	b, err := Bytes([]any{field, v})
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(b)
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// OperationNumber is the document number of an operation, for providers that take a reference but no key: the UTC date of
// registration, "-", and the first ten characters of the base32 (RFC 4648) of the key's SHA-256.
func OperationNumber(key string, registered time.Time) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s-%s", registered.UTC().Format("20060102"), base32.StdEncoding.EncodeToString(sum[:])[:10])
}
