//go:build race

package policy

const raced = true
