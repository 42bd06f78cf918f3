package fakeprovider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// check says what is wrong with a fault, however it was made: from JSON or as a Go value.
func (f *Fault) check() error {
	n, ok := natures[f.Do]
	if !ok {
		return fmt.Errorf("unknown fault %q; known are %s", f.Do, faultNames())
	}
	for name, place := range f.places() {
		if fieldText(place) != nil && !n.allows(name) {
			return fmt.Errorf("fault %s: field %q: %s does not take it", f.Do, name, f.Do)
		}
	}
	if f.EveryNth != 0 && f.Do != "lookup_miss" || f.Every != 0 && f.Do != "drip" {
		return fmt.Errorf("fault %s: field \"every\": a duration belongs to drip, a count to lookup_miss", f.Do)
	}
	if n.needs != "" && !f.has(n.needs) {
		return fmt.Errorf("fault %s: field %q is required", f.Do, n.needs)
	}
	if err := f.checkRanges(); err != nil {
		return fmt.Errorf("fault %s: %w", f.Do, err)
	}
	if err := f.checkOn(n.target); err != nil {
		return fmt.Errorf("fault %s: %w", f.Do, err)
	}
	return nil
}

func (f *Fault) has(name string) bool {
	return fieldText(f.places()[name]) != nil || name == "every" && f.EveryNth != 0
}

func (f *Fault) checkRanges() error {
	for name, n := range map[string]int{"nth": f.Nth, "times": f.Times, "bytes": f.Bytes, "page": f.Page, "every": f.EveryNth} {
		if n < 0 {
			return fmt.Errorf("field %q: %d is less than 1", name, n)
		}
	}
	for name, d := range map[string]int64{"after": int64(f.After), "for": int64(f.For), "every": int64(f.Every), "retry_after": int64(f.RetryAfter)} {
		if d < 0 {
			return fmt.Errorf("field %q: negative duration", name)
		}
	}
	low, high := 400, 599
	if f.Do == "redirect" {
		low, high = 300, 399
	}
	if f.Status != 0 && (f.Status < low || f.Status > high) {
		return fmt.Errorf("field \"status\": %d is not between %d and %d", f.Status, low, high)
	}
	if f.Value != nil && !json.Valid(f.Value) {
		return fmt.Errorf("field \"value\": not JSON")
	}
	if strings.ContainsAny(f.To, "\r\n\x00") {
		return fmt.Errorf("field \"to\": not an address")
	}
	return nil
}

func (f *Fault) checkOn(target target) error {
	if f.On == "" {
		if target == onProvider {
			return nil
		}
		return fmt.Errorf("field \"on\" is required, such as \"payments.create\"")
	}
	kind, action, _ := strings.Cut(f.On, ".")
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("field \"on\": unknown kind %q; known are %s", kind, strings.Join(kinds, ", "))
	}
	if !known(kind, action) {
		return fmt.Errorf("field \"on\": unknown action %q of %s", action, kind)
	}
	if target != onProvider && target&targetOf(action) == 0 {
		return fmt.Errorf("field \"on\": %s cannot strike %q", f.Do, f.On)
	}
	return nil
}

func targetOf(action string) target {
	switch action {
	case actionGet:
		return onGet
	case actionSearch:
		return onSearch
	}
	return onWrite
}
