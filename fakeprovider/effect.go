package fakeprovider

import (
	"encoding/json"
	"strings"
	"time"
)

// Effect is one change of the outside world: what the provider did, not what it was asked or what it answered.
type Effect struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`   // payments, emails, applications, tickets
	Action string `json:"action"` // create or cancel
	Key    string `json:"key,omitempty"`
	// Number is the operation number: the field `number` if the request had one, else `reference`.
	Number    string `json:"number,omitempty"`
	Reference string `json:"reference,omitempty"`
	// Fields are those of the request, exactly as sent.
	Fields    map[string]json.RawMessage `json:"fields"`
	CreatedAt time.Time                  `json:"created_at"`
	// Request is the number of the request that made it, in the process that received it.
	Request int `json:"request"`
}

// object is the effect as the provider's clients see it.
func (e *Effect) object() []member {
	members := []member{{"id", encode(e.ID)}, {"status", encode("succeeded")}}
	for _, name := range sortedNames(e.Fields) {
		members = append(members, member{name, e.Fields[name]})
	}
	if _, sent := e.Fields["key"]; e.Key != "" && !sent {
		members = append(members, member{"key", encode(e.Key)})
	}
	return append(members, member{"created_at", encode(stamp(e.CreatedAt))})
}

// stamp is RFC 3339 with nine digits below the second, so that stamps of one zone also sort as texts.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z07:00") }

// value finds a field of the object by its name, or by a dotted path into nested objects.
func (e *Effect) value(path string) (json.RawMessage, bool) {
	members := e.object()
	for {
		for _, m := range members {
			if m.name == path {
				return m.value, true
			}
		}
		head, rest, nested := strings.Cut(path, ".")
		if !nested {
			return nil, false
		}
		var inner []member
		for _, m := range members {
			if m.name == head {
				inner, _ = parseObject(m.value)
			}
		}
		if inner == nil {
			return nil, false
		}
		members, path = inner, rest
	}
}
