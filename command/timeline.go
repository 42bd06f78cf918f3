package command

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"notwice/scenarios"
)

// lanes are the columns of a timeline; what concerns everybody stands across them.
var lanes = []string{"caller", "journal", "wire", "provider", "person"}

// The page needs nothing from outside: no script, no font, no picture.
var timelinePage = template.Must(template.New("timeline").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;margin:2em;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%;table-layout:fixed}
th,td{border:1px solid #d5dae0;padding:.3em .5em;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{background:#f0f2f5;position:sticky;top:0}
th:first-child,td:first-child{width:7em;font-variant-numeric:tabular-nums;color:#57606a}
.broken{color:#a40e26;font-weight:600}.all{background:#fff4d6}
pre{background:#f6f8fa;padding:.8em;overflow:auto}
@media(prefers-color-scheme:dark){body{background:#14171b;color:#d8dee6}th{background:#222830}pre{background:#1c2128}.all{background:#3a3116}th,td{border-color:#353c45}.broken{color:#ff7b80}}
</style></head><body>
<h1>{{.Title}}</h1>
{{range .Broken}}<p class="broken">{{.}}</p>{{else}}<p>No rule is broken.</p>{{end}}
<p>Replay: <code>{{.Replay}}</code></p>
<table><thead><tr><th>time</th>{{range .Lanes}}<th>{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr><td>{{.At}}</td>{{if .All}}<td class="all" colspan="{{.Span}}">{{.All}}</td>{{else}}{{range .Cells}}<td>{{.}}</td>{{end}}{{end}}</tr>
{{end}}</tbody></table>
<h2>What was to happen</h2><pre>{{.Plan}}</pre>
</body></html>
`))

type timelineRow struct {
	At    string
	Cells []string
	All   string // stands across all lanes
	Span  int
}

// writeTimeline writes a history as a page with a lane for everybody who takes part.
func writeTimeline(name, title, replay string, t scenarios.Telling) error {
	var rows []timelineRow
	for _, x := range t.Told {
		row := timelineRow{At: x.At.String(), Cells: make([]string, len(lanes)), Span: len(lanes)}
		if i := slices.Index(lanes, x.Lane); i >= 0 {
			row.Cells[i] = x.What
		} else {
			row.All = x.What
		}
		rows = append(rows, row)
	}
	var page bytes.Buffer
	err := timelinePage.Execute(&page, map[string]any{"Title": title, "Replay": replay, "Broken": t.Broken, "Plan": t.Plan, "Lanes": lanes, "Rows": rows})
	if err == nil {
		err = os.WriteFile(name, page.Bytes(), 0o666)
	}
	if err != nil {
		return usagef("--timeline: %v", err)
	}
	return nil
}

// timelineOfStories writes the page that was asked for, if one was: of the first story that failed, or of the only one.
func timelineOfStories(c *cli.Context, reports []scenarios.Report, tellings []scenarios.Telling) error {
	name := c.String("timeline")
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(reports, func(r scenarios.Report) bool { return !r.Passed })
	if len(reports) == 1 {
		i = 0
	}
	if i < 0 {
		noTimeline(name, "no story failed")
		return nil
	}
	r := reports[i]
	return writeTimeline(name, r.File+": "+r.Title, "notwice test "+r.File, tellings[i])
}

// timelineOfExplorations writes the page that was asked for, if one was: of the history of --at, or of the first violation. It plays
// that history once more.
func timelineOfExplorations(c *cli.Context, files []*scenarios.File, all []scenarios.Exploration, product []string) error {
	name, at, i := c.String("timeline"), c.String("at"), 0
	if name == "" {
		return nil
	}
	if at == "" {
		i = slices.IndexFunc(all, func(x scenarios.Exploration) bool { return len(x.Violations) > 0 })
		if i < 0 {
			noTimeline(name, "no history broke a rule")
			return nil
		}
		at = all[i].Violations[0].At
	}
	told, err := scenarios.TellHistory(files[i], scenarios.ExploreOptions{At: at, Product: product})
	if err != nil {
		return usagef("%v", err)
	}
	for _, h := range slices.Concat(all[i].Violations, all[i].Limits) {
		if h.At == at && len(told.Broken) == 0 { // where workers run at once, their order differs from run to run
			told.Broken = append(slices.Clone(h.Broken), "The rules above were broken when the history was first played, not in this replay of it.")
		}
	}
	return writeTimeline(name, all[i].File+", history "+at, replayOf(all[i], at), told)
}

func noTimeline(name, why string) {
	fmt.Fprintf(os.Stderr, "notwice: %s, so there is nothing to tell: %s was not written\n", why, name)
}
