package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"notwice/docs"
)

// helpCommand prints the help of the whole, of a command, or a page.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "show help for all, for one command, or the page `unknown`: what unknown means and how to decide", ArgsUsage: "[COMMAND …] | unknown",
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			switch {
			case len(words) == 0:
				return cli.ShowAppHelp(c)
			case len(words) == 1 && words[0] == "unknown":
				fmt.Fprint(c.App.Writer, docs.Unknown)
				return nil
			}
			return c.App.RunContext(c.Context, append(append([]string{c.App.Name}, words...), "--help"))
		},
	}
}
