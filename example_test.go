package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"notwice/fakeprovider"
	"notwice/journal/boltjournal"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

// Pay is the declaration of a tool's arguments.
type Pay struct {
	OrderID     string `json:"order_id" notwice:"identity" jsonschema:"pattern=^[0-9]+$"`
	AmountMinor int64  `json:"amount_minor" notwice:"money=EUR" jsonschema:"minimum=1"`
}

// A whole program: a journal, a tool, and two equal calls of which one pays.
func Example() {
	dir, _ := os.MkdirTemp("", "notwice-example-*")
	defer os.RemoveAll(dir)
	provider, _ := fakeprovider.Start(fakeprovider.Options{}) // yours is at an address of its own
	defer provider.Close()

	journal, err := boltjournal.Open(filepath.Join(dir, "journal.db"), boltjournal.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer journal.Close()
	ctx := context.Background()
	tools, err := toolbox.New(ctx, toolbox.Options{Journal: journal})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := toolbox.Declaration{Name: "pay", Description: "Pay one order.", Facts: toolbox.Facts{
		Effect: toolbox.Write,
		Place:  httptool.Place(provider.URL()),
		HTTP: &toolbox.HTTPRequest{Method: "POST", URL: provider.URL() + "/payments", JSON: map[string]any{
			"order_id": "${args.order_id}", "amount_minor": "${args.amount_minor}", "currency": "EUR"}},
		Key:        toolbox.KeyPlace{In: "header", Name: "Idempotency-Key"},
		Success:    &toolbox.When{Status: []string{"2xx"}, Body: "status", In: []any{"succeeded"}},
		Echo:       map[string]string{"order_id": "args.order_id", "amount_minor": "args.amount_minor"},
		ExternalID: "id",
		Unique:     true,
	}}
	if d.Shape, d.Schema, err = toolbox.ShapeOf(Pay{}); err != nil {
		fmt.Println(err)
		return
	}
	tool, err := httptool.New(d, nil)
	if err == nil {
		err = tools.Add(tool)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		answer, err := tools.Call(ctx, toolbox.Call{Tool: "pay", Arguments: []byte(`{"order_id":"817","amount_minor":490000}`)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.Word, answer.ExternalID)
		answer.Delivered()
	}
	fmt.Println(provider.Core().Requests().Writes, "request")
	// Output:
	// DONE pay_000001
	// ALREADY DONE pay_000001
	// 1 request
}
