package boltjournal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"notwice/canonical"
	"notwice/journal"
)

// childEnv names the journal that this test binary works on when it is started again as a child.
const childEnv = "NOTWICE_TEST_JOURNAL"

// movesEnv makes a child that makes a few moves, one after the other, and says what it was told.
const movesEnv = childEnv + "_MOVES"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if os.Getenv(movesEnv) != "" {
			os.Exit(moves(path))
		}
		os.Exit(child(path, os.Getenv(childEnv+"_NAME")))
	}
	os.Exit(m.Run())
}

var background = context.Background()

// opOf is operation n of a name, which orders and tells apart the operations of many processes.
func opOf(name string, n int) journal.Operation {
	sum := func(part string) canonical.Hash {
		h, _ := canonical.KinHash(part, name, map[string]any{"n": n})
		return h
	}
	key := fmt.Sprintf("%012x-%s", n, name)
	return journal.Operation{
		Key: journal.Key(key), Number: "N" + key, Tool: "create_payment", Account: "shop@fake", Task: name, Scope: journal.JournalScope,
		Kin: sum("kin"), Intent: sum("intent"), RequestHash: sum("request"), Seq: 1, TaskSeq: n + 1, Status: journal.Pending,
		Registered: time.Unix(1_780_000_000, int64(n)), Request: canonical.Raw(`{"order_id":"817","amount_minor":490000,"currency":"RUB"}`),
	}
}

func registerIn(s *Store, op journal.Operation) error {
	w := journal.Wish{Kin: op.Kin, Scope: op.Scope, Task: op.Task}
	return s.DecideByIntent(background, op.Registered, w, func(k journal.Known) (journal.Change, error) {
		if len(k.Unheard) > 0 {
			return journal.Change{}, nil
		}
		c := op.Clone()
		return journal.Change{Operation: &c, Events: []journal.Event{{At: op.Registered, What: "registered", Status: op.Status}}}, nil
	})
}

func settleIn(s *Store, k journal.Key) error {
	return s.DecideByKey(background, time.Unix(1_780_000_001, 0), k, func(known journal.Known) (journal.Change, error) {
		op := known.Operation
		op.Status, op.Evidence, op.ExternalID, op.Ended = journal.Succeeded, journal.Person, "pay-"+string(op.Key), time.Unix(1_780_000_001, 0)
		return journal.Change{Operation: op, Events: []journal.Event{{At: op.Ended, What: "moved", Status: op.Status}}}, nil
	})
}

// child works with eight callers until its standard input ends, and says what was acknowledged.
func child(path, name string) int {
	s, err := Open(path, Options{Patience: 30 * time.Second})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	stop := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		close(stop)
	}()
	var mu sync.Mutex
	say := func(word string, what any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(word, what)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				op := opOf(fmt.Sprint(name, "-", w), n)
				if err := registerIn(s, op); err != nil {
					say("error", err)
					return
				}
				say("registered", op.Key)
				if err := settleIn(s, op.Key); err != nil {
					say("error", err)
					return
				}
				say("settled", op.Key)
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		say("error", err)
	}
	return 0
}

type process struct {
	*exec.Cmd
	end  func()
	said chan struct{} // closed when all that it said was read

	mu       sync.Mutex
	acked    map[journal.Key]string
	errors   []string
	progress int
	moved    chan struct{} // has a token after progress
}

func start(t *testing.T, path, name string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), acked: map[journal.Key]string{}, said: make(chan struct{}), moved: make(chan struct{}, 1)}
	p.Env = append(os.Environ(), childEnv+"="+path, childEnv+"_NAME="+name)
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = os.Stderr
	p.end = func() { in.Close() }
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	go func() {
		defer close(p.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			word, what, _ := strings.Cut(lines.Text(), " ")
			p.mu.Lock()
			if word == "error" {
				p.errors = append(p.errors, what)
			} else if strings.HasSuffix(what, fmt.Sprint(name, "-", what[len(what)-1:])) { // a line cut by a kill is no acknowledgement
				p.acked[journal.Key(what)] = word
				p.progress++
			}
			p.mu.Unlock()
			select {
			case p.moved <- struct{}{}:
			default:
			}
		}
	}()
	return p
}

// wait until the process has acknowledged n more moves; the test's own time limit is the alarm for a hang.
func (p *process) advance(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.progress
	}
	for want := count() + n; count() < want; {
		select {
		case <-p.said:
			t.Fatalf("the process ended: %v", p.errors)
		case <-p.moved:
		}
	}
}

// Two processes with eight callers each share one journal while a third is killed again and again: nothing acknowledged is
// lost (S15), and the others go on.
func TestProcessesShareAndSurviveKills(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	t.Cleanup(func() { checkFile(t, path) })
	living := []*process{start(t, path, "a"), start(t, path, "b")}
	all := append([]*process{}, living...)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		victim := start(t, path, fmt.Sprint("v", i))
		all = append(all, victim)
		victim.advance(t, 1+random.IntN(60))
		victim.Process.Kill()
		victim.Wait()
		for _, p := range living {
			p.advance(t, 8) // goes on
		}
	}
	for _, p := range living {
		p.end()
		<-p.said
		if err := p.Wait(); err != nil {
			t.Errorf("a living process: %v", err)
		}
	}
	s := openAt(t, path, Options{})
	n := 0
	for _, p := range all {
		<-p.said
		if len(p.errors) > 0 {
			t.Errorf("errors of a process: %v", p.errors)
		}
		for key, word := range p.acked {
			n++
			op, err := s.Get(background, key)
			if err != nil {
				t.Fatalf("%s was acknowledged as %s and is lost: %v", key, word, err)
			}
			if word == "settled" && op.Status != journal.Succeeded {
				t.Errorf("%s was acknowledged as settled and is %s", key, op.Status)
			}
		}
	}
	s.Close()
	t.Logf("%d acknowledged operations, none lost", n)
}
