package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"notwice/canonical"
	"notwice/toolbox"
)

func callCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:      "call",
		Usage:     "call one tool",
		ArgsUsage: "TOOL [name=value …]",
		Description: "A value takes the type of its argument; --args and --args-file are exact.\n" +
			"  notwice call create_payment order_id=817 amount_minor=490000 currency=RUB\n" +
			"  notwice call send_email --args '{\"to\":\"ada@example.test\",\"subject\":\"Hi\",\"body\":\"Hello\"}' --json\n" +
			"  notwice call create_payment order_id=818 amount_minor=100 currency=EUR --fault commit_then_timeout --timeout 1s",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "args", Usage: "arguments as `JSON`"},
			&cli.StringFlag{Name: "args-file", Usage: "`FILE` that holds the arguments as JSON; - is standard input"},
			&cli.DurationFlag{Name: "timeout", Usage: "caps the attempt's deadline"},
			&cli.DurationFlag{Name: "wait", Value: 10 * time.Second, Usage: "how much longer than its own attempt the call looks, retries or joins"},
			&cli.StringFlag{Name: "task", Usage: "`NAME` of the task the call belongs to (default: default)"},
		}, providerFlags()...), journalFlag(), jsonFlag()),
		Action: func(c *cli.Context) error {
			name := c.Args().First()
			if name == "" {
				return usagef("which tool? notwice call TOOL name=value …")
			}
			if err := notNegative(c, "timeout", "wait"); err != nil {
				return err
			}
			s, err := openSession(c, name)
			if err != nil {
				return err
			}
			defer s.close()
			args, err := callArguments(c, s.tools, name)
			if err != nil {
				return err
			}
			s.due(c.Context)
			r, err := s.tools.Call(c.Context, toolbox.Call{
				Tool: name, Arguments: args, Task: c.String("task"), Wait: c.Duration("wait"), Timeout: c.Duration("timeout"),
			})
			if err != nil {
				return err
			}
			printAnswer(c.App.Writer, r, c.Bool("json"))
			if arrived(c) {
				r.Delivered()
			}
			if !c.Bool("json") {
				s.waiting(c.Context)
			}
			*code = r.Word.Exit()
			return nil
		},
	}
}

func printAnswer(w io.Writer, r toolbox.Result, asJSON bool) {
	if asJSON {
		printJSON(w, answerJSON(r))
		return
	}
	fmt.Fprintln(w, r.Message)
	if r.Key != "" {
		fmt.Fprintf(w, "  %s, %d attempts, operation %s, number %s\n", strings.Join(nonEmpty(r.Status, r.Evidence), " by "), r.Attempts, r.Key, r.Number)
	}
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// callArguments are the arguments as JSON text, from exactly one source.
func callArguments(c *cli.Context, tools *toolbox.Toolbox, name string) ([]byte, error) {
	pairs := c.Args().Tail()
	sources := 0
	for _, given := range []bool{len(pairs) > 0, c.IsSet("args"), c.IsSet("args-file")} {
		if given {
			sources++
		}
	}
	switch {
	case sources > 1:
		return nil, usagef("give the arguments once: as name=value, by --args or by --args-file")
	case c.IsSet("args"):
		return []byte(c.String("args")), nil
	case c.String("args-file") == "-":
		return io.ReadAll(io.LimitReader(os.Stdin, canonical.MaxSize+1))
	case c.IsSet("args-file"):
		return os.ReadFile(c.String("args-file"))
	}
	return pairArguments(tools, name, pairs)
}

// pairArguments gives each value the type that the tool declares.
func pairArguments(tools *toolbox.Toolbox, name string, pairs []string) ([]byte, error) {
	all := tools.Tools()
	at := slices.IndexFunc(all, func(d toolbox.Declaration) bool { return d.Name == name })
	if at < 0 {
		var names []string
		for _, d := range all {
			names = append(names, d.Name)
		}
		return nil, usagef("there is no tool %q; there are %s", name, strings.Join(names, ", "))
	}
	args := map[string]any{}
	for _, pair := range pairs {
		field, text, ok := strings.Cut(pair, "=")
		if !ok || field == "" {
			return nil, usagef("%q is not name=value", pair)
		}
		if _, twice := args[field]; twice {
			return nil, usagef("%s is given twice", field)
		}
		if !utf8.ValidString(pair) {
			return nil, usagef("%s: the value is not valid UTF-8", strings.ToValidUTF8(field, "?"))
		}
		value, err := typed(all[at].Shape.Field(field), text)
		if err != nil {
			return nil, usagef("%s: %v", field, err)
		}
		args[field] = value
	}
	return canonical.Plain(args)
}

func typed(f *canonical.Field, text string) (any, error) {
	if f == nil {
		return text, nil // refused by name later, with the names that are known
	}
	switch f.Type {
	case "integer", "number", "boolean", "array", "object":
		v, err := canonical.Parse([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%q is not a JSON %s", text, f.Type)
		}
		return v, nil
	}
	return text, nil
}
