package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"notwice/agent"
	"notwice/fakeprovider"
	"notwice/scenarios"
	"notwice/toolbox"
)

func runCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "let a model act on one message",
		ArgsUsage: "MESSAGE",
		Description: "The model is any OpenAI-compatible endpoint; flags win over OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL.\n" +
			"  notwice run \"pay order 817, 4900 RUB\" --base-url http://127.0.0.1:11434/v1 --model NAME\n" +
			"  notwice run \"pay order 817\" --model script:answers.yaml\n" +
			"  notwice run --resume TASK\n" +
			"  notwice run \"pay order 817\" --stream\n" +
			"What only a person can decide is asked at the terminal; without one (or with < /dev/null) it waits in the queue: exit code 3.\n" +
			"The exit code comes from the journal, not from the model's words.",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "`NAME` of the model, or script:FILE"},
			&cli.BoolFlag{Name: "stream", Usage: "ask for answers in pieces; the words appear on stderr as they come, if it is a terminal"},
			&cli.StringFlag{Name: "base-url", Usage: "`URL` of the endpoint, such as http://127.0.0.1:11434/v1"},
			&cli.StringFlag{Name: "task", Usage: "`NAME` of the task; the same message under the same name goes on with that turn"},
			&cli.StringFlag{Name: "resume", Usage: "go on with a `TASK` that was killed"},
			&cli.StringFlag{Name: "system", Usage: "`FILE` with another prompt"},
			&cli.IntFlag{Name: "steps", Value: 20, Usage: "at most `N` answers of the model"},
			&cli.DurationFlag{Name: "wait", Value: 10 * time.Second, Usage: "patience of each tool call"},
		}, providerFlags()...), journalFlag(), jsonFlag()),
		Action: func(c *cli.Context) error { return run(c, code) },
	}
}

func run(c *cli.Context, code *int) error {
	if err := notNegative(c, "wait"); err != nil {
		return err
	}
	if c.Int("steps") < 1 {
		return usagef("--steps is at least 1")
	}
	task, message, err := whatToRun(c)
	if err != nil {
		return err
	}
	cfg, err := readConfig(c)
	if err != nil {
		return err
	}
	model, stop, err := chooseModel(c, cfg)
	if err != nil {
		return err
	}
	defer stop()
	system, err := readSystem(c.String("system"))
	if err != nil {
		return err
	}
	s, err := openSession(c, "create_payment", "send_email", "create_application", "create_ticket")
	if err != nil {
		return err
	}
	defer s.close()
	s.due(c.Context)
	person, end := s.atTheTerminal(c.Context)
	defer end()
	a := agent.New(agent.Options{
		Person: person, Toolbox: s.tools, Model: model, Transcript: s.store, Clock: toolbox.RealClock(), System: system, MaxSteps: c.Int("steps"),
		Wait: c.Duration("wait"), Progress: func(line string) { progress("notwice: %s", line) },
	})
	fmt.Fprintf(os.Stderr, "notwice: task %s\n", task)
	out, err := a.Turn(c.Context, task, message)
	if err != nil {
		return unfinished(c, task, out, err)
	}
	if c.Bool("json") {
		printJSON(c.App.Writer, outcomeJSON(out))
	} else {
		printOutcome(c.App.Writer, out)
		s.waiting(c.Context)
	}
	*code = out.Exit
	return nil
}

// unfinished is the end of a turn that an error cut short: what was done until then stands in the receipt, and the exit code does
// not call certain what the journal does not.
func unfinished(c *cli.Context, task string, out agent.Outcome, err error) error {
	f := explain(fmt.Errorf("task %s: %w", task, err))
	if !errors.Is(err, agent.ErrTaken) {
		f.exit = agent.Worse(out.Exit, f.exit)
		f.next = fmt.Sprintf("Go on with `notwice run --resume %s`.", task)
	}
	if len(out.Receipts) == 0 {
		return f
	}
	if c.Bool("json") {
		f.more = map[string]any{"receipts": receiptsJSON(out)}
	} else {
		printOutcome(c.App.Writer, out)
	}
	if out.Exit == exitUnknown {
		f.meaning = "What was done stands in the receipt; not all of it is known yet."
	}
	return f
}

func whatToRun(c *cli.Context) (task, message string, err error) {
	task, message = c.String("task"), strings.TrimSpace(strings.Join(c.Args().Slice(), " "))
	switch {
	case c.IsSet("task") && task == "", c.IsSet("resume") && c.String("resume") == "":
		return "", "", usagef("the name of the task is empty")
	case toolbox.CheckTask(task+c.String("resume")) != nil:
		return "", "", usagef("%v", toolbox.CheckTask(task+c.String("resume")))
	case c.String("resume") != "" && (message != "" || task != ""):
		return "", "", usagef("--resume TASK stands alone: it goes on with the task's last message")
	case c.String("resume") != "":
		return c.String("resume"), "", nil
	case message == "":
		return "", "", usagef("what should be done? notwice run \"pay order 817, 4900 RUB\"")
	case task == "":
		return newTask(time.Now(), rand.Text()[:4]), message, nil
	}
	return task, message, nil
}

func readSystem(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", usagef("%v", err)
	}
	return string(data), nil
}

// chooseModel is the endpoint that the flags or the environment name.
func chooseModel(c *cli.Context, cfg config) (agent.Model, func(), error) {
	none := func() {}
	name := firstOf(c.String("model"), os.Getenv("OPENAI_MODEL"), cfg.Model.Name)
	base := firstOf(c.String("base-url"), os.Getenv("OPENAI_BASE_URL"), cfg.Model.BaseURL)
	if file, ok := strings.CutPrefix(name, "script:"); ok {
		server, err := scriptServer(file)
		if err != nil {
			return nil, none, err
		}
		return spoken(c, agent.NewOpenAI(server.URL()+"/v1", "none", "scripted", nil)), func() { server.Close() }, nil
	}
	if u, err := url.Parse(base); base != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, none, usagef("--base-url %q: a URL such as http://127.0.0.1:11434/v1 is needed", base)
	}
	if base == "" || name == "" {
		return nil, none, &failure{code: "no_model", exit: exitUsage, message: "no model is named",
			meaning: "Nothing was sent.", next: "Give --base-url URL and --model NAME (or OPENAI_BASE_URL and OPENAI_MODEL), or --model script:FILE."}
	}
	return spoken(c, agent.NewOpenAI(strings.TrimSuffix(base, "/"), os.Getenv("OPENAI_API_KEY"), name, nil)), none, nil
}

// spoken is the model as --stream wants it.
func spoken(c *cli.Context, m *agent.OpenAI) agent.Model {
	if !c.Bool("stream") {
		return m
	}
	return m.Streamed(func(piece string) {
		if term.IsTerminal(int(os.Stderr.Fd())) {
			fmt.Fprint(os.Stderr, visibleLines(piece))
		}
	})
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// scriptServer plays a script of answers as a model endpoint on loopback.
func scriptServer(name string) (*fakeprovider.Server, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("%v", err)
	}
	script, err := scenarios.ParseScript(name, data)
	if err != nil {
		return nil, err
	}
	return fakeprovider.Start(fakeprovider.Options{Script: script})
}

func printOutcome(w io.Writer, out agent.Outcome) {
	if out.Text != "" {
		fmt.Fprintln(w, visibleLines(out.Text))
	}
	if len(out.Receipts) == 0 {
		fmt.Fprintln(w, "-- receipt: nothing was done")
		return
	}
	fmt.Fprintln(w, "-- receipt, from the journal:")
	for _, r := range out.Receipts {
		line := fmt.Sprintf("   %s: %s", r.Word, r.Title)
		if r.ExternalID != "" {
			line += " as " + toolbox.Visible(r.ExternalID)
		}
		fmt.Fprintf(w, "%s [%s]\n", line, r.Status)
	}
}

func outcomeJSON(out agent.Outcome) map[string]any {
	return map[string]any{"v": 1, "task": out.Task, "text": out.Text, "receipts": receiptsJSON(out), "exit": out.Exit}
}

func receiptsJSON(out agent.Outcome) []any {
	receipts := []any{}
	for _, r := range out.Receipts {
		receipts = append(receipts, answerJSON(r))
	}
	return receipts
}

// newTask names a task that nobody named.
func newTask(now time.Time, random string) string {
	return strings.ToLower(now.UTC().Format("20060102-150405") + "-" + random)
}
