package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"notwice/agent"
	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/scenarios"
)

// The demonstration: a model that asks twice, a provider that takes the money and falls silent.
const (
	demoMessage = "Pay order 817, 4900 RUB."
	demoTask    = "demo"
	demoScript  = `{"answers":[
		{"call":{"tool":"create_payment","args":{"order_id":"817","amount_minor":490000,"currency":"RUB"}}},
		{"call":{"tool":"create_payment","args":{"order_id":"817","amount_minor":490000,"currency":"RUB"}}},
		{"say":"Order 817 is paid."}]}`
	demoFault = `{"on":"payments.create","do":"commit_then_timeout"}`
)

func demoCommand(code *int) *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it: a lost answer, a model that asks again, a process that is killed everywhere",
		Description: "Needs no key and no network. All figures are counted in the ledger of the fake provider.\n" +
			"  notwice demo\n  notwice demo --json",
		Flags: []cli.Flag{
			jsonFlag(),
			&cli.StringFlag{Name: "child-journal", Hidden: true},
			&cli.StringFlag{Name: "child-provider", Hidden: true},
			&cli.IntFlag{Name: "child-at", Hidden: true},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("demo takes no arguments")
			}
			if c.String("child-journal") != "" {
				return demoChild(c)
			}
			dir, err := os.MkdirTemp("", "notwice-demo-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			d := show{dir: dir, out: c.App.Writer}
			if c.Bool("json") {
				d.out = io.Discard
			}
			if err := d.run(c.Context); err != nil {
				return err
			}
			if c.Bool("json") {
				printJSON(c.App.Writer, d.figures())
			}
			if d.notwice.effects != 1 || d.duplicates > 0 || d.lost > 0 {
				*code = exitFailed
			}
			return nil
		},
	}
}

// counted is what the provider's ledger says after a run.
type counted struct{ requests, effects int }

type show struct {
	dir string
	out io.Writer

	plain, notwice           counted
	status                   string
	points, duplicates, lost int
}

func (d *show) figures() map[string]any {
	return map[string]any{
		"v":       1,
		"plain":   map[string]any{"requests": d.plain.requests, "effects": d.plain.effects},
		"notwice": map[string]any{"requests": d.notwice.requests, "effects": d.notwice.effects, "status": d.status},
		"kills":   map[string]any{"points": d.points, "duplicates": d.duplicates, "lost": d.lost},
	}
}

func (d *show) run(ctx context.Context) error {
	d.say("A person says: %q", demoMessage)
	d.say("The provider takes the money and falls silent. The model asks again.\n")
	if err := d.runPlain(ctx); err != nil {
		return err
	}
	if err := d.runNotwice(ctx); err != nil {
		return err
	}
	return d.runKills(ctx)
}

func (d *show) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// provider starts a provider with the script and the fault.
func (d *show) provider(dir string, times int) (*fakeprovider.Server, error) {
	script, err := fakeprovider.ParseScript([]byte(demoScript))
	if err != nil {
		return nil, err
	}
	server, err := fakeprovider.Start(fakeprovider.Options{Dir: dir, Script: script})
	if err != nil {
		return nil, err
	}
	faults, err := fakeprovider.ParseFaults([]byte(demoFault))
	if err == nil {
		faults[0].Times = times
		err = server.Arm(faults...)
	}
	if err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}

func count(s *fakeprovider.Server) (counted, error) {
	effects, err := s.Core().Effects(time.Now())
	return counted{s.Core().Requests().Writes, len(effects)}, err
}

// runPlain is an agent as they are written every day: it retries once on a time-out, under a fresh key, and hands the error
// to the model, which asks again.
func (d *show) runPlain(ctx context.Context) error {
	server, err := d.provider(filepath.Join(d.dir, "plain"), 2)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := plainTurn(ctx, server.URL()); err != nil {
		return fmt.Errorf("plain agent: %w", err)
	}
	if d.plain, err = count(server); err != nil {
		return err
	}
	d.say("  plain retrying agent   %d requests   %d payments", d.plain.requests, d.plain.effects)
	return nil
}

func plainTurn(ctx context.Context, base string) error {
	model := agent.NewOpenAI(base+"/v1", "none", "scripted", nil)
	client := &http.Client{Timeout: 100 * time.Millisecond}
	conversation := agent.Conversation{Messages: []agent.Message{{Role: "user", Text: demoMessage}}}
	for range 10 {
		reply, err := model.Ask(ctx, conversation)
		if err != nil || len(reply.Calls) == 0 {
			return err
		}
		conversation.Messages = append(conversation.Messages, agent.Message{Role: "assistant", Text: reply.Text, Calls: reply.Calls})
		for _, call := range reply.Calls {
			result, err := plainPay(ctx, client, base, call.Arguments)
			if err != nil {
				result, err = plainPay(ctx, client, base, call.Arguments) // "it timed out, try once more"
			}
			if err != nil {
				result = "error: the request timed out, please try again"
			}
			conversation.Messages = append(conversation.Messages, agent.Message{Role: "tool", CallID: call.ID, Text: result})
		}
	}
	return errors.New("the model did not come to an end")
}

func plainPay(ctx context.Context, client *http.Client, base, arguments string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/payments", bytes.NewBufferString(arguments))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprint("fresh-", time.Now().UnixNano()))
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

func (d *show) runNotwice(ctx context.Context) error {
	server, err := d.provider(filepath.Join(d.dir, "notwice"), 1)
	if err != nil {
		return err
	}
	defer server.Close()
	p := scenarios.Process{Journal: filepath.Join(d.dir, "notwice.db"), Provider: server.URL(), Task: demoTask, Message: demoMessage}
	out, _, err := p.Run(ctx)
	if err != nil {
		return fmt.Errorf("notwice: %w", err)
	}
	if d.notwice, err = count(server); err != nil {
		return err
	}
	d.say("  Notwice                %d request    %d payment\n", d.notwice.requests, d.notwice.effects)
	printOutcome(d.out, out)
	return d.timeline(ctx, p.Journal)
}

// timeline prints what the journal holds of the one operation.
func (d *show) timeline(ctx context.Context, path string) error {
	store, err := boltjournal.Open(path, boltjournal.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	ops, _, err := store.List(ctx, journal.Query{})
	if err != nil || len(ops) == 0 {
		return errors.Join(err, errors.New("the journal holds no operation"))
	}
	d.status = string(ops[0].Status)
	events, err := store.History(ctx, ops[0].Key)
	if err != nil {
		return err
	}
	d.say("\nThe operation %s, key %s:", ops[0].Number, ops[0].Key)
	table(d.out, historyRows(ops[0], events))
	return nil
}

// runKills plays the same story once for each point at which a process can die, in a child process that is really killed
// there and started again.
func (d *show) runKills(ctx context.Context) error {
	total, _, err := d.kill(ctx, 0)
	if err != nil {
		return err
	}
	type end struct {
		killed  bool
		effects int
		err     error
	}
	ends := make([]end, total)
	var wg sync.WaitGroup
	places := make(chan struct{}, 12) // they wait more than they work
	for i := range ends {
		wg.Add(1)
		go func() {
			defer wg.Done()
			places <- struct{}{}
			n, effects, err := d.kill(ctx, i+1)
			ends[i] = end{n == 0, effects, err}
			<-places
			progress("notwice: killed at point %d of %d", i+1, total)
		}()
	}
	wg.Wait()
	for i, e := range ends {
		if e.err != nil {
			return fmt.Errorf("killed at point %d: %w", i+1, e.err)
		}
		if !e.killed {
			continue // this run came to its end before that point
		}
		d.points++
		switch {
		case e.effects > 1:
			d.duplicates++
		case e.effects == 0:
			d.lost++
		}
	}
	d.say("\nThe same story in a child process, killed (kill -9) before and after every call of")
	d.say("journal, wire, clock and model, started again, and recovered:")
	d.say("  %d kill points   %d duplicate payments   %d lost", d.points, d.duplicates, d.lost)
	return nil
}

// kill plays the story in a child that dies at a point, lets a second child recover, and counts. points is how many the
// first child passed; 0: it was killed.
func (d *show) kill(ctx context.Context, at int) (points, effects int, err error) {
	server, err := d.provider("", 1)
	if err != nil {
		return 0, 0, err
	}
	defer server.Close()
	path := filepath.Join(d.dir, fmt.Sprintf("kill-%d.db", at))
	points, err = child(ctx, path, server.URL(), at)
	if err != nil {
		return 0, 0, err
	}
	if points == 0 {
		if _, err := child(ctx, path, server.URL(), 0); err != nil {
			return 0, 0, fmt.Errorf("recovery: %w", err)
		}
	}
	c, err := count(server)
	return points, c.effects, err
}

func child(ctx context.Context, path, provider string, at int) (points int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "demo", "--child-journal", path, "--child-provider", provider, "--child-at", fmt.Sprint(at))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &exit) && at > 0 && exit.ExitCode() < 0:
		return 0, nil // killed, as it was told
	case err != nil:
		return 0, fmt.Errorf("child: %w: %s", err, stderr.String())
	}
	var end struct {
		Points int `json:"points"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &end); err != nil {
		return 0, fmt.Errorf("child: %w", err)
	}
	return end.Points, nil
}

func demoChild(c *cli.Context) error {
	p := scenarios.Process{
		Journal: c.String("child-journal"), Provider: c.String("child-provider"), Task: demoTask, Message: demoMessage, At: c.Int("child-at"),
	}
	_, points, err := p.Run(c.Context)
	if err != nil {
		return err
	}
	printJSON(os.Stdout, map[string]any{"v": 1, "points": points})
	return nil
}
