package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"notwice/fakeprovider"
	"notwice/journal"
	"notwice/journal/boltjournal"
	"notwice/scenarios/demo"
	"notwice/toolbox"
	"notwice/toolbox/httptool"
)

func journalFlag() cli.Flag {
	return &cli.StringFlag{Name: "journal", Usage: "journal `FILE` (default: NOTWICE_JOURNAL, else journal.db in the user's state folder)"}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object"}
}

func providerFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "provider", Usage: "`URL` of the provider (default: NOTWICE_PROVIDER, else a fake one inside this process)"},
		&cli.StringFlag{Name: "fault", Usage: "arm the fake provider inside this process with a fault `NAME`, such as commit_then_timeout, or a fault as JSON"},
	}
}

// session is what a command works with: the journal, the tools, and the provider behind them.
type session struct {
	store *boltjournal.Store
	tools *toolbox.Toolbox
	fake  *fakeprovider.Server // nil: another process is the provider
	path  string
	cfg   config
	notes notifier
	stop  func()
}

// journalPath is where the journal is.
func journalPath(c *cli.Context) (string, error) {
	if path := c.String("journal"); path != "" || c.IsSet("journal") {
		if path == "" {
			return "", usagef("--journal is empty; leave it out for the journal in your state folder")
		}
		return path, nil
	}
	if path := os.Getenv("NOTWICE_JOURNAL"); path != "" {
		return path, nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "notwice", "journal.db"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usagef("where the journal is cannot be told: %v; give --journal FILE", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "notwice", "journal.db"), nil
	case "windows":
		return filepath.Join(home, "AppData", "Local", "notwice", "journal.db"), nil
	}
	return filepath.Join(home, ".local", "state", "notwice", "journal.db"), nil
}

// openStore opens the journal only.
func openStore(c *cli.Context) (*boltjournal.Store, string, error) {
	path, err := journalPath(c)
	if err != nil {
		return nil, "", err
	}
	store, err := boltjournal.Open(path, boltjournal.Options{})
	if err != nil {
		return nil, path, &journalError{err}
	}
	return store, path, nil
}

// journalError is any error of a journal that could not be opened.
type journalError struct{ err error }

func (e *journalError) Error() string { return e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// checkProvider takes scheme, host and port, and nothing that could be a secret or be lost: an address is part of every intent
// and stands in the journal.
func checkProvider(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return usagef("--provider: a URL such as http://127.0.0.1:8080 is needed, without path or query")
	case u.User != nil:
		return usagef("--provider: a name or password does not belong in the address; it would stand in the journal")
	}
	return nil
}

// notNegative refuses durations below zero.
func notNegative(c *cli.Context, names ...string) error {
	for _, name := range names {
		if c.Duration(name) < 0 {
			return usagef("--%s %s: a duration is not negative", name, c.Duration(name))
		}
	}
	return nil
}

// newSession reads the configuration and opens the journal, without tools yet.
func newSession(c *cli.Context) (*session, error) {
	cfg, err := readConfig(c)
	if err != nil {
		return nil, err
	}
	store, path, err := openStore(c)
	if err != nil {
		return nil, err
	}
	return &session{store: store, path: path, cfg: cfg, notes: notifier{command: cfg.Notify}, stop: suspendGuard(store)}, nil
}

// openReader opens the journal with the tools that are declared, and no provider: for commands that show. What needs nobody
// outside is moved on first, so that they show the present. Over a damaged file there are no tools: what can be read is still shown.
func openReader(c *cli.Context) (*session, error) {
	s, err := newSession(c)
	if err != nil {
		return nil, err
	}
	if err := s.addTools(c.Context, "http://127.0.0.1:1", "fake"); errors.Is(err, journal.ErrDamaged) { // declared only: nothing is asked there
		return s, nil
	} else if err != nil {
		s.close()
		return nil, err
	}
	if err := s.tools.Tidy(c.Context, dueLimit); err != nil && c.Context.Err() == nil {
		progress("notwice: due work: %v", err) // what is there is still shown
	}
	return s, nil
}

// openSession opens the journal and adds the demonstration tools. faultsFor are the tools for which --fault is armed.
func openSession(c *cli.Context, faultsFor ...string) (*session, error) {
	address := c.String("provider")
	if address == "" {
		address = os.Getenv("NOTWICE_PROVIDER")
	}
	if address != "" {
		if err := checkProvider(address); err != nil {
			return nil, err
		}
		if c.String("fault") != "" {
			return nil, usagef("--fault arms the fake provider inside this process; arm the one at %s over its /_control/faults", address)
		}
	}
	s, err := newSession(c)
	if err != nil {
		return nil, err
	}
	place := ""
	if address == "" {
		if err := s.startFake(c, faultsFor); err != nil {
			s.close()
			return nil, err
		}
		address, place = s.fake.URL(), "fake"
	}
	if err := s.addTools(c.Context, strings.TrimSuffix(address, "/"), place); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) startFake(c *cli.Context, faultsFor []string) (err error) {
	dir := strings.TrimSuffix(s.path, ".db") + ".fake"
	if s.fake, err = fakeprovider.Start(fakeprovider.Options{Dir: dir}); err != nil {
		return fmt.Errorf("fake provider: %w", err)
	}
	fmt.Fprintf(os.Stderr, "notwice: no provider is named, so a fake one in this process is used; its ledger is %s\n", dir)
	return s.arm(c.String("fault"), faultsFor)
}

// arm arms a fault by name for the requests of the given tools, or as it stands when it is JSON.
func (s *session) arm(name string, tools []string) error {
	if name == "" {
		return nil
	}
	texts := []string{name}
	if !strings.HasPrefix(strings.TrimSpace(name), "{") && !strings.HasPrefix(strings.TrimSpace(name), "[") {
		texts = nil
		for _, tool := range tools {
			texts = append(texts, fmt.Sprintf(`{"on":%q,"do":%q%s}`, faultPlace(tool, name), name, faultDefaults[name]))
		}
	}
	for _, text := range texts {
		faults, err := fakeprovider.ParseFaults([]byte(text))
		if err == nil {
			err = s.fake.Arm(faults...)
		}
		if err != nil {
			return usagef("--fault: %v", err)
		}
	}
	return nil
}

// faultDefaults are what a fault that is only named needs besides.
var faultDefaults = map[string]string{
	"late_commit": `,"after":"5s"`, "slow": `,"for":"5s"`, "lookup_lag": `,"for":"20s"`, "forget_key": `,"after":"1s"`,
	"lookup_miss": `,"every":2`, "wrong_echo": `,"field":"amount_minor","value":1`, "lookup_renamed": `,"field":"key"`,
}

func faultPlace(tool, fault string) string {
	kind := map[string]string{"create_payment": "payments", "cancel_payment": "payments", "get_payment": "payments", "send_email": "emails",
		"create_application": "applications", "create_ticket": "tickets"}[tool]
	switch {
	case strings.HasPrefix(fault, "lookup_"), tool == "get_payment":
		return kind + ".search"
	case tool == "cancel_payment":
		return kind + ".cancel"
	}
	return kind + ".create"
}

func (s *session) addTools(ctx context.Context, base, place string) (err error) {
	s.tools, err = toolbox.New(ctx, toolbox.Options{
		Journal: s.store, Notify: s.notes.tell, Log: func(line string) { fmt.Fprintln(os.Stderr, "notwice:", line) },
	})
	if err != nil {
		return err
	}
	wire := httptool.NewTransport()
	for _, name := range demo.Names() {
		tool, err := demo.Tool(name, base, place, wire, s.cfg.lay(name))
		if err == nil {
			err = s.tools.Add(tool)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dueLimit and dueTime bound the pass over due work at the start of a command.
const (
	dueLimit = 20
	dueTime  = 2 * time.Second
)

// due does what is due, bounded. What it cannot do now stays due.
func (s *session) due(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dueTime)
	defer cancel()
	if n, err := s.tools.Due(ctx, dueLimit); n > 0 {
		progress("notwice: worked on %d open operations first", n)
	} else if err != nil && ctx.Err() == nil {
		progress("notwice: due work: %v", err)
	}
}

// close waits for attempts that are under way, so that their ends are recorded, and lets everything go.
func (s *session) close() {
	if s.tools != nil {
		s.tools.Drain(context.Background())
		s.tools.Close()
	}
	s.notes.running.Wait()
	s.stop()
	s.store.Close()
	if s.fake != nil {
		s.fake.Close()
	}
}

// waiting tells a person how much waits for a decision.
func (s *session) waiting(ctx context.Context) {
	ops, err := s.store.Review(ctx, 1000)
	if err == nil && len(ops) > 0 {
		fmt.Fprintf(os.Stderr, "notwice: %d waiting for a person; see notwice review list\n", len(ops))
	}
}
