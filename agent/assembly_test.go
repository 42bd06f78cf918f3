package agent

import (
	"reflect"
	"testing"
)

// Pieces as servers were seen to send them (cases 29, 31, 33, 42, 45): index (-1: none), id, name, arguments.
func TestAssembly(t *testing.T) {
	type piece struct {
		index          int
		id, name, args string
	}
	for name, c := range map[string]struct {
		pieces []piece
		want   []ToolCall
	}{
		"as it should be": {[]piece{{0, "a", "f", ""}, {0, "", "", `{"x"`}, {0, "", "", `:1}`}, {1, "b", "g", ""}, {1, "", "", `{}`}},
			[]ToolCall{{"a", "f", `{"x":1}`}, {"b", "g", `{}`}}},
		"case-042 wiped by nothing": {[]piece{{0, "a", "f", `{"x"`}, {0, "", "", `:1}`}, {1, "b", "f", `{`}, {1, "", "", `}`}},
			[]ToolCall{{"a", "f", `{"x":1}`}, {"b", "f", `{}`}}},
		"case-045 the name null": {[]piece{{0, "a", "f", ""}, {0, "null", "null", `{"x":1}`}}, []ToolCall{{"a", "f", `{"x":1}`}}},
		"case-045 null first":    {[]piece{{0, "a", "null", ""}, {0, "", "f", `{"x":1}`}}, []ToolCall{{"a", "f", `{"x":1}`}}},
		"id in every piece":      {[]piece{{0, "a", "f", `{"x"`}, {0, "a", "f", `:1`}, {0, "a", "f", `}`}}, []ToolCall{{"a", "f", `{"x":1}`}}},
		"case-031 growing":       {[]piece{{0, "a", "f", `{"x"`}, {0, "a", "f", `{"x":1}`}, {0, "a", "f", `{"x":1}`}}, []ToolCall{{"a", "f", `{"x":1}`}}},
		"case-029 twice":         {[]piece{{0, "a", "f", `{"x":1}`}, {0, "a", "f", `{"x":1}`}}, []ToolCall{{"a", "f", `{"x":1}`}}},
		"one id, two calls":      {[]piece{{0, "a", "f", `{"x":1}`}, {1, "a", "f", `{"x":2}`}}, []ToolCall{{"a", "f", `{"x":1}`}, {"a", "f", `{"x":2}`}}},
		"no ids, no index":       {[]piece{{-1, "", "f", `{"x":1}`}, {-1, "", "f", `{"x":2}`}, {-1, "", "g", `{}`}}, []ToolCall{{"", "f", `{"x":1}`}, {"", "f", `{"x":2}`}, {"", "g", `{}`}}},
		"case-033 index 0, ids":  {[]piece{{0, "a", "f", `{"x":1}`}, {0, "b", "f", `{"x":2}`}}, []ToolCall{{"a", "f", `{"x":1}`}, {"b", "f", `{"x":2}`}}},
		"case-034 glued":         {[]piece{{0, "a", "f", `{"x":1}`}, {0, "", "", `{"x":2}`}}, []ToolCall{{"a", "f", `{"x":1}{"x":2}`}}},
		"without arguments":      {[]piece{{0, "a", "f", ""}, {1, "b", "g", ""}}, []ToolCall{{"a", "f", ""}, {"b", "g", ""}}},
		"interleaved":            {[]piece{{0, "a", "f", `{`}, {1, "b", "f", `{`}, {0, "", "", `"x":1}`}, {1, "", "", `"x":2}`}}, []ToolCall{{"a", "f", `{"x":1}`}, {"b", "f", `{"x":2}`}}},
	} {
		var a assembly
		for _, p := range c.pieces {
			index := &p.index
			if p.index < 0 {
				index = nil
			}
			a.add(index, p.id, p.name, p.args)
		}
		if got := a.done(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n  got  %q\n  want %q", name, got, c.want)
		}
	}
}
