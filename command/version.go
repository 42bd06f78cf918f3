package command

import (
	"fmt"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// Version is set by release builds.
var Version = "0.1.0-dev"

func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Usage: "print the version", Flags: []cli.Flag{jsonFlag()}, Action: func(c *cli.Context) error {
		info := struct {
			V       int    `json:"v"`
			Version string `json:"version"`
			Go      string `json:"go"`
		}{V: 1, Version: Version}
		if c.Args().Present() {
			return usagef("version takes no arguments")
		}
		if b, ok := debug.ReadBuildInfo(); ok {
			info.Go = b.GoVersion
		}
		if c.Bool("json") {
			printJSON(c.App.Writer, info)
		} else {
			fmt.Fprintf(c.App.Writer, "notwice %s (%s)\n", info.Version, info.Go)
		}
		return nil
	}}
}
