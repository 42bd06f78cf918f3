package fakeprovider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

const eventStream = "text/event-stream"

// shapes are the ways in which servers in the field are known to deviate:
//
//	same_index     streaming: every call complete in one piece, all with index 0
//	no_index       streaming: likewise, without any index
//	empty_ids      every call's id is ""
//	equal_ids      every call has the id of the first
//	snapshots      streaming: each piece holds all complete calls so far instead of what is new
//	twice          every call is delivered twice, under one id
//	in_pieces      streaming: with one of the shapes above, arguments still come in pieces
//	blank_later    streaming: later pieces of a call bear id "" and name "" again
//	null_later     streaming: later pieces bear the text "null" as id and name
//	again_later    streaming: later pieces of a call bear its id and name again
//	name_last      streaming: a call's first piece has its id, the second its name
//	id_last        streaming: the other way round
//	interleaved    streaming: the pieces of all calls take turns
//	empty_pieces   streaming: a piece of a call with nothing in it stands before every other
//	extra_fields   every call bears an unknown empty object
//	finish_stop    the finish reason is stop although there are calls
//	finish_length  the finish reason is length
//	no_finish      there is no finish reason, though a stream still ends in order
var shapes = []string{
	"same_index", "no_index", "empty_ids", "equal_ids", "snapshots", "twice", "in_pieces", "blank_later", "null_later", "again_later",
	"name_last", "id_last", "interleaved", "empty_pieces", "extra_fields", "finish_stop", "finish_length", "no_finish",
}

// speech is one answer of the model on its way out, in the format of OpenAI's chat completions.
type speech struct {
	*ScriptAnswer
	n       int
	model   string
	created int64
	usage   bool // the client wants a last chunk with the usage
}

type toolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       *string      `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function callFunction `json:"function"`
	Custom   *struct{}    `json:"custom,omitempty"`
}

type callFunction struct {
	Name      *string `json:"name,omitempty"`
	Arguments string  `json:"arguments"`
}

// usage is made up: a script does not count tokens.
var madeUpUsage = json.RawMessage(`{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`)

func (s speech) shaped(shape string) bool { return slices.Contains(s.Shape, shape) }

// calls are the calls as sent: with the ids and the repetition that the shape wants.
func (s speech) calls() []toolCall {
	var list []toolCall
	for i, call := range s.allCalls() {
		id := call.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", s.n, i+1)
		}
		if s.shaped("equal_ids") && i > 0 {
			id = *list[0].ID
		}
		if s.shaped("empty_ids") {
			id = ""
		}
		index := i
		list = append(list, toolCall{Index: &index, ID: &id, Type: "function", Function: callFunction{&call.Tool, call.arguments()}, Custom: s.custom()})
	}
	if s.shaped("twice") {
		list = append(list, list...)
	}
	return list
}

// custom is what one gateway is known to add to every piece.
func (s speech) custom() *struct{} {
	if s.shaped("extra_fields") {
		return &struct{}{}
	}
	return nil
}

func (s speech) finish() any {
	switch {
	case s.shaped("no_finish"):
		return nil
	case s.shaped("finish_length"):
		return "length"
	case s.shaped("finish_stop") || len(s.allCalls()) == 0:
		return "stop"
	}
	return "tool_calls"
}

// id is the same for every piece of one answer.
func (s speech) id() string { return fmt.Sprintf("chatcmpl-%d", s.n) }

func (s speech) envelope(object string, choice any) map[string]any {
	choices := []any{}
	if choice != nil {
		choices = append(choices, choice)
	}
	return map[string]any{"id": s.id(), "object": object, "created": s.created, "model": s.model, "choices": choices}
}

// whole is the answer in one JSON object.
func (s speech) whole() Answer {
	message := map[string]any{"role": "assistant", "content": nil}
	if s.Say != "" {
		message["content"] = s.Say
	}
	calls := s.calls()
	for i := range calls {
		calls[i].Index = nil // only streams have one
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	body := s.envelope("chat.completion", map[string]any{"index": 0, "message": message, "finish_reason": s.finish()})
	body["usage"] = madeUpUsage
	a := jsonAnswer(http.StatusOK, encode(body))
	if s.Break != nil {
		return truncate(a)
	}
	return a
}

// stream is the answer as server-sent events. A break in mid stream ends it in the last call's arguments, or in the words, with
// neither a finish reason nor [DONE].
func (s speech) stream() Answer {
	pieces := [][]byte{s.chunk(map[string]any{"role": "assistant", "content": ""}, nil)}
	for _, text := range cutText(s.Say) {
		pieces = append(pieces, s.chunk(map[string]any{"content": text}, nil))
	}
	for _, delta := range s.callDeltas() {
		pieces = append(pieces, s.chunk(map[string]any{"tool_calls": delta}, nil))
	}
	a := Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {eventStream}, "Cache-Control": {"no-cache"}}}
	if s.Break != nil {
		a.Pieces, a.Fate = pieces[:max(1, len(pieces)-1)], Cut
		return a
	}
	pieces = append(pieces, s.chunk(map[string]any{}, s.finish()))
	if s.usage {
		body := s.envelope("chat.completion.chunk", nil)
		body["usage"] = madeUpUsage
		pieces = append(pieces, event(encode(body)))
	}
	a.Pieces = append(pieces, event([]byte("[DONE]")))
	return a
}

func (s speech) chunk(delta map[string]any, finish any) []byte {
	return event(encode(s.envelope("chat.completion.chunk", map[string]any{"index": 0, "delta": delta, "finish_reason": finish})))
}

func event(data []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", data) }

// cutText cuts a text into at least two pieces, where it has so many characters, of at most nine characters.
func cutText(text string) []string {
	runes := []rune(text)
	size := min(9, max(1, (len(runes)+1)/2))
	var pieces []string
	for part := range slices.Chunk(runes, size) {
		pieces = append(pieces, string(part))
	}
	return pieces
}
