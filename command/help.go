package command

import (
	"fmt"
	"slices"

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
			for commands := c.App.Commands; len(words) > 0; words = words[1:] {
				at := slices.IndexFunc(commands, func(cmd *cli.Command) bool { return cmd.HasName(words[0]) })
				if at < 0 {
					return usagef("there is no help for %q; notwice help shows what there is", words[0])
				}
				commands = commands[at].Subcommands
			}
			words = c.Args().Slice()
			return c.App.RunContext(c.Context, append(append([]string{c.App.Name}, words...), "--help"))
		},
	}
}
