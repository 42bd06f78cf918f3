package fakeprovider

import "slices"

// callDeltas are the lists of calls, one for each chunk of a stream. A sound server sends id and name first and the arguments in pieces
// after them; most of the servers behind the other shapes send complete calls.
func (s speech) callDeltas() [][]toolCall {
	calls := s.calls()
	whole := !s.shaped("in_pieces") && (s.shaped("no_index") || s.shaped("same_index") || s.shaped("twice"))
	var each [][][]toolCall
	for i := range calls {
		switch {
		case s.shaped("no_index"):
			calls[i].Index = nil
		case s.shaped("same_index"):
			calls[i].Index = new(int)
		}
		switch {
		case s.shaped("snapshots"):
			each = append(each, s.snapshots(calls[:i+1]))
		case whole:
			each = append(each, [][]toolCall{calls[i : i+1]})
		default:
			each = append(each, s.inPieces(calls[i]))
		}
	}
	deltas := slices.Concat(each...)
	if s.shaped("interleaved") {
		deltas = inTurns(each)
	}
	if s.shaped("empty_pieces") {
		deltas = s.spaced(deltas)
	}
	return deltas
}

// snapshots are the chunks in which the last of these calls becomes known: each shows all calls so far, the last one complete or, in
// pieces, longer each time.
func (s speech) snapshots(calls []toolCall) [][]toolCall {
	if !s.shaped("in_pieces") {
		return [][]toolCall{slices.Clone(calls)}
	}
	var deltas [][]toolCall
	so := ""
	for _, text := range cutText(calls[len(calls)-1].Function.Arguments) {
		so += text
		shown := slices.Clone(calls)
		shown[len(shown)-1].Function.Arguments = so
		deltas = append(deltas, shown)
	}
	return deltas
}

// inTurns takes one delta of each call, then the next one of each.
func inTurns(each [][][]toolCall) [][]toolCall {
	var list [][]toolCall
	for n, more := 0, true; more; n++ {
		more = false
		for _, deltas := range each {
			if n < len(deltas) {
				list, more = append(list, deltas[n]), true
			}
		}
	}
	return list
}

// inPieces is one call: its head, then its arguments bit by bit.
func (s speech) inPieces(call toolCall) [][]toolCall {
	deltas := s.heads(call)
	for _, text := range cutText(call.Function.Arguments) {
		piece := s.later(call.Index, text)
		if s.shaped("again_later") {
			piece.ID, piece.Function.Name = call.ID, call.Function.Name
		}
		deltas = append(deltas, []toolCall{piece})
	}
	return deltas
}

// heads are id and name, in one piece or in two.
func (s speech) heads(call toolCall) [][]toolCall {
	call.Function.Arguments = ""
	named, numbered := call, call
	named.ID, numbered.Function.Name = nil, nil
	switch {
	case s.shaped("name_last"):
		return [][]toolCall{{numbered}, {named}}
	case s.shaped("id_last"):
		return [][]toolCall{{named}, {numbered}}
	}
	return [][]toolCall{{call}}
}

// later is a piece behind the head.
func (s speech) later(index *int, text string) toolCall {
	piece := toolCall{Index: index, Function: callFunction{Arguments: text}, Custom: s.custom()}
	for shape, word := range map[string]string{"blank_later": "", "null_later": "null"} {
		if s.shaped(shape) {
			piece.ID, piece.Function.Name = &word, &word
		}
	}
	return piece
}

// spaced puts an empty piece before every other.
func (s speech) spaced(deltas [][]toolCall) [][]toolCall {
	var list [][]toolCall
	for _, d := range deltas {
		list = append(list, []toolCall{s.later(d[0].Index, "")}, d)
	}
	return list
}
