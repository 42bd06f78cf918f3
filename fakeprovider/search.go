package fakeprovider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// query is a search, read from the address.
type query struct {
	action       string
	since, until time.Time // both inclusive; zero: open
	page         int
	filters      map[string][]string // every value of every name must match
}

// parseQuery reads the filters. Every name that is not a word of the search itself is the name of a field, so a misspelled filter
// finds nothing, as with many real providers.
func parseQuery(values url.Values, cancels bool) (query, error) {
	q := query{action: actionCreate, page: 1, filters: map[string][]string{}}
	if cancels {
		q.action = actionCancel
	}
	for name, list := range values {
		for _, value := range list {
			if err := q.read(name, value, cancels); err != nil {
				return q, err
			}
		}
	}
	return q, nil
}

func (q *query) read(name, value string, cancels bool) (err error) {
	switch name {
	case "action":
		if value != actionCreate && value != actionCancel || cancels && value != actionCancel {
			return fmt.Errorf("action %q: want create or cancel", value)
		}
		q.action = value
	case "since":
		q.since, err = time.Parse(time.RFC3339, value)
	case "until":
		q.until, err = time.Parse(time.RFC3339, value)
	case "page":
		if q.page, err = strconv.Atoi(value); err == nil && q.page < 1 {
			err = fmt.Errorf("pages are counted from 1")
		}
	default:
		q.filters[name] = append(q.filters[name], value)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", name, value, err)
	}
	return nil
}

func (q *query) matches(e *Effect) bool {
	if e.Action != q.action || e.CreatedAt.Before(q.since) || !q.until.IsZero() && e.CreatedAt.After(q.until) {
		return false
	}
	for name, list := range q.filters {
		for _, want := range list {
			if !e.matches(name, want) {
				return false
			}
		}
	}
	return true
}

// matches compares one filter. Texts are compared as they read, anything else as it is spelled in JSON. `number` and `reference` are two
// names of one filter.
func (e *Effect) matches(name, want string) bool {
	switch name {
	case "number", "reference":
		if want != "" && (e.Number == want || e.Reference == want) {
			return true
		}
	case "key":
		if e.Key != "" {
			return e.Key == want
		}
	}
	value, ok := e.value(name)
	if !ok {
		return false
	}
	if text, isText := textOf(value); isText {
		return text == want
	}
	return string(value) == want
}

type results struct {
	Data     []json.RawMessage `json:"data"`
	NextPage *int              `json:"next_page"`
}

// search answers with one page of what matches and is old enough to be seen.
func (c *Core) search(now time.Time, r Request, to route, lag time.Duration, blind bool) Answer {
	q, err := parseQuery(r.Query, to.cancels)
	if err != nil {
		return errorAnswer(http.StatusBadRequest, "malformed", err.Error())
	}
	blind = c.armed.renamed(to.on(), r.Query) || blind
	hidden := c.armed.hidden(to.on(), q.page)
	var found, others []*Effect
	for _, e := range c.ledger.effects(now) {
		if e.Effect.Kind != to.kind || now.Sub(e.Effect.CreatedAt) < lag || blind {
			continue
		}
		if q.matches(e.Effect) {
			found = append(found, e.Effect)
		} else if e.Effect.Action == q.action {
			others = append(others, e.Effect)
		}
	}
	if len(found) > 0 && q.page >= hidden && c.armed.multiplies(to.on()) {
		found = withTwins(found)
	}
	return c.resultPage(found, others, q.page, hidden)
}

// resultPage cuts out one page. With a hidden page the matches begin there, and the pages before it show other objects or nothing.
func (c *Core) resultPage(found, others []*Effect, page, hidden int) Answer {
	shown, more := slicePage(found, page, c.options.SearchPage)
	switch {
	case page < hidden:
		shown, _ = slicePage(others, page, c.options.SearchPage)
		more = true
	case hidden > 0:
		shown, more = slicePage(found, page-hidden+1, c.options.SearchPage)
	}
	out := results{Data: []json.RawMessage{}}
	for _, e := range shown {
		out.Data = append(out.Data, encodeObject(e.object()))
	}
	if next := page + 1; more {
		out.NextPage = &next
	}
	return jsonAnswer(http.StatusOK, encode(out))
}

func slicePage(list []*Effect, page, size int) (shown []*Effect, more bool) {
	if page-1 > len(list)/size {
		return nil, false
	}
	from := min((page-1)*size, len(list))
	to := min(from+size, len(list))
	return list[from:to], to < len(list)
}

// withTwins shows every match twice, the copy under an id that no effect has.
func withTwins(found []*Effect) []*Effect {
	var list []*Effect
	for _, e := range found {
		twin := *e
		twin.ID += "_twin"
		list = append(list, e, &twin)
	}
	return list
}
