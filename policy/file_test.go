package policy

import (
	"strings"
	"testing"
)

const lawful = `tool_policy:
  create_payment:
    operation_key: required
    retry:
      reuse_operation_key: true
      on_timeout: reconcile_before_retry
    terminal_states:
      - succeeded
      - failed_final
    unknown_after_seconds: 900
    on_unresolved: require_human_review
  send_email:
    operation_key: required
    retry:
      reuse_operation_key: true
      on_timeout: reconcile_before_retry
`

func TestLawLoadsAsItStands(t *testing.T) {
	got, err := Parse("policy.yaml", []byte(lawful))
	if err != nil {
		t.Fatal(err)
	}
	if p := got["create_payment"]; *p.UnknownAfterSeconds != 900 || p.OnUnresolved != "require_human_review" || p.Retry.OnTimeout != "reconcile_before_retry" {
		t.Errorf("read: %+v", p)
	}
	if _, ok := got["send_email"]; !ok || len(got) != 2 {
		t.Errorf("tools: %v", got)
	}
}

func TestPolicyFileRefused(t *testing.T) {
	for text, want := range map[string]string{
		"tool_policy: {a: {retry: {reuse_operation_key: false}}}": "policy.yaml:1:48: false is refused",
		"tool_policy: {a: {retries: 3}}":                          `policy.yaml:1:19: unknown key "retries"`,
		"tool_policy: {a: {operation_key: optional}}":             "the only value is required",
		"tool_policy: {a: {retry: {on_timeout: retry}}}":          "known: reconcile_before_retry, ask_person",
		"tool_policy: {a: {on_unresolved: retry}}":                "require_human_review",
		"tool_policy: {a: {unknown_after_seconds: 0}}":            "from 1",
		"tool_policy: {a: {unknown_after_seconds: 1.5}}":          "whole number",
		"tool_policy: {a: {terminal_states: [succeeded]}}":        "no fewer",
		"tool_policy: {a: {}, a: {}}":                             "already defined",
		"version: 2\ntool_policy: {}":                             "policy.yaml:1:10: version 2",
		"version: 1":                                              "no tool_policy",
	} {
		if _, err := Parse("policy.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  got  %v\n  want %s", text, err, want)
		}
	}
}
