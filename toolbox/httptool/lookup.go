package httptool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/toolbox"
)

const maxPages = 1000

// form is the look-up request that the facts choose.
func (t *Tool) form() (toolbox.LookupForm, bool) {
	l := t.d.Facts.Lookup
	if l.HTTP != nil {
		return toolbox.LookupForm{HTTP: l.HTTP, Items: l.Items, Next: l.Next, Match: l.Match}, true
	}
	form, ok := l.Forms[l.By]
	if l.Match.Path != "" {
		form.Match = l.Match
	}
	return form, ok
}

// checkLookup refuses a look-up that matches what the request does not put on the wire.
func (t *Tool) checkLookup() error {
	l := t.d.Facts.Lookup
	form, ok := t.form()
	if !ok {
		return fmt.Errorf("look-up by %q has no request", l.By)
	}
	if l.Signs != nil {
		for _, path := range sorted(l.Signs.Fields) {
			if name := strings.TrimPrefix(l.Signs.Fields[path], "args."); !t.onTheWire(name) {
				return fmt.Errorf("look-up: signs: the request does not send args.%s", name)
			}
		}
		return nil
	}
	switch {
	case l.By == "key" && form.Match.Equals == "" && !t.sends(func(p toolbox.KeyPlace) bool { return p.Sent() && p.Encode != "number" }):
		return errors.New("look-up by key: the request does not send our key")
	case l.By == "reference" && form.Match.Equals == "" && !t.sends(func(p toolbox.KeyPlace) bool { return p.Sent() && p.Encode == "number" }):
		return errors.New("look-up by reference: the request does not send our number")
	case form.Match.Path == "" && l.By != "resource_id":
		return errors.New("a look-up needs match: the path that must equal our key or number")
	case form.Match.Equals != "" && t.d.Shape.Field(strings.TrimPrefix(form.Match.Equals, "args.")) == nil:
		return fmt.Errorf("look-up: match.equals: there is no argument %q", form.Match.Equals)
	case form.Match.Equals != "" && !t.onTheWire(strings.TrimPrefix(form.Match.Equals, "args.")):
		return fmt.Errorf("look-up: match.equals: the request does not send %s, or a retry could not send it again", form.Match.Equals)
	}
	return nil
}

// onTheWire reports whether the request demonstrably carries an argument, on every attempt.
func (t *Tool) onTheWire(name string) bool {
	field := t.d.Shape.Field(name)
	if field == nil || field.Role == canonical.Volatile || field.Role == canonical.Secret {
		return false
	}
	r := t.d.Facts.HTTP
	ref := "${args." + name + "}"
	for _, m := range []map[string]string{r.Headers, r.Query, r.Form} {
		for _, text := range m {
			if strings.Contains(text, ref) {
				return true
			}
		}
	}
	return strings.Contains(r.URL, ref) || holdsText(r.JSON, ref)
}

func holdsText(x any, text string) bool {
	switch x := x.(type) {
	case string:
		return strings.Contains(x, text)
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return holdsText(e, text) })
	case map[string]any:
		for _, e := range x {
			if holdsText(e, text) {
				return true
			}
		}
	}
	return false
}

func (t *Tool) sends(want func(toolbox.KeyPlace) bool) bool {
	key := t.d.Facts.Key
	return want(key) || slices.ContainsFunc(key.Also, want)
}

// Lookup implements toolbox.Lookuper.
func (t *Tool) Lookup(ctx context.Context, r toolbox.Request, known *toolbox.Request) toolbox.Sighting {
	s := t.search(ctx, r)
	if s.Failed == "" && len(s.Found) == 0 && known != nil {
		control := t.search(ctx, *known)
		if control.Failed != "" {
			s.Failed = "control_" + control.Failed
		}
		s.Known = len(control.Found) > 0
	}
	return s
}

// search reads all pages of one query.
func (t *Tool) search(ctx context.Context, r toolbox.Request) toolbox.Sighting {
	form, ok := t.form()
	if !ok {
		return toolbox.Sighting{Failed: "no_look_up"}
	}
	var s toolbox.Sighting
	page := ""
	for range maxPages {
		w, err := build(*form.HTTP, values{args: r.Args, key: t.wireKey(r), number: r.Number, page: page})
		if err != nil {
			return toolbox.Sighting{Failed: "look_up_request"}
		}
		f := filler{secret: r.Secret}
		w = f.fill(w)
		if f.err != nil {
			return toolbox.Sighting{Failed: "authentication"}
		}
		a, _, err := t.exchange(ctx, w, func() error { return nil })
		items, failed := t.items(form, a, err)
		if failed != "" {
			return toolbox.Sighting{Failed: failed}
		}
		unreadable := 0
		for _, item := range items {
			m, mine, read := t.match(form, item, r)
			if mine {
				s.Found = append(s.Found, m)
			}
			if !read {
				unreadable++
			}
		}
		if unreadable > 0 && unreadable == len(items) { // the field is not where it was declared: nothing was compared
			return toolbox.Sighting{Failed: "look_up_without_match"}
		}
		if page, failed = t.nextPage(form, a); failed != "" {
			return toolbox.Sighting{Failed: failed}
		}
		if page == "" {
			s.AllPages = true
			return s
		}
		if !t.d.Facts.Lookup.AllPages {
			return s
		}
	}
	return s
}

// wireKey is the key as the request carries it where the look-up searches for it.
func (t *Tool) wireKey(r toolbox.Request) string {
	for _, p := range append([]toolbox.KeyPlace{t.d.Facts.Key}, t.d.Facts.Key.Also...) {
		if p.Sent() && p.Encode != "number" {
			return encodeKey(p, r.Key, r.Number)
		}
	}
	return r.Key
}

// items are the candidates of one page. Whatever is not a plain, complete list is a failed look-up, never an empty one.
func (t *Tool) items(form toolbox.LookupForm, a answer, err error) (items []any, failed string) {
	switch {
	case err != nil:
		return nil, "look_up_lost"
	case form.Items == "" && a.status == 404 && a.parsed:
		return nil, ""
	case a.status != 200: // 202 is not ready, 206 is a part
		return nil, fmt.Sprintf("look_up_status_%d", a.status)
	case !a.parsed:
		return nil, "look_up_unreadable"
	case form.Items == "":
		return objects([]any{a.body})
	}
	found := at(a.body, form.Items)
	if len(found) != 1 {
		return nil, "look_up_without_list"
	}
	list, ok := found[0].([]any)
	if !ok {
		return nil, "look_up_without_list"
	}
	return objects(list)
}

// objects refuses a list in which anything is no object: it could be what is looked for.
func objects(list []any) (items []any, failed string) {
	for _, item := range list {
		if _, ok := item.(map[string]any); !ok {
			return nil, "look_up_unreadable"
		}
	}
	return list, ""
}

// nextPage is the next page: null or absent ends the search, and anything but a text or a number is not a page.
func (t *Tool) nextPage(form toolbox.LookupForm, a answer) (page, failed string) {
	if form.Next == "" {
		return "", ""
	}
	found := at(a.body, form.Next)
	if len(found) == 0 || len(found) == 1 && found[0] == nil {
		return "", ""
	}
	switch x := found[0].(type) {
	case string, canonical.Number:
		return plain(x), ""
	}
	return "", "look_up_next_page_unreadable"
}

// match judges one candidate. read is false when what it should be compared by is not there.
func (t *Tool) match(form toolbox.LookupForm, item any, r toolbox.Request) (m toolbox.Match, mine, read bool) {
	l := t.d.Facts.Lookup
	if l.Signs != nil {
		return t.matchSigns(item, r)
	}
	m = toolbox.Match{By: map[string]string{"key": "key", "reference": "reference", "scan": "key", "resource_id": "key"}[l.By]}
	want := any(t.wireKey(r))
	if l.By == "reference" {
		want = r.Number
	}
	if name, ok := strings.CutPrefix(form.Match.Equals, "args."); ok {
		if want, ok = r.Args[name]; !ok {
			return m, false, true
		}
		m.By = "signs"
		if form.Match.Unique {
			m.By = "unique"
		}
	}
	if form.Match.Path != "" {
		found := at(item, form.Match.Path)
		if len(found) != 1 || !scalar(found[0]) {
			return m, false, false
		}
		if !canonical.Equal(found[0], want) && plain(found[0]) != plain(want) { // spelling is enough to be a candidate
			return m, false, true
		}
	}
	t.describe(&m, item, r)
	return m, true, true
}

// describe fills what a person and the policy look at in a candidate.
func (t *Tool) describe(m *toolbox.Match, item any, r toolbox.Request) {
	m.ID = idAt(item, t.d.Facts.ExternalID)
	m.Differs = t.differs(item, r.Args)
	m.State = t.state(item)
	m.Title, m.Result = summary(item), t.result(item)
	if created := t.d.Facts.Lookup.Created; created != "" {
		m.Created, m.Undated = dateAt(item, created)
	}
}

// matchSigns judges a candidate by what it could share with another one. Without a date that can be read it stays one.
func (t *Tool) matchSigns(item any, r toolbox.Request) (m toolbox.Match, mine, read bool) {
	signs := t.d.Facts.Lookup.Signs
	m.By = "signs"
	for _, path := range sorted(signs.Fields) {
		found := at(item, path)
		if len(found) != 1 || !scalar(found[0]) {
			return m, false, false
		}
		want := r.Args[strings.TrimPrefix(signs.Fields[path], "args.")]
		if !canonical.Equal(found[0], want) && plain(found[0]) != plain(want) {
			return m, false, true
		}
	}
	t.describe(&m, item, r)
	tooOld := signs.Within > 0 && !m.Created.IsZero() && m.Created.Before(r.FirstSent.Add(-time.Duration(signs.Within)))
	return m, !tooOld, true
}

// dateAt reads a date: RFC 3339, or a number of seconds since 1970 in this century or the next. undated: it is not there, or
// cannot be read.
func dateAt(item any, path string) (date time.Time, undated bool) {
	found := at(item, path)
	if len(found) != 1 {
		return date, true
	}
	switch x := found[0].(type) {
	case string:
		date, err := time.Parse(time.RFC3339Nano, x)
		return date, err != nil
	case canonical.Number:
		seconds, err := strconv.ParseInt(string(x), 10, 64)
		if err == nil && seconds > 1e9 && seconds < 7e9 {
			return time.Unix(seconds, 0).UTC(), false
		}
	}
	return date, true
}

// scalar reports whether a value can be compared: null can, and is nobody's.
func scalar(x any) bool {
	switch x.(type) {
	case nil, string, canonical.Number, bool:
		return true
	}
	return false
}

// state maps the provider's word. Without a map, what is found is completed if the success rule's body condition says so
// or there is none.
func (t *Tool) state(item any) string {
	l := t.d.Facts.Lookup
	if l.State == nil {
		w := t.d.Facts.Success
		if w == nil || w.Body == "" || anyOf(*w, at(item, w.Body)) {
			return "completed"
		}
		return "unnamed"
	}
	word := textAt(item, l.State.Path)
	switch {
	case slices.Contains(l.State.Completed, word):
		return "completed"
	case slices.Contains(l.State.Failed, word):
		return "failed"
	case slices.Contains(l.State.Running, word):
		return "running"
	}
	return "unnamed"
}

// summary is a candidate for a person: its scalar fields.
func summary(item any) string {
	object, ok := item.(map[string]any)
	if !ok {
		return ""
	}
	kept := map[string]any{}
	for name, v := range object {
		switch x := v.(type) {
		case string:
			kept[name] = cut(x, 200)
		case canonical.Number, bool:
			kept[name] = x
		}
	}
	text, err := canonical.Plain(kept)
	if err != nil || len(text) > 4096 {
		return ""
	}
	return string(text)
}
