package canonical

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// IsInteger reports whether a number is spelled as a plain integer: digits with an optional minus, no fraction, no
// exponent. 1e16 and 1.0 are not: two spellings of one integer would need a conversion, and conversions round.
func (n Number) IsInteger() bool {
	return isNumber(string(n)) && !strings.ContainsAny(string(n), ".eE")
}

// Exact reports whether the canonical form keeps the number's value. Integers always do; another number only if the
// nearest double, written shortest, is the same decimal: 0.1 is, 0.1000000000000000055 and 1e400 are not.
func (n Number) Exact() bool {
	if n.IsInteger() {
		return true
	}
	if !isNumber(string(n)) || len(n) > 400 {
		return false
	}
	if at := strings.IndexAny(string(n), "eE"); at >= 0 {
		if e, err := strconv.Atoi(string(n)[at+1:]); err != nil || e > 400 || e < -400 {
			return false
		}
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return false
	}
	spelled, ok := new(big.Rat).SetString(string(n))
	shortest, ok2 := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && ok2 && spelled.Cmp(shortest) == 0
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole := digitsAt(s)
	if whole == 0 || (whole > 1 && s[0] == '0') {
		return false
	}
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		n := digitsAt(s[1:])
		if n == 0 {
			return false
		}
		s = s[1+n:]
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digitsAt(s) == len(s)
}

func digitsAt(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
