package fakeprovider

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// chat is a conversation with so many assistant messages.
func chat(assistants int, stream bool) string {
	messages := []string{`{"role":"user","content":"pay 817"}`}
	for range assistants {
		messages = append(messages, `{"role":"assistant","content":"…"}`, `{"role":"tool","content":"x","tool_call_id":"y"}`)
	}
	return fmt.Sprintf(`{"model":"m","stream":%v,"messages":[%s]}`, stream, strings.Join(messages, ","))
}

func (w *world) chat(assistants int, stream bool) reply {
	w.Helper()
	return w.post("/v1/chat/completions", "", chat(assistants, stream))
}

func script(t testing.TB, text string) *Script {
	t.Helper()
	s, err := ParseScript([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// completion is one whole answer or one chunk.
type completion struct {
	Object  string
	Model   string
	Choices []struct {
		Message, Delta struct {
			Role, Content string
			ToolCalls     []toolCall `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
}

func whole(t testing.TB, r reply) completion {
	t.Helper()
	var c completion
	if err := json.Unmarshal([]byte(r.want(t, 200).body), &c); err != nil || len(c.Choices) != 1 {
		t.Fatal(err, r.body)
	}
	return c
}

func chunks(t testing.TB, r reply) (list []completion, done bool) {
	t.Helper()
	for line := range strings.SplitSeq(r.body, "\n\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok && line != "" {
			t.Fatal(line)
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var c completion
		if ok {
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatal(err, data)
			}
			list = append(list, c)
		}
	}
	return list, done
}

// told writes the calls in the order in which they come, a piece without id as its arguments alone.
func told(calls []toolCall) (list []string) {
	for _, c := range calls {
		index, id := "-", "+"
		if c.Index != nil {
			index = fmt.Sprint(*c.Index)
		}
		if c.ID != nil {
			id = *c.ID
		}
		name := ""
		if c.Function.Name != nil {
			name = *c.Function.Name
		}
		list = append(list, index+" "+id+" "+name+c.Function.Arguments)
	}
	return list
}

const twoCalls = `"calls":[{"tool":"f","args":{"a": 1}},{"tool":"g","raw":"{\"b","id":"own"}]`

func TestModelShapes(t *testing.T) {
	const f, g = `f{"a":1}`, `g{"b`
	for shape, c := range map[string]struct {
		whole, stream []string
		finish        string
	}{
		"": {
			[]string{"- call_1_1 " + f, "- own " + g},
			[]string{"0 call_1_1 f", `0 + {"a"`, "0 + :1}", "1 own g", `1 + {"`, "1 + b"}, "tool_calls"},
		"same_index":          {nil, []string{"0 call_1_1 " + f, "0 own " + g}, "tool_calls"},
		"no_index":            {nil, []string{"- call_1_1 " + f, "- own " + g}, "tool_calls"},
		"empty_ids":           {[]string{"-  " + f, "-  " + g}, []string{"0  f", `0 + {"a"`, "0 + :1}", "1  g", `1 + {"`, "1 + b"}, "tool_calls"},
		"equal_ids":           {[]string{"- call_1_1 " + f, "- call_1_1 " + g}, nil, "tool_calls"},
		"snapshots":           {nil, []string{"0 call_1_1 " + f, "0 call_1_1 " + f, "1 own " + g}, "tool_calls"},
		"twice":               {[]string{"- call_1_1 " + f, "- own " + g, "- call_1_1 " + f, "- own " + g}, []string{"0 call_1_1 " + f, "1 own " + g, "0 call_1_1 " + f, "1 own " + g}, "tool_calls"},
		"blank_later":         {nil, []string{"0 call_1_1 f", `0  {"a"`, "0  :1}", "1 own g", `1  {"`, "1  b"}, "tool_calls"},
		"null_later":          {nil, []string{"0 call_1_1 f", `0 null null{"a"`, "0 null null:1}", "1 own g", `1 null null{"`, "1 null nullb"}, "tool_calls"},
		"empty_pieces":        {nil, []string{"0 + ", "0 call_1_1 f", "0 + ", `0 + {"a"`, "0 + ", "0 + :1}", "1 + ", "1 own g", "1 + ", `1 + {"`, "1 + ", "1 + b"}, "tool_calls"},
		"again_later":         {nil, []string{"0 call_1_1 f", `0 call_1_1 f{"a"`, "0 call_1_1 f:1}", "1 own g", `1 own g{"`, "1 own gb"}, "tool_calls"},
		"name_last":           {nil, []string{"0 call_1_1 ", "0 + f", `0 + {"a"`, "0 + :1}", "1 own ", "1 + g", `1 + {"`, "1 + b"}, "tool_calls"},
		"id_last":             {nil, []string{"0 + f", "0 call_1_1 ", `0 + {"a"`, "0 + :1}", "1 + g", "1 own ", `1 + {"`, "1 + b"}, "tool_calls"},
		"interleaved":         {nil, []string{"0 call_1_1 f", "1 own g", `0 + {"a"`, `1 + {"`, "0 + :1}", "1 + b"}, "tool_calls"},
		"extra_fields":        {[]string{"- call_1_1 " + f, "- own " + g}, nil, "tool_calls"},
		"no_index,in_pieces":  {nil, []string{"- call_1_1 f", `- + {"a"`, "- + :1}", "- own g", `- + {"`, "- + b"}, "tool_calls"},
		"snapshots,in_pieces": {nil, []string{`0 call_1_1 f{"a"`, "0 call_1_1 " + f, "0 call_1_1 " + f, `1 own g{"`, "0 call_1_1 " + f, "1 own " + g}, "tool_calls"},
		"no_finish":           {nil, nil, ""},
		"finish_stop":         {nil, nil, "stop"},
		"finish_length":       {nil, nil, "length"},
	} {
		t.Run(shape, func(t *testing.T) {
			list := `"shape":["` + strings.ReplaceAll(shape, ",", `","`) + `"],`
			if shape == "" {
				list = ""
			}
			w := newWorld(t, Options{Script: script(t, `{"answers":[{`+list+twoCalls+`}]}`)})
			at := whole(t, w.chat(0, false)).Choices[0]
			if got := told(at.Message.ToolCalls); c.whole != nil && !slices.Equal(got, c.whole) || at.FinishReason != c.finish {
				t.Errorf("whole: %q, %s", got, at.FinishReason)
			}
			r := w.chat(0, true).want(t, 200)
			parts, done := chunks(t, r)
			var calls []toolCall
			for _, p := range parts {
				calls = append(calls, p.Choices[0].Delta.ToolCalls...)
			}
			if got := told(calls); c.stream != nil && !slices.Equal(got, c.stream) || !done || parts[len(parts)-1].Choices[0].FinishReason != c.finish {
				t.Errorf("stream: %q, %s", got, r.body)
			}
			if r.header.Get("Content-Type") != eventStream {
				t.Error(r.header)
			}
		})
	}
}

func TestModelFollowsTheConversation(t *testing.T) {
	w := newWorld(t, Options{Script: script(t, `{"answers":[{"say":"one"},{"say":"two words, ж","wait":"2s"}]}`)})
	for range 2 {
		if c := whole(t, w.chat(0, false)); c.Choices[0].Message.Content != "one" || c.Model != "m" || c.Choices[0].FinishReason != "stop" {
			t.Error(c)
		}
	}
	got := make(chan reply, 1)
	go func() { got <- w.chat(1, true) }()
	w.held(1)
	w.clock.Advance(2 * time.Second)
	parts, done := chunks(t, (<-got).want(t, 200))
	said := ""
	for _, p := range parts {
		said += p.Choices[0].Delta.Content
	}
	if said != "two words, ж" || !done || parts[0].Choices[0].Delta.Role != "assistant" {
		t.Error(said, parts)
	}
	if r := w.chat(2, false).want(t, 500); r.code(t) != "script_ended" {
		t.Error(r.body)
	}
	w.get("/v1/models").want(t, 200)
	w.post("/v1/chat/completions", "", "{").want(t, 400)
	w.post("/v1/chat/completions", "", `{"messages":[]}`).want(t, 400)
	if q := w.Core().Requests(); q.Model != 6 || q.Writes+q.Lookups != 0 {
		t.Error(q)
	}
	if asked := w.Core().ModelRequests(); len(asked) != 6 || string(asked[0]) != chat(0, false) || string(asked[4]) != `"{"` {
		t.Errorf("%s", asked)
	}
}

func TestModelInOrderOfAsking(t *testing.T) {
	w := newWorld(t, Options{Script: script(t, `{"order":"asked","answers":[{"say":"one"},{"say":"two"}]}`)})
	for _, want := range []string{"one", "two"} {
		if c := whole(t, w.chat(0, false)); c.Choices[0].Message.Content != want {
			t.Error(c)
		}
	}
	w.chat(0, false).want(t, 500)
	w.SetScript(script(t, `{"order":"asked","answers":[{"say":"three"}]}`))
	if c := whole(t, w.chat(5, false)); c.Choices[0].Message.Content != "three" {
		t.Error(c)
	}
	w.SetScript(nil)
	w.chat(0, false).want(t, 404)
}

func TestModelBreaks(t *testing.T) {
	w := newWorld(t, Options{Script: script(t, `{"answers":[{"break":"html"},{"break":"empty"},{"break":{"status":429,"retry_after":"1s"}},
		{"break":"mid_stream","call":{"tool":"cancel_order","args":{"order_id":"817","dry_run":true}}},{"break":"mid_stream"}]}`)})
	for _, stream := range []bool{false, true} {
		if r := w.chat(0, stream).want(t, 200); !strings.Contains(r.body, "<html>") {
			t.Error(r.body)
		}
		if r := w.chat(1, stream).want(t, 200); r.body != "" {
			t.Error(r.body)
		}
		if r := w.chat(2, stream).want(t, 429); r.header.Get("Retry-After") != "1" {
			t.Error(r.header)
		}
		for n := 3; n <= 4; n++ {
			r := w.chat(n, stream)
			if r.err != io.ErrUnexpectedEOF || r.body == "" || strings.Contains(r.body, "[DONE]") || stream && strings.Contains(r.body, `"finish_reason":"`) {
				t.Error(stream, r)
			}
		}
	}
}

func TestModelUsageChunk(t *testing.T) {
	w := newWorld(t, Options{Script: script(t, `{"answers":[{"say":"x"}]}`)})
	body := strings.Replace(chat(0, true), `{`, `{"stream_options":{"include_usage":true},`, 1)
	r := w.post("/v1/chat/completions", "", body).want(t, 200)
	if !strings.Contains(r.body, `"choices":[],`) || !strings.Contains(r.body, `"total_tokens":2`) {
		t.Error(r.body)
	}
}

func TestBadScripts(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{}`, `{"answers":[]}`, `{"answers":[{}]}`, `{"answers":[{"say":"x"}]} x`, `{"answers":[{"say":"x"}],"colour":1}`,
		`{"order":"random","answers":[{"say":"x"}]}`, `{"answers":[{"say":"x","shape":["round"]}]}`, `{"answers":[{"say":"x","wait":2}]}`,
		`{"answers":[{"call":{"tool":"t"},"calls":[{"tool":"t"}]}]}`, `{"answers":[{"call":{"args":{}}}]}`,
		`{"answers":[{"call":{"tool":"t","args":{},"raw":"x"}}]}`, `{"answers":[{"call":{"tool":"t","args":[]}}]}`,
		`{"answers":[{"break":"soon"}]}`, `{"answers":[{"break":{"status":200}}]}`, `{"answers":[{"break":{"status":500,"x":1}}]}`,
		`{"answers":[{"break":"html","say":"x"}]}`, `{"answers":[{"break":{"retry_after":"1s"}}]}`,
	} {
		if s, err := ParseScript([]byte(text)); err == nil {
			t.Errorf("%s was taken: %+v", text, s)
		} else if !strings.Contains(err.Error(), "script") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
