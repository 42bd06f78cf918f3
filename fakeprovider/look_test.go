package fakeprovider

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"
)

func TestSearchFilters(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("/payments", "k1", order817).want(t, 201)
	w.clock.Advance(time.Minute)
	w.post("/payments", "k2", `{"order_id":"818","amount_minor":100,"currency":"USD","metadata":{"operation_key":"x y"},"flag":true}`).want(t, 201)
	w.post("/payments/cancel", "k3", `{"order_id":"817","reference":"R1"}`).want(t, 201)
	w.post("/tickets", "", `{"project":"OPS","title":"Printer down","ref":"case-442"}`).want(t, 201)
	noon := url.QueryEscape(start.Format(time.RFC3339))
	later := url.QueryEscape(start.Add(time.Second).Format(time.RFC3339Nano))
	for query, want := range map[string][]string{
		"":                               {"pay_000001", "pay_000002"},
		"?key=k1":                        {"pay_000001"},
		"?key=k3":                        nil,
		"?reference=20260301-AAAABBBBCC": {"pay_000001"},
		"?number=20260301-AAAABBBBCC":    {"pay_000001"},
		"?number=":                       nil,
		"?amount_minor=100":              {"pay_000002"},
		"?amount_minor=100.0":            nil,
		"?flag=true":                     {"pay_000002"},
		"?metadata.operation_key=x+y":    {"pay_000002"},
		"?order_id=817&currency=USD":     nil,
		"?order_id=817&currency=RUB":     {"pay_000001"},
		"?id=pay_000002":                 {"pay_000002"},
		"?nonsense=1":                    nil,
		"?until=" + noon:                 {"pay_000001"},
		"?since=" + noon:                 {"pay_000001", "pay_000002"},
		"?since=" + later:                {"pay_000002"},
		"?action=cancel":                 {"can_000003"},
		"/cancellations":                 {"can_000003"},
		"/cancellations?number=R1":       {"can_000003"},
		"?action=create&order_id=817":    {"pay_000001"},
	} {
		if got, next := w.get("/payments" + query).ids(t); !slices.Equal(got, want) || next != 0 {
			t.Errorf("%s: %v, next %d; want %v", query, got, next, want)
		}
	}
	if ids, _ := w.get("/tickets?ref=case-442").ids(t); len(ids) != 1 {
		t.Error(ids)
	}
	for _, path := range []string{"/payments/can_000003", "/payments/cancellations/can_000003", "/tickets/tkt_000004"} {
		w.get(path).want(t, 200)
	}
	for _, path := range []string{"/payments/cancellations/pay_000001", "/emails/pay_000001", "/payments/pay_9"} {
		if r := w.get(path).want(t, 404); r.code(t) != "not_found" {
			t.Error(r.body)
		}
	}
	for _, query := range []string{"page=0", "page=x", "page=", "since=yesterday", "until=1", "action=pay"} {
		w.get("/payments?"+query).want(t, 400)
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, Options{SearchPage: 2})
	for i := range 5 {
		w.post("/tickets", "", fmt.Sprintf(`{"project":"OPS","title":"%d"}`, i)).want(t, 201)
	}
	var all []string
	pages := 0
	for page := 1; page != 0; pages++ {
		ids, next := w.get(fmt.Sprintf("/tickets?page=%d", page)).ids(t)
		all, page = append(all, ids...), next
	}
	if pages != 3 || !slices.Equal(all, []string{"tkt_000001", "tkt_000002", "tkt_000003", "tkt_000004", "tkt_000005"}) {
		t.Error(pages, all)
	}
	for _, page := range []string{"4", "9223372036854775807"} {
		if ids, next := w.get("/tickets?page=" + page).ids(t); len(ids) != 0 || next != 0 {
			t.Error(ids, next)
		}
	}
}

func TestSearchLagSparesGet(t *testing.T) {
	w := newWorld(t, Options{SearchLag: 2 * time.Second})
	w.post("/payments", "", order817).want(t, 201)
	w.get("/payments/pay_000001").want(t, 200)
	w.clock.Advance(2*time.Second - 1)
	if ids, _ := w.get("/payments").ids(t); len(ids) != 0 {
		t.Error(ids)
	}
	w.clock.Advance(1)
	if ids, _ := w.get("/payments").ids(t); len(ids) != 1 {
		t.Error(ids)
	}
}

// lookFaults gives for each fault what four searches in a row and a get find: the number of objects, or the status.
func TestLookFaults(t *testing.T) {
	for fault, want := range map[string]string{
		`"do":"lookup_empty"`:                          "0 1 1 1 200",
		`"do":"lookup_empty","nth":2,"times":2`:        "1 0 0 1 200",
		`"do":"lookup_lag","for":"1m"`:                 "0 0 0 0 404",
		`"do":"lookup_lag","for":"1m","nth":3`:         "1 1 0 0 404",
		`"do":"lookup_miss","every":2`:                 "1 0 1 0 200",
		`"do":"lookup_miss","every":2,"times":1`:       "1 0 1 1 200",
		`"do":"lookup_multi"`:                          "2 1 1 1 200",
		`"do":"lookup_renamed","field":"order_id"`:     "0 0 0 0 200",
		`"do":"lookup_renamed","field":"key"`:          "1 1 1 1 200 unstruck",
		`"do":"lookup_error"`:                          "500 1 1 1 200",
		`"do":"lookup_error","status":503,"html":true`: "503 1 1 1 200",
		`"do":"lookup_error","empty_object":true`:      "{} 1 1 1 200",
		`"do":"lookup_hidden"`:                         "0+ 1 1 1 200",
		`"do":"throttle"`:                              "429 1 1 1 200",
		`"do":"error_200"`:                             "error 1 1 1 200",
		`"do":"reset_no_commit"`:                       "reset 1 1 1 200",
		`"do":"truncated"`:                             "cut 1 1 1 200",
	} {
		t.Run(fault, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.post("/payments", "", order817).want(t, 201)
			w.arm(`{"on":"payments.search",` + fault + `}`)
			got := ""
			for range 4 {
				w.client.CloseIdleConnections() // Go sends a GET again on a warm connection that was reset
				got += found(t, w.get("/payments?order_id=817")) + " "
			}
			got += sight(w.get("/payments/pay_000001"))
			if len(w.Unstruck()) > 0 {
				got += " unstruck"
			}
			if got != want {
				t.Errorf("found %s, want %s", got, want)
			}
			w.count(1, 1, 5)
		})
	}
}

func found(t *testing.T, r reply) string {
	switch {
	case r.err != nil || r.status != 200:
		return sight(r)
	case r.body == "{}":
		return r.body
	case r.field(t, "error") != "":
		return "error"
	}
	ids, next := r.ids(t)
	if next > 0 {
		return fmt.Sprint(len(ids), "+")
	}
	return fmt.Sprint(len(ids))
}

func TestLookupMultiWaitsForAMatch(t *testing.T) {
	w := newWorld(t, Options{})
	w.arm(`{"on":"payments.search","do":"lookup_multi"}`)
	w.get("/payments").want(t, 200)
	w.post("/payments", "", order817).want(t, 201)
	if ids, _ := w.get("/payments").ids(t); !slices.Equal(ids, []string{"pay_000001", "pay_000001_twin"}) {
		t.Error(ids)
	}
	w.count(1, 1, 2)
}

func TestHiddenMatchIsOnOnePageOfEveryPass(t *testing.T) {
	w := newWorld(t, Options{SearchPage: 2})
	w.post("/payments", "", order817).want(t, 201)
	for range 3 {
		w.post("/payments", "", order818).want(t, 201)
	}
	w.arm(`{"on":"payments.search","do":"lookup_hidden","page":3,"times":2}`)
	want := map[int][]string{1: {"pay_000002", "pay_000003"}, 2: {"pay_000004"}, 3: {"pay_000001"}}
	for range 2 {
		page := 1
		for n := 1; n <= 3; n++ {
			ids, next := w.get(fmt.Sprintf("/payments?order_id=817&page=%d", page)).ids(t)
			if !slices.Equal(ids, want[n]) || n < 3 && next != n+1 || n == 3 && next != 0 {
				t.Errorf("page %d: %v, next %d", n, ids, next)
			}
			page = next
		}
	}
	if ids, next := w.get("/payments?order_id=817").ids(t); len(ids) != 1 || next != 0 {
		t.Error("still hidden", ids, next)
	}
}

func TestGetFaults(t *testing.T) {
	for fault, want := range map[string]string{
		`"do":"lookup_empty"`: "404", `"do":"lookup_error"`: "500", `"do":"lookup_miss","every":1`: "404", `"do":"lookup_lag","for":"1s"`: "404",
		`"do":"wrong_echo","field":"order_id"`: "200", `"do":"other_operations_answer"`: "200", `"do":"truncated"`: "cut",
	} {
		w := newWorld(t, Options{})
		w.post("/payments", "", order817).want(t, 201)
		w.arm(`{"on":"payments.get",` + fault + `}`)
		r := w.get("/payments/pay_000001")
		if sight(r) != want || want == "200" && r.field(t, "order_id") == `"817"` {
			t.Errorf("%s: %v, want %s", fault, r, want)
		}
	}
}

// A look that is answered with an error has looked at nothing, so what is armed for finds waits for the next one.
func TestAnErrorDoesNotUseUpTheOtherLookFaults(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("/payments", "", order817).want(t, 201)
	w.arm(`[{"on":"payments.search","do":"throttle"},{"on":"payments.search","do":"lookup_multi"},{"on":"payments.search","do":"lookup_hidden"}]`)
	w.get("/payments").want(t, 429)
	if left := w.Unstruck(); len(left) != 2 {
		t.Error(left)
	}
	if ids, next := w.get("/payments").ids(t); len(ids) != 0 || next != 2 {
		t.Error(ids, next)
	}
	if ids, _ := w.get("/payments?page=2").ids(t); len(ids) != 2 {
		t.Error(ids)
	}
}
