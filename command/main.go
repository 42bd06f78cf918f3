package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnknown     = 3
	exitConflict    = 5
	exitJournal     = 6
	exitNotSent     = 7
	exitInvariant   = 70
	exitInterrupted = 130
)

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	quiet := context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C ends the process at once; what is under way then counts as unknown
		fmt.Fprintln(os.Stderr, "notwice: ending; an attempt that is under way is still recorded (Ctrl-C again ends at once)")
	})
	defer quiet()
	code := exitOK
	app := newApp(&code)
	out := &output{w: os.Stdout}
	app.Writer = out
	ordered, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"notwice"}, ordered...))
	}
	if err == nil {
		err = out.lost()
	}
	if err == nil {
		return code
	}
	return report(err, wantsJSON(app, args), out, os.Stderr)
}

func newApp(code *int) *cli.App {
	app := &cli.App{
		Name:  "notwice",
		Usage: "run tools for language models so that nothing takes effect twice",
		Description: "Try it:           notwice demo\n" +
			"One call:         notwice call create_payment order_id=817 amount_minor=490000 currency=RUB\n" +
			"Lose an answer:   notwice call create_payment order_id=818 amount_minor=100 currency=EUR --fault commit_then_timeout --timeout 1s\n" +
			"A model:          notwice run \"pay order 817, 4900 RUB\" --base-url http://127.0.0.1:11434/v1 --model NAME\n" +
			"Exit codes:       0 confirmed · 1 confirmed failure · 2 usage · 3 not known yet · 5 conflict · 6 journal · 7 not sent · 70 broken invariant · 130 interrupted",
		HideVersion:     true,
		HideHelpCommand: true, // ours knows pages too
		ErrWriter:       os.Stderr,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    usageError,
		CommandNotFound: nil,
		Commands: []*cli.Command{
			demoCommand(code), runCommand(code), callCommand(code), testCommand(code), simCommand(code), opsCommand(), reconcileCommand(code),
			reviewCommand(code), againCommand(code), approveCommand(code), fakeCommand(), versionCommand(), helpCommand(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("there is no command %q; see notwice help", c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	each(app.Commands, func(cmd *cli.Command) {
		cmd.OnUsageError = usageError
		if cmd.Action == nil {
			cmd.Action = func(c *cli.Context) error {
				if c.Args().Present() {
					return usagef("%s has no command %q; see notwice %s --help", c.Command.Name, c.Args().First(), c.Command.Name)
				}
				return cli.ShowSubcommandHelp(c)
			}
		}
	})
	return app
}

func each(commands []*cli.Command, do func(*cli.Command)) {
	for _, cmd := range commands {
		do(cmd)
		each(cmd.Subcommands, do)
	}
}

func usageError(_ *cli.Context, err error, _ bool) error { return usagef("%v", err) }

// reorder moves flags before the arguments: the library would take a flag behind an argument for an argument.
func reorder(app *cli.App, args []string) ([]string, error) {
	var path, flags, rest []string
	commands, known := app.Commands, app.Flags
	names := func(f cli.Flag) []string { return f.Names() }
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			flags = append(flags, arg)
			at := slices.IndexFunc(known, func(f cli.Flag) bool { return slices.Contains(names(f), name) })
			if at < 0 {
				if name != "help" && name != "h" && name != "generate-bash-completion" {
					return nil, unknownFlag(arg, path, rest, commands)
				}
				continue
			}
			if _, isBool := known[at].(*cli.BoolFlag); !isBool && !inline {
				if i+1 == len(args) {
					return nil, usagef("the flag %s needs a value", arg)
				}
				i++
				flags = append(flags, args[i])
			}
		default:
			at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) })
			if len(rest) == 0 && at >= 0 {
				path, commands, known = append(path, arg), commands[at].Subcommands, append(slices.Clone(known), commands[at].Flags...)
				continue
			}
			rest = append(rest, arg)
		}
	}
	out := append(path, flags...)
	if len(rest) > 0 && slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(s, "-") }) {
		out = append(out, "--")
	}
	return append(out, rest...), nil
}

// unknownFlag blames the word that is wrong: a flag is unknown also because its command is.
func unknownFlag(flag string, path, rest []string, commands []*cli.Command) error {
	where := strings.Join(append([]string{"notwice"}, path...), " ")
	if len(rest) > 0 && len(commands) > 0 {
		return usagef("%s has no command %q; see %s --help", where, rest[0], where)
	}
	return usagef("there is no flag %s here; see %s --help", flag, where)
}

// failure is an error for a person: what happened, what it means for the outside world, what to do next.
type failure struct {
	code                   string
	exit                   int
	message, meaning, next string
	more                   map[string]any // further facts for programs
}

func (f *failure) Error() string { return f.message }

func usagef(format string, args ...any) error {
	return &failure{code: "usage", exit: exitUsage, message: fmt.Sprintf(format, args...), meaning: "Nothing was sent and nothing was recorded.", next: "notwice help shows what there is."}
}

// report prints an error and returns its exit code.
func report(err error, asJSON bool, stdout, stderr io.Writer) int {
	var f *failure
	if !errors.As(err, &f) {
		f = explain(err)
	}
	if asJSON {
		object := map[string]any{"v": 1, "error": map[string]any{
			"code": f.code, "message": f.message, "meaning": orNull(f.meaning), "next": orNull(f.next)}}
		maps.Copy(object, f.more)
		printJSON(stdout, object)
		return f.exit
	}
	fmt.Fprintf(stderr, "notwice: %s [%s]\n", visibleLines(f.message), f.code)
	for _, line := range []string{f.meaning, f.next} {
		if line != "" {
			fmt.Fprintf(stderr, "  %s\n", line)
		}
	}
	return f.exit
}
