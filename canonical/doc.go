// Package canonical gives the same bytes to the same meaning: the one strict JSON parser, the canonical form of RFC 8785,
// the normal forms of tool arguments, money in minor units, the hashes that say "this is the same request" and "this is the
// same wish", and the operation number.
//
// It refuses what it cannot read without guessing: invalid UTF-8, duplicate names, trailing text, deep or large input,
// numbers in money that are not exact. It never repairs.
//
// It imports nothing of Notwice and knows no network, clock or randomness. It is the one door to go-json-experiment/json
// and golang.org/x/text; its child strictyaml is the one door to YAML.
package canonical
