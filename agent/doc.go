// Package agent lets a language model choose tools. The model proposes; what is done, under which key and whether at all is
// the toolbox's business.
//
// It promises that every model answer is recorded before its tools run and every tool result before the model sees it, so
// that a killed task goes on where it was; that a recorded call which runs again is the same operation; that the loop is
// bounded; and that under each reply stands a receipt read from the journal, whatever the model wrote.
//
// It imports toolbox only: journal, policy and canonical are out of its reach, so the model's side has no
// way to spell a key. Its transcript goes through an interface that the stores satisfy. It is the one door to
// sashabaranov/go-openai.
package agent
