package canonical

import (
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/text/currency"
)

// exponents are the currencies whose number of decimals is not two (ISO 4217, table A.1).
var exponents = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// Exponent is the number of decimals of a currency by ISO 4217. Error: not a known code.
func Exponent(code string) (int, error) {
	if n, ok := exponents[code]; ok {
		return n, nil
	}
	if len(code) != 3 || strings.ToUpper(code) != code {
		return 0, fmt.Errorf("%q is no currency code of ISO 4217", code)
	}
	if _, err := currency.ParseISO(code); err != nil {
		return 0, fmt.Errorf("%q is no currency code of ISO 4217", code)
	}
	return 2, nil
}

// Minor turns an amount in major units, as plain decimal text, into minor units exactly: "4900.00" RUB is 490000, "2000"
// JPY is 2000, "1.234" KWD is 1234. Everything that could be read in two ways is refused: signs, spaces, separators,
// exponents, too many decimals.
func Minor(amount, code string) (Number, error) {
	digits, err := Exponent(code)
	if err != nil {
		return "", err
	}
	whole, fraction, dot := strings.Cut(amount, ".")
	switch {
	case digitsAt(whole) != len(whole) || whole == "" || (dot && (fraction == "" || digitsAt(fraction) != len(fraction))):
		return "", fmt.Errorf("%q is not an amount as plain digits; write it like %q, without sign, space, separator or exponent", amount, example(digits))
	case len(whole) > 1 && whole[0] == '0':
		return "", fmt.Errorf("%q starts with a zero; write it like %q", amount, example(digits))
	case len(fraction) > digits:
		return "", fmt.Errorf("%q has %d decimals, %s has %d; write it like %q", amount, len(fraction), code, digits, example(digits))
	}
	text := strings.TrimLeft(whole+fraction+strings.Repeat("0", digits-len(fraction)), "0")
	if text == "" {
		text = "0"
	}
	return Number(text), nil
}

func example(digits int) string {
	if digits == 0 {
		return "4900"
	}
	return "4900." + strings.Repeat("0", digits)
}

// Major is the reverse of Minor: 490000 RUB is "4900.00", 10000 JPY is "10000".
func Major(minor Number, code string) (string, error) {
	digits, err := Exponent(code)
	if err != nil {
		return "", err
	}
	text := string(minor)
	if !minor.IsInteger() || strings.HasPrefix(text, "-") {
		return "", fmt.Errorf("%q is not a whole number of minor units", text)
	}
	if digits == 0 {
		return text, nil
	}
	if len(text) <= digits {
		text = strings.Repeat("0", digits+1-len(text)) + text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:], nil
}

// CompareDecimal compares two plain decimal texts, such as amounts of one currency: -1, 0 or 1. What is no number counts
// as larger than every number, so that a doubt never passes for "not more".
func CompareDecimal(a, b string) int {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	switch {
	case !okX:
		return 1
	case !okY:
		return -1
	}
	return x.Cmp(y)
}

// Sum adds two whole numbers exactly; an empty one counts as 0. What is no whole number counts as 0 too: callers pass what
// Minor or a record gave them.
func Sum(a, b Number) Number {
	x, y := whole(a), whole(b)
	return Number(x.Add(x, y).String())
}

// Negated is the whole number with the other sign.
func Negated(a Number) Number {
	x := whole(a)
	return Number(x.Neg(x).String())
}

func whole(n Number) *big.Int {
	if x, ok := new(big.Int).SetString(string(n), 10); ok {
		return x
	}
	return new(big.Int)
}
