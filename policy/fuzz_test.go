package policy

import "testing"

// A policy is read or refused; what was read names its tools and waits for a time that is positive.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte(lawful))
	f.Add([]byte("version: 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		overrides, err := Parse("policy.yaml", text)
		for tool, o := range overrides {
			if err == nil && (tool == "" || o.UnknownAfterSeconds != nil && *o.UnknownAfterSeconds <= 0) {
				t.Fatalf("tool %q was read with %+v", tool, o)
			}
		}
	})
}
