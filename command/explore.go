package command

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"notwice/scenarios"
)

// explore plays stories in all the ways in which they can go wrong, and prints one table.
func explore(c *cli.Context, files []*scenarios.File, code *int) error {
	if c.String("at") != "" && len(files) != 1 {
		return usagef("--at names a history of one story: notwice test FILE --explore --at HISTORY")
	}
	product, err := productOf(c)
	if err != nil {
		return err
	}
	var all []scenarios.Exploration
	for _, f := range files {
		x, err := scenarios.Explore(c.Context, f, scenarios.ExploreOptions{At: c.String("at"), Product: product, Told: func(done, of int) {
			if done%100 == 0 || done == of {
				progress("notwice: %s: %d of %d histories", f.Name, done, of)
			}
		}})
		if c.Context.Err() != nil {
			return c.Context.Err()
		}
		if err != nil {
			return usagef("%v", err)
		}
		all = append(all, x)
	}
	if err := timelineOfExplorations(c, files, all, product); err != nil {
		return err
	}
	if failed := printExplorations(c, all); failed {
		*code = exitFailed
	}
	return junitOfExplorations(all).write(c)
}

// productOf is the command line by which this program lives the product's lives; nil: they are lived in this process.
func productOf(c *cli.Context) ([]string, error) {
	if !c.Bool("processes") {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program does not find itself: %w", err)
	}
	return []string{self, "test", "--life"}, nil
}

// replayOf is the command that plays one history again.
func replayOf(x scenarios.Exploration, at string) string {
	how := "--explore"
	if x.Processes {
		how += " --processes"
	}
	return fmt.Sprintf("notwice test %s %s --at %s", x.File, how, at)
}

func printExplorations(c *cli.Context, all []scenarios.Exploration) (failed bool) {
	sum := scenarios.Exploration{File: "all"}
	rows := [][]string{{"STORY", "POINTS", "HISTORIES", "EFFECTS", "DUPLICATES", "LOST", "WAITING", "BEYOND LIMITS"}}
	row := func(x scenarios.Exploration, limits int) []string {
		n := func(v int) string { return fmt.Sprint(v) }
		return []string{x.File, n(x.Points), n(x.Histories), n(x.Effects), n(x.Duplicates), n(x.Lost), n(x.Waiting), n(limits)}
	}
	limits := 0
	for _, x := range all {
		rows = append(rows, row(x, len(x.Limits)))
		sum.Points, sum.Histories, sum.Effects = sum.Points+x.Points, sum.Histories+x.Histories, sum.Effects+x.Effects
		sum.Duplicates, sum.Lost, sum.Waiting = sum.Duplicates+x.Duplicates, sum.Lost+x.Lost, sum.Waiting+x.Waiting
		limits += len(x.Limits)
		failed = failed || len(x.Violations) > 0
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "points": sum.Points, "histories": sum.Histories, "effects": sum.Effects,
			"duplicates": sum.Duplicates, "lost": sum.Lost, "waiting": sum.Waiting, "beyond_limits": limits, "scenarios": all})
		return failed
	}
	if len(all) > 1 {
		rows = append(rows, row(sum, limits))
	}
	table(c.App.Writer, rows)
	for _, x := range all {
		for _, v := range x.Violations {
			fmt.Fprintf(c.App.Writer, "FAIL  %s: %s\n      %s\n      replay: %s\n", x.File, v.Name, strings.Join(v.Broken, "\n      "), replayOf(x, v.At))
		}
		for _, v := range x.Limits {
			fmt.Fprintf(c.App.Writer, "limit %s: %s: %s\n", x.File, v.Name, strings.Join(v.Broken, "; "))
		}
	}
	return failed
}
