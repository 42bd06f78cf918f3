package command

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"notwice/scenarios"
)

func simCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:  "sim",
		Usage: "simulate whole histories from a seed: processes, crashes, clocks, a provider that misbehaves, a person",
		Description: "Several processes share one journal and a provider; for a while everything may go wrong, then faults stop and everything must\n" +
			"come to rest. Effects are counted at the provider. Equal seeds play equal histories, on any machine.\n" +
			"  notwice sim\n  notwice sim --seed 7 --histories 1000000\n  notwice sim --minutes 30\n" +
			"  notwice sim --seed 7 --at 4618                 # tell one history\n  notwice sim --seed 7 --at 4618 --timeline history.html",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "the `NUMBER` that chooses everything"},
			&cli.IntFlag{Name: "histories", Usage: "how many `N` (default 10,000, or as many as fit into --minutes)"},
			&cli.Float64Flag{Name: "minutes", Usage: "stop after `N` minutes"},
			&cli.Int64Flag{Name: "at", Value: -1, Usage: "play only history `N`, and tell what happens in it"},
			&cli.IntFlag{Name: "limits", Value: 300, Usage: "histories for each limit of what can be promised, run apart and counted; 0: none"},
			&cli.StringFlag{Name: "timeline", Usage: "write the history of --at, or the first broken one, to `FILE` as an HTML page that needs no network"},
			junitFlag(),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().Present():
				return usagef("sim takes no arguments")
			case c.Int("histories") < 0 || c.Float64("minutes") < 0 || c.Int("limits") < 0:
				return usagef("--histories, --minutes and --limits are not negative")
			case c.Int64("at") >= 0:
				return tellHistory(c, code)
			}
			return simulate(c, code)
		},
	}
}

func simulate(c *cli.Context, code *int) error {
	said := time.Now()
	r, err := scenarios.Simulate(c.Context, scenarios.SimOptions{
		Seed: c.Uint64("seed"), Histories: c.Int("histories"), Length: time.Duration(c.Float64("minutes") * float64(time.Minute)),
		Told: func(done, all int) {
			if time.Since(said) < time.Second {
				return
			}
			said = time.Now()
			if all == 0 {
				progress("notwice: %d histories", done)
			} else {
				progress("notwice: %d of %d histories", done, all)
			}
		},
	})
	if err != nil {
		return err
	}
	if err := shrink(c, &r); err != nil {
		return err
	}
	if n := c.Int("limits"); n > 0 {
		progress("notwice: the limits, %d histories each", n)
		if r.Limits, err = scenarios.SimulateLimits(r.Seed, n); err != nil {
			return err
		}
	}
	if !r.OK() {
		*code = exitFailed
	}
	if err := junitOfSimulation(r).write(c); err != nil {
		return err
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, r)
		return nil
	}
	printSimulation(c, r)
	return nil
}

// shrink tells each broken history by what it needs, the first one also as a page where one is wanted.
func shrink(c *cli.Context, r *scenarios.SimReport) error {
	for i, v := range r.Violations {
		telling, err := scenarios.Shrink(r.Seed, v.History)
		if err != nil {
			return err
		}
		r.Violations[i].Shrunk = telling.String() + strings.Join(telling.Broken, "\n") + "\n"
		if name := c.String("timeline"); name != "" && i == 0 {
			if err := writeTimeline(name, historyTitle(r.Seed, v.History)+", shrunk to what it needs", replayHistory(r.Seed, v.History), telling); err != nil {
				return err
			}
		}
	}
	return nil
}

func historyTitle(seed, n uint64) string { return fmt.Sprintf("Seed %d, history %d", seed, n) }

func replayHistory(seed, n uint64) string {
	return fmt.Sprintf("notwice sim --seed %d --at %d", seed, n)
}

func printSimulation(c *cli.Context, r scenarios.SimReport) {
	out := c.App.Writer
	table(out, [][]string{
		{"SEED", "HISTORIES", "OPERATIONS", "EFFECTS", "DUPLICATES", "WAITING", "BROKEN", "PER CPU-HOUR", "TRACE"},
		{fmt.Sprint(r.Seed), fmt.Sprint(r.Histories), fmt.Sprint(r.Operations), fmt.Sprint(r.Effects), fmt.Sprint(r.Duplicates), fmt.Sprint(r.Waiting), fmt.Sprint(r.Broken), fmt.Sprint(r.PerHour), r.Trace},
	})
	fmt.Fprintf(out, "%.1f s on %d processors\n", r.Seconds, runtime.GOMAXPROCS(0))
	for _, v := range r.Violations {
		fmt.Fprintf(out, "\nFAIL  history %d: %s\nreplay: %s\nshrunk to what it needs:\n%s", v.History, strings.Join(v.Broken, "\n      "), replayHistory(r.Seed, v.History), v.Shrunk)
	}
	if len(r.Never) > 0 {
		fmt.Fprintf(out, "\nnever happened in %d histories: %s\n", r.Histories, strings.Join(r.Never, ", "))
	}
	if len(r.Limits) == 0 {
		return
	}
	fmt.Fprintf(out, "\nBeyond what can be promised, %d histories each:\n", r.Limits[0].Histories)
	rows := [][]string{{"WHAT HAPPENS", "EFFECTS", "DUPLICATES", "UNKNOWN TO THE JOURNAL", "SOMETHING BROKE IN"}}
	for _, l := range r.Limits {
		rows = append(rows, []string{l.Name, fmt.Sprint(l.Effects), fmt.Sprint(l.Duplicates), fmt.Sprint(l.Unknown), fmt.Sprint(l.Broken)})
	}
	table(out, rows)
}

// tellHistory plays one history and tells it.
func tellHistory(c *cli.Context, code *int) error {
	seed, n := c.Uint64("seed"), uint64(c.Int64("at"))
	told, err := scenarios.Tell(seed, n, "")
	if err != nil {
		return err
	}
	if name := c.String("timeline"); name != "" {
		if err := writeTimeline(name, historyTitle(seed, n), replayHistory(seed, n), told); err != nil {
			return err
		}
	}
	story, broken := told.String(), told.Broken
	if len(broken) > 0 {
		*code = exitFailed
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, map[string]any{"v": 1, "seed": seed, "history": n, "story": strings.Split(strings.TrimSpace(story), "\n"), "violations": broken})
		return nil
	}
	fmt.Fprint(c.App.Writer, story)
	for _, b := range broken {
		fmt.Fprintln(c.App.Writer, "FAIL ", b)
	}
	return nil
}
