package toolbox_test

import (
	"context"
	"testing"
	"time"

	"notwice/fakeprovider"
	"notwice/journal/boltjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

func TestSmoke(t *testing.T) {
	srv, err := fakeprovider.Start(fakeprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	j, err := boltjournal.Open(t.TempDir()+"/j.db", boltjournal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	ctx := context.Background()
	tb, err := toolbox.New(ctx, toolbox.Options{Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, srv.URL(), "fake", nil, func(f toolbox.Facts) (toolbox.Facts, error) {
			f.Deadline = 1e8
			if f.Lookup != nil {
				f.Lookup.Visibility = 1e8
			}
			return f, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tb.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	call := func(tool, args string, wait time.Duration) {
		r, err := tb.Call(ctx, toolbox.Call{Tool: tool, Arguments: []byte(args), Wait: wait})
		t.Logf("%s\n   -> %v | %s | %s %s att=%d", args, err, r.Message, r.Status, r.Evidence, r.Attempts)
	}
	pay := `{"order_id":"817","amount_minor":490000,"currency":"RUB"}`
	call("create_payment", pay, 0)
	call("create_payment", pay, 0)
	call("create_payment", `{"order_id":"817","amount_minor":490100,"currency":"rub","note":"x"}`, 0)
	call("get_payment", `{"order_id":"817"}`, 0)
	faults, _ := fakeprovider.ParseFaults([]byte(`[{"on":"payments.create","do":"commit_then_timeout"}]`))
	srv.Arm(faults...)
	call("create_payment", `{"order_id":"818","amount_minor":"490000","currency":"RUB"}`, 0)
	call("create_payment", `{"order_id":"818","amount_minor":490000,"currency":"RUB"}`, 3*time.Second)
	faults, _ = fakeprovider.ParseFaults([]byte(`[{"on":"payments.create","do":"timeout_no_commit"}]`))
	srv.Arm(faults...)
	call("create_payment", `{"order_id":"819","amount_minor":490000,"currency":"RUB"}`, 5*time.Second)
	call("create_ticket", `{"project":"OPS","title":"Printer down","ref":"case-442"}`, 0)
	call("create_ticket", `{"project":"OPS","title":"Printer down","ref":"case-442"}`, 0)
	call("create_payment", `{"order_id":"820","amount_minor":4.9e5,"currency":"RUB","idempotency_key":"x"}`, 0)
	call("create_payment", `{"order_id":"8a","amount_minor":0,"currency":"RUB"}`, 0)
	e, err := srv.Core().Effects(time.Now())
	t.Log(len(e), err, srv.Core().Requests().Writes, srv.Core().Requests().Lookups, j.Stats())
}
