package boltjournal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"notwice/journal"
)

// moves is that child.
func moves(path string) int {
	s, err := Open(path, Options{})
	if err != nil {
		fmt.Println("error open:", err)
		return 0
	}
	for n := range 3 {
		op := opOf("moves", n)
		op.Request = fmt.Appendf(nil, `{"text":"%0*d"}`, 9000*n+1, 7) // the file grows
		say("registered", op.Key, registerIn(s, op))
		say("settled", op.Key, settleIn(s, op.Key))
	}
	if err := s.Close(); err != nil {
		fmt.Println("error close:", err)
	}
	return 0
}

func say(word string, key journal.Key, err error) {
	if err != nil {
		word, key = "error "+word, key+" "+journal.Key(err.Error())
	}
	fmt.Println(word, key)
}

// traced runs that child under strace. It returns what the child said and what the system was asked.
func traced(t *testing.T, path string, args ...string) (said []string, trace string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	args = append([]string{"-f", "-y", "-qq", "-e", "trace=pwrite64,fdatasync,fsync,ftruncate,write", "-o", log}, args...)
	c := exec.Command("strace", append(args, os.Args[0])...)
	c.Env = append(os.Environ(), childEnv+"="+path, movesEnv+"=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("S16: the process ended: %v\n%s%s", err, out, stderr.String())
	}
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), string(lines)
}

// needStrace skips where it is missing or may not trace; in CI that is an error.
func needStrace(t *testing.T) {
	if err := exec.Command("strace", "-o", os.DevNull, "true").Run(); err != nil {
		if os.Getenv("NOTWICE_PEERS") == "required" {
			t.Fatalf("strace is needed here: %v", err)
		}
		t.Skipf("strace is not here, so no system call is made to fail: %v", err)
	}
}

// What is acknowledged was synced before, and a head is written only after all that it leads to was (S15).
func TestSyncedBeforeAcknowledged(t *testing.T) {
	needStrace(t)
	path, _ := made(t, 3)
	said, trace := traced(t, path)
	acks, unsynced, heads := 0, 0, 0
	for _, line := range strings.Split(trace, "\n") {
		file := strings.Contains(line, path+">")
		switch {
		case strings.Contains(line, "pwrite64(") && file:
			if strings.Contains(line, `"..., 4096, 0)`) || strings.Contains(line, `"..., 4096, 4096)`) {
				if heads++; unsynced > 0 {
					t.Errorf("S15: a head is written before what it leads to is synced")
				}
			}
			unsynced++
		case strings.Contains(line, "sync(") && file && strings.HasSuffix(line, "= 0"), strings.Contains(line, "sync resumed>") && strings.HasSuffix(line, "= 0"):
			unsynced = 0
		case strings.Contains(line, "write(1<") && (strings.Contains(line, `"registered `) || strings.Contains(line, `"settled `)):
			if acks++; unsynced > 0 {
				t.Errorf("S15: acknowledged before it was synced: %s", line)
			}
		}
	}
	if acks != 6 || heads < 6 {
		t.Errorf("%d acknowledged, %d heads; the child said %q", acks, heads, said)
	}
}

// Every system call of a commit fails in its turn: what was acknowledged is there, what was not is an error, and the file stays one.
func TestFailingSystemCalls(t *testing.T) {
	needStrace(t)
	points, failed := 0, 0
	for _, call := range []string{"pwrite64", "fdatasync", "fsync", "ftruncate"} {
		for _, errno := range []string{"EIO", "ENOSPC"} {
			for n := 1; ; n++ {
				path, _ := made(t, 3)
				said, trace := traced(t, path, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d", call, errno, n))
				if !strings.Contains(trace, "(INJECTED)") {
					break
				}
				points++
				if holds(t, fmt.Sprint(call, " ", n, " ", errno), path, said) {
					failed++
				}
			}
		}
	}
	t.Logf("%d calls failed in their turn; in %d of these runs the caller heard of it", points, failed)
	if failed == 0 {
		t.Error("no failure was ever heard of")
	}
}

// holds compares a journal with what a child said. It reports whether the child had an error.
func holds(t *testing.T, what, path string, said []string) (failed bool) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Errorf("%s: S15: open: %v", what, err)
		return false
	}
	defer s.Close()
	for _, line := range said {
		word, rest, _ := strings.Cut(line, " ")
		if word == "error" {
			failed = true
			continue
		}
		op, err := s.Get(background, journal.Key(rest))
		if err != nil || word == "settled" && op.Status != journal.Succeeded {
			t.Errorf("%s: S15: %s was acknowledged: %s, %v", what, line, op.Status, err)
		}
	}
	if err := registerIn(s, opOf("after", 1)); err != nil {
		t.Errorf("%s: S16: the journal does not go on: %v", what, err)
	}
	if _, err := s.Get(background, opOf("made", 0).Key); errors.Is(err, journal.ErrNotFound) {
		t.Errorf("%s: S16: absent: %v", what, err)
	}
	return failed
}
