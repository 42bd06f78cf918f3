package fakeprovider

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The actions of every kind; payments alone can be cancelled.
const (
	actionCreate = "create"
	actionCancel = "cancel"
	actionGet    = "get"
	actionSearch = "search"
)

// kinds lists the collections in the order in which messages name them.
var kinds = []string{"payments", "emails", "applications", "tickets"}

// form is what a field must look like.
type form int

const (
	filled  form = iota // a text that is not empty
	prose               // a text, possibly empty
	integer             // a whole number, spelled with digits only
)

type requirement struct {
	field string
	form  form
}

// operation is one thing that the provider does for a client: the prefix of its ids and the fields it cannot do without.
type operation struct {
	prefix   string
	required []requirement
}

var operations = map[string]operation{
	"payments.create":     {"pay", []requirement{{"order_id", filled}, {"amount_minor", integer}, {"currency", filled}}},
	"payments.cancel":     {"can", []requirement{{"order_id", filled}}},
	"emails.create":       {"eml", []requirement{{"to", filled}, {"subject", prose}, {"body", prose}}},
	"applications.create": {"app", []requirement{{"applicant_id", filled}, {"program", filled}}},
	"tickets.create":      {"tkt", []requirement{{"project", filled}, {"title", filled}}},
}

// ownFields are written by the provider itself; a client that sends one could not tell its value from ours.
var ownFields = []string{"id", "status", "created_at"}

// validate says what is wrong with the fields of a request, "" if nothing is.
func (o operation) validate(fields map[string]json.RawMessage) string {
	for _, r := range o.required {
		if why := r.check(fields[r.field]); why != "" {
			return why
		}
	}
	for _, field := range ownFields {
		if _, sent := fields[field]; sent {
			return fmt.Sprintf("field %q is the provider's own", field)
		}
	}
	return ""
}

func (r requirement) check(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return fmt.Sprintf("field %q is required", r.field)
	}
	if r.form == integer {
		if strings.Trim(strings.TrimPrefix(string(value), "-"), "0123456789") != "" {
			return fmt.Sprintf("field %q must be a whole number", r.field)
		}
		return ""
	}
	text, ok := textOf(value)
	if !ok {
		return fmt.Sprintf("field %q must be a text", r.field)
	}
	if r.form == filled && text == "" {
		return fmt.Sprintf("field %q must not be empty", r.field)
	}
	return ""
}

// known tells whether kind.action exists.
func known(kind, action string) bool {
	if action == actionGet || action == actionSearch {
		_, ok := operations[kind+"."+actionCreate]
		return ok
	}
	_, ok := operations[kind+"."+action]
	return ok
}
