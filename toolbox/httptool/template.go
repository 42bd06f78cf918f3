package httptool

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"notwice/canonical"
	"notwice/toolbox"
)

var reference = regexp.MustCompile(`\$\{([a-z]+)(?:\.([A-Za-z0-9_-]+))?\}`)

// values resolves references when a request is built. Secrets and volatile fields become marks, which only resolve fills,
// right before sending: neither reaches the journal. A mark is framed by NUL, which no argument may hold, so that no text
// of a caller can pass for one.
type values struct {
	args     map[string]any
	volatile map[string]any
	key      string
	number   string
	page     string
}

func mark(kind, name string) string { return "\x00" + kind + "." + name + "\x00" }

// one resolves one reference; given is false when it is an absent argument.
func (v values) one(kind, name string) (value any, given bool, err error) {
	switch {
	case kind == "args":
		if x, ok := v.args[name]; ok {
			return x, true, nil
		}
		if _, ok := v.volatile[name]; ok { // the caller's value never reaches the journal
			return mark("v", name), true, nil
		}
		return nil, false, nil
	case kind == "operation" && name == "key":
		return v.key, true, nil
	case kind == "operation" && name == "number":
		return v.number, true, nil
	case kind == "page" && name == "":
		return v.page, v.page != "", nil
	case kind == "secret":
		return mark("s", name), true, nil
	}
	return nil, false, fmt.Errorf("the reference ${%s.%s} is not known", kind, name)
}

// fill resolves a template value. A text that is only a reference keeps the type of what it names; where that is absent the
// whole value is left out (given is false). Inside other text a reference becomes text.
func (v values) fill(t any) (out any, given bool, err error) {
	switch t := t.(type) {
	case string:
		return v.text(t)
	case []any:
		list := []any{}
		for _, e := range t {
			x, ok, err := v.fill(e)
			if err != nil {
				return nil, false, err
			}
			if ok {
				list = append(list, x)
			}
		}
		return list, true, nil
	case map[string]any:
		object := map[string]any{}
		for name, e := range t {
			x, ok, err := v.fill(e)
			if err != nil {
				return nil, false, err
			}
			if ok {
				object[name] = x
			}
		}
		return object, true, nil
	}
	return t, true, nil
}

func (v values) text(t string) (any, bool, error) {
	m := reference.FindStringSubmatchIndex(t)
	if m == nil {
		return t, true, nil
	}
	if m[0] == 0 && m[1] == len(t) {
		return v.one(part(t, m, 1), part(t, m, 2))
	}
	var failed error
	out := reference.ReplaceAllStringFunc(t, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		x, _, err := v.one(m[1], m[2])
		if err != nil {
			failed = err
		}
		return plain(x)
	})
	return out, true, failed
}

func part(t string, m []int, group int) string {
	if m[2*group] < 0 {
		return ""
	}
	return t[m[2*group]:m[2*group+1]]
}

func plain(x any) string {
	switch x := x.(type) {
	case nil:
		return ""
	case string:
		return x
	case canonical.Number:
		return string(x)
	case bool:
		return fmt.Sprint(x)
	}
	b, err := canonical.Plain(x)
	if err != nil {
		return ""
	}
	return string(b)
}

// wire is a built request as the journal keeps it.
type wire struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitzero"`
	Body    string            `json:"body,omitzero"`
}

// build makes the request of a template.
func build(r toolbox.HTTPRequest, v values) (wire, error) {
	w := wire{Method: r.Method, Headers: map[string]string{}}
	if holdsNUL(map[string]any(v.args)) {
		return w, fmt.Errorf("a NUL character cannot be sent")
	}
	address, err := v.address(r)
	if err != nil {
		return w, err
	}
	w.URL = address
	for name, t := range r.Headers {
		x, given, err := v.text(t)
		if err != nil {
			return w, err
		}
		if given {
			w.Headers[name] = plain(x)
		}
		if strings.ContainsAny(w.Headers[name], "\r\n") {
			return w, fmt.Errorf("header %s: a line break cannot stand in a header", name)
		}
	}
	return w, v.body(r, &w)
}

func (v values) body(r toolbox.HTTPRequest, w *wire) error {
	switch {
	case r.JSON != nil:
		filled, _, err := v.fill(r.JSON)
		if err != nil {
			return err
		}
		text, err := canonical.Plain(filled)
		if err != nil {
			return err
		}
		w.Body, w.Headers["Content-Type"] = string(text), "application/json"
	case r.Form != nil:
		form := url.Values{}
		for name, t := range r.Form {
			x, given, err := v.text(t)
			if err != nil {
				return err
			}
			if given {
				form.Set(name, plain(x))
			}
		}
		w.Body, w.Headers["Content-Type"] = form.Encode(), "application/x-www-form-urlencoded"
	}
	return nil
}

// address fills the path: a reference stands for one whole segment and is escaped, and may not step out of its place.
func (v values) address(r toolbox.HTTPRequest) (string, error) {
	u, err := url.Parse(reference.ReplaceAllStringFunc(r.URL, url.PathEscape))
	if err != nil {
		return "", fmt.Errorf("url: %w", err)
	}
	segments := strings.Split(u.Path, "/")
	for i, segment := range segments {
		x, _, err := v.text(segment)
		if err != nil {
			return "", err
		}
		text := plain(x)
		if text != segment && (text == "" || text == "." || text == ".." || strings.ContainsAny(text, "/\\\x00\r\n%")) {
			return "", fmt.Errorf("%q cannot stand in an address", text)
		}
		segments[i] = text
	}
	u.Path, u.RawPath = strings.Join(segments, "/"), ""
	query := u.Query()
	for name, t := range r.Query {
		x, given, err := v.text(t)
		if err != nil {
			return "", err
		}
		if given {
			query.Set(name, plain(x))
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// A mark as it stands in a header, in a JSON body (alone in its quotes, or inside a text) and in a form body.
var (
	headerMark = regexp.MustCompile(`\x00([sv])\.([A-Za-z0-9_-]+)\x00`)
	jsonMark   = regexp.MustCompile(`"\\u0000([sv])\.([A-Za-z0-9_-]+)\\u0000"|\\u0000([sv])\.([A-Za-z0-9_-]+)\\u0000`)
	formMark   = regexp.MustCompile(`%00([sv])\.([A-Za-z0-9_-]+)%00`)
)

// filler fills marks at send time.
type filler struct {
	volatile map[string]any
	secret   func(string) (string, error)
	missing  string // a volatile field that nobody brought
	err      error
}

func (f *filler) value(kind, name string) any {
	if kind == "v" {
		x, given := f.volatile[name]
		if !given {
			f.missing = name
		}
		return x
	}
	x, err := f.secret(name)
	if err != nil {
		f.err = err
	}
	return x
}

// fill puts secrets and the caller's volatile fields into a registered request.
func (f *filler) fill(w wire) wire {
	out := wire{Method: w.Method, URL: w.URL, Headers: map[string]string{}}
	for name, t := range w.Headers {
		out.Headers[name] = headerMark.ReplaceAllStringFunc(t, func(ref string) string {
			m := headerMark.FindStringSubmatch(ref)
			return plain(f.value(m[1], m[2]))
		})
	}
	if w.Headers["Content-Type"] == "application/x-www-form-urlencoded" {
		out.Body = formMark.ReplaceAllStringFunc(w.Body, func(ref string) string {
			m := formMark.FindStringSubmatch(ref)
			return url.QueryEscape(plain(f.value(m[1], m[2])))
		})
		return out
	}
	out.Body = jsonMark.ReplaceAllStringFunc(w.Body, func(ref string) string {
		m := jsonMark.FindStringSubmatch(ref)
		if m[1] != "" {
			return jsonText(f.value(m[1], m[2]))
		}
		quoted := jsonText(plain(f.value(m[3], m[4])))
		return quoted[1 : len(quoted)-1]
	})
	return out
}

func jsonText(x any) string {
	b, err := canonical.Plain(x)
	if err != nil {
		return "null"
	}
	return string(b)
}

// holdsNUL reports whether a text in the arguments could be taken for a mark.
func holdsNUL(x any) bool {
	switch x := x.(type) {
	case string:
		return strings.ContainsRune(x, 0)
	case []any:
		return slices.ContainsFunc(x, holdsNUL)
	case map[string]any:
		for name, e := range x {
			if strings.ContainsRune(name, 0) || holdsNUL(e) {
				return true
			}
		}
	}
	return false
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
