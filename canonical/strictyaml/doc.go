// Package strictyaml reads the YAML files that people write for Notwice (FORMATS §1): one document, at most 1 MiB, depth at
// most 32, no anchors, aliases, tags or merge keys, no duplicate keys. A scalar is what it looks like: 817 is a number and
// keeps its digits, "817" is a text, only true and false are booleans, dates are text. Nothing is converted.
//
// Every error names file, line and column. It is the one door to github.com/goccy/go-yaml and imports only canonical.
package strictyaml
