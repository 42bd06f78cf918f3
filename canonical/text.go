package canonical

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold is the form in which identity texts are compared: NFKC, case-folded, trimmed. "ADA@Example.test " and
// "ada@example.test" fold to one; that their bytes differ is then a conflict to show, never a second effect.
func Fold(s string) string {
	return strings.TrimSpace(norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s))))
}

// NFC is the composed form of a text, used in hashes only: the wire carries what was registered.
func NFC(s string) string { return norm.NFC.String(s) }

// Invisible returns the first character of s that a person would not see, with its name for an error: zero-width and
// bidirectional marks, controls, and spaces other than the plain one.
func Invisible(s string) (name string, found bool) {
	for _, r := range s {
		switch {
		case r == ' ':
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r), unicode.Is(unicode.Z, r), unicode.Is(unicode.Variation_Selector, r),
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return fmt.Sprintf("U+%04X", r), true
		}
	}
	return "", false
}

// MixedScripts returns the first word of s whose letters come from two scripts, such as a Cyrillic "а" inside "pаypal".
// "Счёт INV-817" is two words and fine.
func MixedScripts(s string) (word string, found bool) {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	for _, w := range words {
		script := ""
		for _, r := range w {
			of := scriptOf(r)
			if of == "" {
				continue
			}
			if script != "" && script != of {
				return w, true
			}
			script = of
		}
	}
	return "", false
}

// scriptOf names the script of a letter; the scripts that Japanese writes in one word count as one.
func scriptOf(r rune) string {
	for _, s := range []struct {
		name  string
		table *unicode.RangeTable
	}{
		{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}, {"Armenian", unicode.Armenian},
		{"Hebrew", unicode.Hebrew}, {"Arabic", unicode.Arabic}, {"Georgian", unicode.Georgian}, {"Cherokee", unicode.Cherokee},
		{"Han", unicode.Han}, {"Han", unicode.Hiragana}, {"Han", unicode.Katakana}, {"Han", unicode.Bopomofo}, {"Hangul", unicode.Hangul},
	} {
		if unicode.Is(s.table, r) {
			return s.name
		}
	}
	return ""
}
