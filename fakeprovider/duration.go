package fakeprovider

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads the durations of scenario files: those of Go plus whole days in front ("7d", "1d12h"). Negative ones are refused.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "", text
	}
	var sum time.Duration
	if found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("duration %q: want a text such as 10s, 1m30s or 7d", text)
		}
		sum = time.Duration(n) * 24 * time.Hour
	}
	if rest == "" && found {
		return sum, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("duration %q: want a text such as 10s, 1m30s or 7d", text)
	}
	return sum + d, nil
}

// durationOf reads a duration from JSON text. Where seconds is true, a number of seconds will do as well.
func durationOf(raw json.RawMessage, seconds bool) (time.Duration, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return ParseDuration(text)
	}
	var n float64
	if seconds && raw[0] != 'n' && json.Unmarshal(raw, &n) == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	if seconds {
		return 0, fmt.Errorf("%s: want a duration text or a number of seconds", raw)
	}
	return 0, fmt.Errorf("%s: want a duration text such as \"10s\"", raw)
}

// retryAfter is the header's form: whole seconds, never less than asked for.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
