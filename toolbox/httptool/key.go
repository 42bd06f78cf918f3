package httptool

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"notwice/canonical"
	"notwice/toolbox"
)

// encodeKey is the wire form of the operation key at a place: derived from the key alone, so that it is the same after a
// restart, and never longer than the provider takes.
func encodeKey(p toolbox.KeyPlace, key, number string) string {
	sum := sha256.Sum256([]byte(key))
	text := key
	switch p.Encode {
	case "number":
		text = number
	case "sf_string":
		text = `"` + key + `"`
	case "uuid": // name-based, version 8: the first bytes of the SHA-256
		b := sum
		b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
		text = fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
	case "base32hex":
		text = strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(key)))
	}
	if p.MaxLength > 0 && len(text) > p.MaxLength {
		text = hex.EncodeToString(sum[:])[:min(64, p.MaxLength)]
	}
	return text
}

// put writes the key into a request.
func (w *wire) put(p toolbox.KeyPlace, key string) error {
	switch p.In {
	case "", "none":
	case "header":
		w.Headers[p.Name] = key
	case "query":
		u, err := url.Parse(w.URL)
		if err != nil {
			return err
		}
		q := u.Query()
		q.Set(p.Name, key)
		u.RawQuery = q.Encode()
		w.URL = u.String()
	case "path":
		if !strings.Contains(w.URL, key) {
			return fmt.Errorf("key in path: the url holds no ${operation.key}")
		}
	case "body":
		return w.putBody(p.Name, key)
	default:
		return fmt.Errorf("a key cannot travel in %q", p.In)
	}
	return nil
}

func (w *wire) putBody(path, key string) error {
	if w.Headers["Content-Type"] == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(w.Body)
		if err != nil {
			return err
		}
		form.Set(path, key)
		w.Body = form.Encode()
		return nil
	}
	var root map[string]any
	if w.Body == "" {
		root = map[string]any{}
	} else {
		var err error
		if root, err = canonical.ParseObject([]byte(w.Body)); err != nil {
			return fmt.Errorf("key in body: %w", err)
		}
	}
	object := root
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		inner, ok := object[step].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[step] = inner
		}
		object = inner
	}
	object[steps[len(steps)-1]] = key
	text, err := canonical.Plain(root)
	w.Body, w.Headers["Content-Type"] = string(text), "application/json"
	return err
}
