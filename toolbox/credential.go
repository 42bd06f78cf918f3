package toolbox

import (
	"maps"
	"regexp"
	"slices"

	"notwice/canonical"
)

var secretReference = regexp.MustCompile(`\$\{secret\.([A-Za-z0-9_-]+)\}`)

// secretNames are the secrets that a tool's requests and look-ups name.
func secretNames(f Facts) []string {
	names := map[string]bool{}
	var walk func(v any)
	request := func(r *HTTPRequest) {
		if r == nil {
			return
		}
		walk(r.URL)
		walk(r.JSON)
		for _, m := range []map[string]string{r.Headers, r.Query, r.Form} {
			for _, text := range m {
				walk(text)
			}
		}
	}
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			for _, m := range secretReference.FindAllStringSubmatch(v, -1) {
				names[m[1]] = true
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	request(f.HTTP)
	if f.Lookup != nil {
		request(f.Lookup.HTTP)
		for _, form := range f.Lookup.Forms {
			request(form.HTTP)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// credential is a keyed digest of the secrets that a tool would use now: it tells later that they were changed, and nothing
// else. A secret that cannot be read makes a digest of its own.
func (t *Toolbox) credential(tl *tool) string {
	if len(tl.secrets) == 0 {
		return ""
	}
	values := map[string]any{}
	for _, name := range tl.secrets {
		value, err := t.secrets(name)
		if err != nil {
			values[name] = nil
		} else {
			values[name] = value
		}
	}
	digest, err := canonical.Digest(t.digest, "secrets", values)
	if err != nil {
		return "unreadable"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.secretsRead[digest] = values
	return digest
}

// secretsOf are the secrets that a digest stands for: what an attempt was claimed with is what it sends, also if they are changed
// in between. They are in memory only.
func (t *Toolbox) secretsOf(digest string) func(name string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	values, known := t.secretsRead[digest]
	return func(name string) (string, error) {
		if text, ok := values[name].(string); known && ok {
			return text, nil
		}
		return t.secrets(name)
	}
}
