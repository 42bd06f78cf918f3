// Package httptool speaks HTTP for tools: the transport for effects, the request templates, the one evaluator of answer
// rules, and the look-ups. It reports what it saw and decides nothing: it imports toolbox, journal and canonical, not policy.
//
// An effect is sent on a connection of its own. Go's stock transport repeats a POST by itself when its headers bear an
// idempotency key and a kept-alive connection dies, and follows 307 and 308 with body and key: two effects from one call.
package httptool
