package canonical

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is a JSON text kept as it stands.
type Raw = jsontext.Value

// EncodeRecord is the JSON text of a Go value by its json tags, for records that Notwice itself writes and reads again.
func EncodeRecord(v any) ([]byte, error) { return json.Marshal(v) }

// DecodeRecord reads what EncodeRecord wrote. Unknown names, duplicate names and trailing text are errors.
func DecodeRecord(text []byte, v any) error {
	return json.Unmarshal(text, v, json.RejectUnknownMembers(true))
}
