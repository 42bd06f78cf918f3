package command

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"regexp"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"notwice/journal"
	"notwice/toolbox"
)

// person is who decides: somebody at the controlling terminal, or the holder of an operator token. Standard input, flags and
// environment are not a person: a program could have written them.
type person struct {
	ctx      context.Context // ends the waiting for an answer
	name     string
	terminal io.ReadWriteCloser // nil: an operator, who is not asked
	lines    *bufio.Reader
}

func operatorFlag() cli.Flag {
	return &cli.StringFlag{Name: "operator", Usage: "`FILE` with an operator token, made by notwice review token, readable by its owner only; without it the terminal is asked"}
}

// findPerson is the operator, where a token is given, else whoever sits at the controlling terminal.
func findPerson(c *cli.Context) (*person, error) {
	if file := c.String("operator"); file != "" {
		return operator(file)
	}
	terminal, err := openTerminal()
	if err != nil {
		return nil, noPerson()
	}
	return &person{ctx: c.Context, name: userName(), terminal: terminal, lines: bufio.NewReader(terminal)}, nil
}

func noPerson() error {
	return &failure{code: "no_person", exit: exitUsage, message: "only a person at the controlling terminal can decide this, and there is none",
		meaning: "Nothing was decided and nothing was sent.", next: "Run it at a terminal, or give --operator FILE, a token that only its owner can read."}
}

func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "a person"
}

// tokenMark begins a token, so that no other file of the user passes for one.
const tokenMark = "notwice-operator-"

var tokenForm = regexp.MustCompile(`^notwice-operator-[A-Z2-7]{26}$`)

// operator reads a token: a file of its owner, who is this user, that nobody else can read.
func operator(file string) (*person, error) {
	refuse := func(format string, args ...any) error {
		return &failure{code: "operator", exit: exitUsage, message: "operator token " + file + ": " + fmt.Sprintf(format, args...),
			meaning: "Nothing was decided and nothing was sent.", next: "notwice review token FILE makes one, at a terminal."}
	}
	before, err := os.Lstat(file)
	if err != nil {
		return nil, refuse("%v", err)
	}
	if !before.Mode().IsRegular() { // nor a link: it is opened only if it is a plain file
		return nil, refuse("it is not a plain file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, refuse("%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !os.SameFile(before, info):
		return nil, refuse("it was changed while it was read")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, refuse("others can read it (mode %o); chmod 600 it", info.Mode().Perm())
	case !mine(info):
		return nil, refuse("it belongs to another user")
	}
	data, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return nil, refuse("%v", err)
	}
	token := strings.TrimSpace(string(data))
	if !tokenForm.MatchString(token) {
		return nil, refuse("it holds no operator token")
	}
	sum := sha256.Sum256([]byte(token))
	return &person{name: userName() + " (operator " + hex.EncodeToString(sum[:4]) + ")"}, nil
}

// newToken makes a token file. Only somebody at the terminal does: what holds it decides like a person.
func newToken(ctx context.Context, file string) error {
	terminal, err := openTerminal()
	if err != nil {
		return noPerson()
	}
	p := &person{ctx: ctx, name: userName(), terminal: terminal, lines: bufio.NewReader(terminal)}
	defer p.close()
	p.say("Whoever can read %s decides like a person: approves, repeats, closes. Keep it from models and their tools.\n", toolbox.Visible(file))
	if p.answer("Type operator to make it: ") != "operator" {
		return &failure{code: "not_confirmed", exit: exitUsage, message: "no token was made"}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usagef("%v", err)
	}
	_, err = fmt.Fprintln(f, tokenMark+rand.Text())
	return errors.Join(err, f.Close())
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

// answer reads one line. The end of the terminal's input, and an interrupt, are an empty answer.
func (p *person) answer(prompt string) string {
	p.say("%s", prompt)
	said := make(chan string, 1)
	go func() {
		line, err := p.lines.ReadString('\n')
		if err != nil && line == "" {
			p.say("\n")
		}
		said <- strings.TrimSpace(line)
	}()
	select {
	case line := <-said:
		return line
	case <-p.ctx.Done():
		p.say("\n")
		return ""
	}
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
