package command

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/user"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"notwice/journal"
	"notwice/toolbox"
)

// person is who decides: somebody at the controlling terminal, or the holder of an operator token. Standard input, flags and
// environment are not a person: a program could have written them.
type person struct {
	name     string
	terminal io.ReadWriteCloser // nil: an operator, who is not asked
	lines    *bufio.Reader
}

func operatorFlag() cli.Flag {
	return &cli.StringFlag{Name: "operator", Usage: "`FILE` with an operator token, readable by its owner only; without it the terminal is asked"}
}

// findPerson is the operator, where a token is given, else whoever sits at the controlling terminal.
func findPerson(c *cli.Context) (*person, error) {
	if file := c.String("operator"); file != "" {
		return operator(file)
	}
	terminal, err := openTerminal()
	if err != nil {
		return nil, &failure{code: "no_person", exit: exitUsage, message: "only a person at the controlling terminal can decide this, and there is none",
			meaning: "Nothing was decided and nothing was sent.", next: "Run it at a terminal, or give --operator FILE, a token that only its owner can read."}
	}
	return &person{name: userName(), terminal: terminal, lines: bufio.NewReader(terminal)}, nil
}

func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "a person"
}

// minToken is how long a token must be: it stands for a person.
const minToken = 16

// operator reads a token. A file that others can read, or that is hardly a secret, is refused.
func operator(file string) (*person, error) {
	refuse := func(format string, args ...any) error {
		return &failure{code: "operator", exit: exitUsage, message: "operator token " + file + ": " + fmt.Sprintf(format, args...), meaning: "Nothing was decided and nothing was sent."}
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, refuse("%v", err)
	case !info.Mode().IsRegular():
		return nil, refuse("it is not a file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, refuse("others can read it (mode %o); chmod 600 it", info.Mode().Perm())
	case info.Size() > 4096:
		return nil, refuse("it is too long for a token")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, refuse("%v", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken {
		return nil, refuse("a token has %d characters or more", minToken)
	}
	sum := sha256.Sum256([]byte(token))
	return &person{name: userName() + " (operator " + hex.EncodeToString(sum[:4]) + ")"}, nil
}

func (p *person) close() {
	if p.terminal != nil {
		p.terminal.Close()
	}
}

func (p *person) say(format string, args ...any) {
	if p.terminal != nil {
		fmt.Fprintf(p.terminal, format, args...)
	}
}

// answer reads one line. The end of the terminal's input is an empty answer.
func (p *person) answer(prompt string) string {
	p.say("%s", prompt)
	line, err := p.lines.ReadString('\n')
	if err != nil && line == "" {
		p.say("\n")
	}
	return strings.TrimSpace(line)
}

// reference is what a person types to show that they mean this operation: what names the business thing, or the number.
func reference(op journal.Operation) (name, value string) {
	for _, f := range op.Fields {
		if f.Role == "identity" && strings.TrimSpace(f.Value) != "" && toolbox.Visible(f.Value) == f.Value {
			return f.Name, strings.TrimSpace(f.Value)
		}
	}
	return "operation number", op.Number
}

// confirms asks for the business reference. An operator has confirmed by holding the token.
func (p *person) confirms(op journal.Operation, what string) bool {
	if p.terminal == nil {
		return true
	}
	name, want := reference(op)
	got := p.answer(fmt.Sprintf("%s: type the %s (%s) to confirm, anything else to leave it as it is: ", what, name, toolbox.Visible(want)))
	return got == want
}
