package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"notwice/scenarios"
)

func testCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "run scenario files; effects are counted at the provider",
		ArgsUsage: "[FILE …]",
		Description: "Without a FILE the shipped stories run. Time is virtual, the provider is a fake one on loopback.\n" +
			"  notwice test my-story.yaml\n  notwice test --list\n  notwice test --print 00-seven-steps > my-story.yaml\n" +
			"  notwice test my-story.yaml --junit report.xml\n  notwice test my-story.yaml --explore            # one table: points, histories, effects, duplicates, lost, waiting\n" +
			"  notwice test my-story.yaml --explore --processes # the same, and every crash really kills a process\n" +
			"  notwice test my-story.yaml --timeline out.html   # what happened, on one page\n  notwice test my-story.yaml --explore --at crash:17 --timeline out.html",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "list", Usage: "list the shipped stories"},
			&cli.BoolFlag{Name: "explore", Usage: "play each story again with a crash before and after every call of journal, wire, clock and model, with every single fault on every request, and with a model that repeats itself"},
			&cli.BoolFlag{Name: "processes", Usage: "with --explore: the product is a process of its own, which kills itself at every point; slower, and nothing is made up"},
			&cli.BoolFlag{Name: "life", Hidden: true},
			&cli.StringFlag{Name: "at", Usage: "with --explore: only the `HISTORY` that a report names, such as crash:17"},
			&cli.StringFlag{Name: "print", Usage: "print the shipped story `NAME`, to start from"},
			&cli.StringFlag{Name: "timeline", Usage: "write what happened in the first failed story, or in the only one, to `FILE` as an HTML page that needs no network; with --explore in the first violation, or in the history of --at"},
			junitFlag(),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Bool("life") {
				return scenarios.Live(os.Stdin, c.App.Writer)
			}
			if name := c.String("print"); name != "" {
				text, err := scenarios.Source(name)
				if err != nil {
					return usagef("%v; see notwice test --list", err)
				}
				_, err = c.App.Writer.Write(text)
				return err
			}
			files, err := stories(c.Args().Slice())
			if err != nil {
				return err
			}
			if c.Bool("list") {
				for _, f := range files {
					fmt.Fprintf(c.App.Writer, "%s\n    %s\n", f.Name, f.Title())
				}
				return nil
			}
			if c.Bool("explore") || c.Bool("processes") || c.String("at") != "" {
				return explore(c, files, code)
			}
			reports, tellings, err := runAll(c.Context, files, c.String("timeline") != "")
			if err != nil {
				return err
			}
			if err := timelineOfStories(c, reports, tellings); err != nil {
				return err
			}
			if err := junitOfStories(reports).write(c); err != nil {
				return err
			}
			return printReports(c, reports, code)
		},
	}
}

// stories reads all files before one runs: a fault in the last one must not come after ten minutes.
func stories(names []string) ([]*scenarios.File, error) {
	if len(names) == 0 {
		return scenarios.Shipped()
	}
	var files []*scenarios.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) { // a shipped one, by its name
			if shipped, found := scenarios.Source(strings.TrimSuffix(name, ".yaml")); found == nil {
				data, err = shipped, nil
			}
		}
		if err != nil {
			return nil, usagef("%v", err)
		}
		f, err := scenarios.ParseFile(name, data)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// runAll plays the stories beside each other; each has its own journal, provider and time. With tell it tells what happened too.
func runAll(ctx context.Context, files []*scenarios.File, tell bool) ([]scenarios.Report, []scenarios.Telling, error) {
	reports, tellings, errs := make([]scenarios.Report, len(files)), make([]scenarios.Telling, len(files)), make([]error, len(files))
	var wg sync.WaitGroup
	places := make(chan struct{}, 2*runtime.NumCPU())
	for i, f := range files {
		wg.Add(1)
		go func() {
			defer wg.Done()
			places <- struct{}{}
			if tell {
				reports[i], tellings[i], errs[i] = scenarios.RunTold(f)
			} else {
				reports[i], errs[i] = scenarios.Run(f)
			}
			<-places
			progress("notwice: %s", f.Name)
		}()
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done(): // the stories end with the process
		return nil, nil, ctx.Err()
	}
	for _, err := range errs {
		if err != nil {
			return nil, nil, err
		}
	}
	return reports, tellings, nil
}

func printReports(c *cli.Context, reports []scenarios.Report, code *int) error {
	passed := 0
	for _, r := range reports {
		if r.Passed {
			passed++
		}
		if !c.Bool("json") {
			fmt.Fprintf(c.App.Writer, "%s\n", r)
		}
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "passed": passed, "failed": len(reports) - passed, "scenarios": reports})
	} else {
		fmt.Fprintf(c.App.Writer, "%d passed, %d failed\n", passed, len(reports)-passed)
	}
	if passed < len(reports) {
		*code = exitFailed
	}
	return nil
}
