package demo

import (
	"fmt"
	"net/http"
	"time"

	"notwice/canonical/strictyaml"
	"notwice/policy"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// CreatePayment pays one order.
type CreatePayment struct {
	OrderID     string `json:"order_id" notwice:"identity" jsonschema:"pattern=^[0-9]+$,maxLength=12,description=Order number"`
	AmountMinor int64  `json:"amount_minor" notwice:"money=currency" jsonschema:"minimum=1,description=Amount in minor units (4900.00 is 490000)"`
	Currency    string `json:"currency" jsonschema:"pattern=^[A-Z]{3}$,description=ISO 4217 code"`
	Note        string `json:"note,omitempty" notwice:"prose" jsonschema:"maxLength=500"`
	Device      string `json:"device,omitempty" notwice:"volatile" jsonschema:"maxLength=64"`
}

// CancelPayment cancels the payment of one order.
type CancelPayment struct {
	OrderID string `json:"order_id" notwice:"identity" jsonschema:"pattern=^[0-9]+$,maxLength=12,description=Order number"`
	Note    string `json:"note,omitempty" notwice:"prose" jsonschema:"maxLength=500"`
}

// GetPayment looks up the payments of one order.
type GetPayment struct {
	OrderID string `json:"order_id" jsonschema:"pattern=^[0-9]+$,maxLength=12,description=Order number"`
}

// SendEmail mails one recipient.
type SendEmail struct {
	To      string `json:"to" notwice:"identity" jsonschema:"format=email,maxLength=254,description=One recipient"`
	CaseID  string `json:"case_id,omitempty" notwice:"identity" jsonschema:"maxLength=64,description=Case or order the mail is about"`
	Subject string `json:"subject" notwice:"prose" jsonschema:"maxLength=200"`
	Body    string `json:"body" notwice:"prose" jsonschema:"maxLength=20000"`
}

// CreateApplication files one application.
type CreateApplication struct {
	ApplicantID string `json:"applicant_id" notwice:"identity" jsonschema:"maxLength=64,description=Who applies"`
	Program     string `json:"program" notwice:"identity" jsonschema:"maxLength=64,description=For what"`
	Text        string `json:"text,omitempty" notwice:"prose" jsonschema:"maxLength=20000"`
}

// CreateTicket files one ticket; nothing in it names the thing that it is about.
type CreateTicket struct {
	Project string `json:"project" jsonschema:"maxLength=16,description=Project code"`
	Title   string `json:"title" jsonschema:"maxLength=4000"`
	Ref     string `json:"ref,omitempty" jsonschema:"maxLength=64,description=Your own reference"`
}

// Names lists the demonstration tools.
func Names() []string {
	return []string{"create_payment", "cancel_payment", "get_payment", "send_email", "create_application", "create_ticket"}
}

// Declare returns the declaration of a demonstration tool that speaks to the provider at base. place is what stands for
// the provider in intents; empty: the address.
func Declare(name, base, place string) (toolbox.Declaration, error) {
	d := toolbox.Declaration{Name: name}
	var args any
	switch name {
	case "create_payment":
		args, d.Description = CreatePayment{}, "Pay one order."
		d.Facts = keyed(base, "/payments", "order_id", "amount_minor", "currency", "note")
		d.Facts.Echo = map[string]string{"order_id": "args.order_id", "amount_minor": "args.amount_minor", "currency": "args.currency"}
		d.Facts.HTTP.Headers = map[string]string{"X-Device": "${args.device}"}
		d.Facts.Unique = true
	case "cancel_payment":
		args, d.Description = CancelPayment{}, "Cancel the payment of one order."
		d.Facts = keyed(base, "/payments/cancel", "order_id", "note")
		searchAt(&d.Facts, base+"/payments/cancellations", base+"/payments")
		d.Facts.Echo = map[string]string{"order_id": "args.order_id"}
		d.Facts.Unique = true
	case "get_payment":
		args, d.Description = GetPayment{}, "Show the payments of one order."
		d.Facts = toolbox.Facts{Effect: toolbox.Read, HTTP: &toolbox.HTTPRequest{Method: "GET", URL: base + "/payments", Query: map[string]string{"order_id": "${args.order_id}"}}}
		d.Facts.Result = []string{"data[].id", "data[].status", "data[].amount_minor", "data[].currency"} // never the key
	case "send_email":
		args, d.Description = SendEmail{}, "Mail one recipient."
		d.Facts = keyed(base, "/emails", "to", "case_id", "subject", "body")
		d.Facts.Echo = map[string]string{"to": "args.to", "case_id": "args.case_id"}
		d.Facts.Scope = "turn"
	case "create_application":
		args, d.Description = CreateApplication{}, "File one application."
		d.Facts = keyed(base, "/applications", "applicant_id", "program", "text")
		d.Facts.Echo = map[string]string{"applicant_id": "args.applicant_id", "program": "args.program"}
		d.Facts.Unique = true
	case "create_ticket":
		args, d.Description = CreateTicket{}, "Create one ticket."
		d.Facts = ticket(base)
	default:
		return d, fmt.Errorf("there is no demonstration tool %q", name)
	}
	d.Facts.Place = place
	if place == "" {
		d.Facts.Place = httptool.Place(base)
	}
	var err error
	d.Shape, d.Schema, err = toolbox.ShapeOf(args)
	return d, err
}

// Tool is a demonstration tool, ready to be added. lay changes its facts before; nil leaves them.
func Tool(name, base, place string, rt http.RoundTripper, lay func(toolbox.Facts) (toolbox.Facts, error)) (toolbox.Tool, error) {
	d, err := Declare(name, base, place)
	if err != nil {
		return nil, err
	}
	if lay != nil {
		if d.Facts, err = lay(d.Facts); err != nil {
			return nil, err
		}
	}
	return httptool.New(d, rt)
}

// keyed are the facts of a provider that honours our key and can be searched by it (class A and B).
func keyed(base, path string, fields ...string) toolbox.Facts {
	f := toolbox.Facts{
		Effect:      toolbox.Write,
		HTTP:        &toolbox.HTTPRequest{Method: "POST", URL: base + path, JSON: template(fields)},
		Key:         toolbox.KeyPlace{In: "header", Name: "Idempotency-Key", MaxLength: 255},
		DedupWindow: toolbox.Window{Window: policy.Window{Known: true, For: 24 * time.Hour}},
		OnRepeat:    "replays",
		Resend:      "same_key",
		Success:     success(),
		Answers:     answers(),
		ExternalID:  "id",
		Result:      []string{"id", "status"},
		Lookup: &toolbox.LookupFacts{
			By: "key", AllPages: true, Complete: true, Visibility: strictyaml.Duration(2 * time.Second), Misses: 1, TrustEmpty: true, Created: "created_at",
		},
	}
	searchAt(&f, base+path, base+path)
	return f
}

// searchAt gives the three ways to ask: by key, by number, by the id of the object.
func searchAt(f *toolbox.Facts, list, object string) {
	by := func(name, value string) toolbox.LookupForm {
		return toolbox.LookupForm{
			HTTP:  &toolbox.HTTPRequest{Method: "GET", URL: list, Query: map[string]string{name: value, "page": "${page}"}},
			Items: "data", Next: "next_page", Match: toolbox.MatchFacts{Path: name},
		}
	}
	f.Lookup.Forms = map[string]toolbox.LookupForm{
		"key": by("key", "${operation.key}"),
		"scan": {
			HTTP:  &toolbox.HTTPRequest{Method: "GET", URL: list, Query: map[string]string{"page": "${page}"}},
			Items: "data", Next: "next_page", Match: toolbox.MatchFacts{Path: "key"},
		},
		"reference":   by("reference", "${operation.number}"),
		"resource_id": {HTTP: &toolbox.HTTPRequest{Method: "GET", URL: object + "/${operation.key}"}},
	}
}

// ticket are the facts of a provider without a key whose list may miss what is there (class C).
func ticket(base string) toolbox.Facts {
	f := toolbox.Facts{
		Effect:     toolbox.Write,
		Guard:      "full",
		HTTP:       &toolbox.HTTPRequest{Method: "POST", URL: base + "/tickets", JSON: template([]string{"project", "title", "ref"})},
		Success:    success(),
		Answers:    answers(),
		Echo:       map[string]string{"project": "args.project", "title": "args.title", "ref": "args.ref"},
		ExternalID: "id",
		Result:     []string{"id", "status"},
		Lookup:     &toolbox.LookupFacts{By: "ref", AllPages: true, TrustEmpty: true, Created: "created_at"},
	}
	searchAt(&f, base+"/tickets", base+"/tickets")
	f.Lookup.Forms["ref"] = toolbox.LookupForm{
		HTTP:  &toolbox.HTTPRequest{Method: "GET", URL: base + "/tickets", Query: map[string]string{"ref": "${args.ref}", "page": "${page}"}},
		Items: "data", Next: "next_page", Match: toolbox.MatchFacts{Path: "ref", Equals: "args.ref"},
	}
	return f
}

func template(fields []string) map[string]any {
	t := map[string]any{}
	for _, name := range fields {
		t[name] = "${args." + name + "}"
	}
	return t
}

func success() *toolbox.When {
	return &toolbox.When{Status: []string{"2xx"}, Body: "status", In: []any{"succeeded"}}
}

func answers() []toolbox.Rule {
	yes := true
	return []toolbox.Rule{
		{When: toolbox.When{Status: []string{"422"}, Body: "error.code", Exists: &yes}, Outcome: "rejected"},
		{When: toolbox.When{Status: []string{"409"}, Body: "error.code", Equals: "in_progress"}, Outcome: "running"},
		{When: toolbox.When{Status: []string{"409"}, Body: "error.code", Equals: "key_reused"}, Outcome: "conflict"},
	}
}
