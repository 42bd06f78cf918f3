package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"notwice": func() { os.Exit(Main(os.Args[1:])) },
		"number":  firstNumber,
	})
}

// The scripts run the real main in processes of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			for _, name := range []string{"NOTWICE_JOURNAL", "NOTWICE_PROVIDER", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"} {
				e.Setenv(name, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "codeof": codeOf, "rot": rot},
		Condition: func(name string) (bool, error) {
			return name == "unix" && runtime.GOOS != "windows", nil
		},
	})
}

// codeOf is code, with the content of the file named `number` in the place of the word number.
func codeOf(ts *testscript.TestScript, neg bool, args []string) {
	args = slices.Clone(args)
	for i := range args {
		if args[i] == "number" {
			args[i] = strings.TrimSpace(ts.ReadFile("number"))
		}
	}
	code(ts, neg, args)
}

// code runs notwice and checks its exit code: code 3 call create_payment …
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N ARGS…")
	}
	err := ts.Exec("notwice", args[1:]...)
	got := "0"
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// rot damages a file as a bad disk does, wherever it holds a text: rot byte FILE TEXT flips a bit of it, rot page FILE TEXT empties
// the pages of 4 KiB that it stands in.
func rot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: rot byte|page FILE TEXT")
	}
	const page = 4096
	data, text, found := []byte(ts.ReadFile(args[1])), []byte(args[2]), 0
	for at := bytes.Index(data, text); at >= 0; at = bytes.Index(data, text) {
		if found++; args[0] == "page" {
			clear(data[at/page*page : min(at/page*page+page, len(data))])
		} else {
			data[at] ^= 1
		}
	}
	if found == 0 {
		ts.Fatalf("%s does not hold %q", args[1], text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// firstNumber prints the operation number of the first entry in a review list as JSON.
func firstNumber() {
	var list struct{ Review []struct{ Number string } }
	data, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil || len(list.Review) == 0 {
		fmt.Fprintln(os.Stderr, err, string(data))
		os.Exit(1)
	}
	fmt.Println(list.Review[0].Number)
}
