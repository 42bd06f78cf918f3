package canonical

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Raw is a JSON text kept as it stands.
type Raw = jsontext.Value

// EncodeRecord is the JSON text of a Go value by its json tags, for records that Notwice itself writes and reads again.
func EncodeRecord(v any) ([]byte, error) { return json.Marshal(v, asNumbers) }

// DecodeRecord reads what EncodeRecord wrote. Unknown names, duplicate names and trailing text are errors.
func DecodeRecord(text []byte, v any) error {
	return json.Unmarshal(text, v, json.RejectUnknownMembers(true), asNumbers)
}

// asNumbers writes durations as nanoseconds.
var asNumbers = jsonv1.FormatDurationAsNano(true)
