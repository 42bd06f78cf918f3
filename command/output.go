package command

import (
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// output is standard output, and whether all of it arrived: an answer that nobody could read was not delivered.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// arrived reports whether everything printed so far was written.
func arrived(c *cli.Context) bool {
	o, ok := c.App.Writer.(*output)
	return !ok || o.err == nil
}

// lost is the error for an answer that could not be written.
func (o *output) lost() error {
	if o.err == nil {
		return nil
	}
	return &failure{code: "output", exit: exitUnknown, message: "standard output cannot be written: " + o.err.Error(),
		meaning: "What was done stands in the journal; nobody was told.", next: "notwice ops list shows it."}
}

// wantsJSON reports whether the arguments ask for JSON, also where they are otherwise wrong. A value that happens to read --json
// belongs to its flag.
func wantsJSON(app *cli.App, args []string) bool {
	valued := map[string]bool{}
	note := func(flags []cli.Flag) {
		for _, f := range flags {
			if _, isBool := f.(*cli.BoolFlag); !isBool {
				for _, name := range f.Names() {
					valued[name] = true
				}
			}
		}
	}
	each(app.Commands, func(cmd *cli.Command) { note(cmd.Flags) })
	for i, arg := range args {
		if arg == "--" {
			return false
		}
		name, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || name != "json" || i > 0 && strings.HasPrefix(args[i-1], "-") && valued[strings.TrimLeft(args[i-1], "-")] {
			continue
		}
		return !inline || slices.Contains([]string{"true", "1", "t", "T", "TRUE", "True"}, value)
	}
	return false
}
