package boltjournal

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"notwice/journal"
)

// Ring R2. A history is a row of moves; around each commit the file is kept, and from the pages that the commit changed all the
// files are built that a loss of power may leave. Each is opened as a journal and asked about everything.
//
// An honest disk keeps what was synced: before the first sync any part of the data pages may be there, and the old head; after it
// all of them, and either head. A lying disk keeps any part of anything, even after the commit was acknowledged.

// shelf is everything that a journal says, by question. An answer that is an error stands as its sentinel.
type shelf map[string]any

var losses = []error{journal.ErrDamaged, journal.ErrRollback, journal.ErrVersion}

// say keeps an answer.
func (h shelf) say(question string, answer any, err error) {
	if err != nil {
		answer = fmt.Errorf("%s: %w", question, err)
		for _, loss := range losses {
			if errors.Is(err, loss) {
				answer = loss
			}
		}
	}
	h[question] = answer
}

// inquiry is what a shelf is asked about: all that was ever registered in a history.
type inquiry struct {
	ops   []journal.Operation
	tasks []string
}

// read asks a journal. The error is one of opening it.
func (a *inquiry) read(path string) (shelf, error) {
	s, err := Open(path, Options{Patience: 5 * time.Second, Idle: time.Second})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return a.of(s), nil
}

func (a *inquiry) of(s *Store) shelf {
	h := shelf{}
	for _, op := range a.ops {
		a.operation(h, s, op)
	}
	for _, task := range a.tasks {
		entries, err := s.Entries(background, task)
		h.say("transcript of "+task, entries, err)
	}
	keys, err := s.Due(background, horizon, 1000)
	h.say("due", keys, err)
	review, err := s.Review(background, 1000)
	h.say("review", review, err)
	list, _, err := s.List(background, journal.Query{Limit: 1000})
	h.say("list", list, err)
	return h
}

var horizon = time.Unix(1_790_000_000, 0)

// known is what a decision is made on, without what is a function.
type known struct {
	operation, last       *journal.Operation
	unheard, recent       []journal.Operation
	taskSeq               int
	owner                 journal.Key
	owned                 bool
	spentToday, spentLast journal.Spent
}

func (a *inquiry) operation(h shelf, s *Store, op journal.Operation) {
	got, err := s.Get(background, op.Key)
	if errors.Is(err, journal.ErrNotFound) && !errors.Is(err, journal.ErrRollback) {
		got, err = journal.Operation{}, nil // absent: right only where it never was
	}
	h.say("operation "+string(op.Key), got, err)
	events, err := s.History(background, op.Key)
	if errors.Is(err, journal.ErrNotFound) && !errors.Is(err, journal.ErrRollback) {
		events, err = nil, nil
	}
	h.say("history of "+string(op.Key), events, err)
	found, err := s.Find(background, op.Number)
	h.say("number "+op.Number, found, err)
	var k known
	look := func(from journal.Known) (journal.Change, error) {
		k = known{operation: from.Operation, last: from.Last, unheard: from.Unheard, recent: from.Recent, taskSeq: from.TaskSeq}
		k.owner, k.owned = from.Owner(op.Account, "pay-"+string(op.Key))
		k.spentToday, k.spentLast = from.Spent(op.Tool, "2026-05-28"), from.Spent(op.Tool, "2026-05-29")
		return journal.Change{}, nil
	}
	w := journal.Wish{Kin: op.Kin, Scope: op.Scope, Task: op.Task}
	err = s.DecideByIntent(background, time.Time{}, w, look)
	h.say("wish of "+string(op.Key), k, err)
	k = known{}
	err = s.DecideByKey(background, time.Time{}, op.Key, look)
	if errors.Is(err, journal.ErrNotFound) {
		k, err = known{}, nil
	}
	h.say("decision about "+string(op.Key), k, err)
}

// verdict is how an image compares with the two states that it may hold.
type verdict struct {
	loud, old bool // some answer was damage; some answer was the state before
	wrong     string
}

// compare sees that each answer is that of one of two states, or an error that says what is lost.
func compare(got, before, after shelf) (v verdict) {
	for _, question := range slices.Sorted(maps.Keys(after)) {
		answer := got[question]
		_, failed := answer.(error)
		switch {
		case failed && slices.ContainsFunc(losses, func(loss error) bool { return answer == loss }):
			v.loud = true
		case !failed && reflect.DeepEqual(answer, after[question]):
		case !failed && reflect.DeepEqual(answer, before[question]):
			v.old = true
		default:
			v.wrong = fmt.Sprintf("%s: %.400v", question, answer)
			return v
		}
	}
	return v
}

// mover makes the moves of one history.
type mover struct {
	*inquiry
	s      *Store
	random *rand.Rand
	open   []journal.Key
	rows   map[string]int
	clock  int64
}

func (m *mover) now() time.Time { m.clock++; return time.Unix(1_780_000_000+m.clock, 0) }

// move makes one commit of one or two moves.
func (m *mover) move() error {
	if m.random.IntN(3) == 0 && len(m.open) > 0 {
		m.s.Later(m.now(), m.pick(), m.delay)
	}
	switch n := m.random.IntN(10); {
	case n < 4 || len(m.open) == 0:
		return m.register()
	case n < 6:
		return m.s.DecideByKey(background, m.now(), m.pick(), m.delay)
	case n < 8:
		return m.settle()
	case n < 9:
		task := fmt.Sprint("task ", m.random.IntN(2))
		entry := make([]byte, 20+m.random.IntN(3000))
		_, err := m.s.Append(background, task, m.rows[task], entry)
		m.rows[task]++
		return err
	}
	return m.s.DecideByKey(background, m.now(), m.pick(), m.review)
}

func (m *mover) pick() journal.Key { return m.open[m.random.IntN(len(m.open))] }

func (m *mover) register() error {
	op := opOf("image", len(m.ops))
	if m.random.IntN(4) == 0 && len(m.ops) > 0 { // once more, of a kin that is there
		op.Kin = m.ops[m.random.IntN(len(m.ops))].Kin
	}
	op.Request = fmt.Appendf(nil, `{"text":"%0*d"}`, 1+m.random.IntN(900), 7)
	op.Counted = &journal.Counted{Day: fmt.Sprint("2026-05-", 28+m.random.IntN(2))}
	m.ops, m.open = append(m.ops, op), append(m.open, op.Key)
	at := m.now()
	w := journal.Wish{Kin: op.Kin, Scope: op.Scope, Task: op.Task}
	return m.s.DecideByIntent(background, at, w, func(k journal.Known) (journal.Change, error) {
		c := op.Clone()
		return journal.Change{Operation: &c, Events: []journal.Event{{At: at, What: "registered", Status: op.Status}}}, nil
	})
}

func (m *mover) settle() error {
	i := m.random.IntN(len(m.open))
	key := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	m.clock++
	return m.s.DecideByKey(background, m.now(), key, func(k journal.Known) (journal.Change, error) {
		op := k.Operation
		op.Status, op.Evidence, op.ExternalID, op.Ended = journal.Succeeded, journal.Person, "pay-"+string(op.Key), m.now()
		op.Due, op.Wait, op.Result, op.Request = time.Time{}, nil, op.Request, nil
		return journal.Change{Operation: op, Events: []journal.Event{{At: op.Ended, What: "moved", Status: op.Status}}}, nil
	})
}

func (m *mover) delay(k journal.Known) (journal.Change, error) {
	op := k.Operation
	if op.Status.Final() {
		return journal.Change{}, nil
	}
	op.Due = m.now().Add(time.Hour)
	return journal.Change{Operation: op, Events: []journal.Event{{At: op.Registered, What: "look_up", Status: op.Status}}}, nil
}

func (m *mover) review(k journal.Known) (journal.Change, error) {
	op := k.Operation
	op.Wait, op.Due = &journal.Wait{Reason: "unresolved", Since: m.now()}, time.Time{}
	return journal.Change{Operation: op, Events: []journal.Event{{At: op.Registered, What: "waits", Status: op.Status}}}, nil
}

// photo is a file with its mark, and what it says.
type photo struct {
	file, mark []byte
	says       shelf
}

// develop is the photo of a journal that nobody is writing.
func (m *mover) develop(path string) (p photo, err error) {
	m.s.EndTurn()
	if p.file, err = os.ReadFile(path); err == nil {
		p.mark, err = os.ReadFile(path + ".lock")
	}
	p.says = m.of(m.s)
	m.s.EndTurn()
	return p, err
}

// image is one file that a loss of power may leave.
type image struct {
	name   string
	file   []byte
	mark   []byte
	honest bool // the disk kept what it was told to keep
	acked  bool // the commit had been acknowledged
}

// images builds all images of one commit.
func images(random *rand.Rand, before, after photo, take func(image)) {
	n := max(len(before.file), len(after.file)) / pageSize
	page := func(file []byte, i int) []byte {
		if (i+1)*pageSize > len(file) {
			return make([]byte, pageSize)
		}
		return file[i*pageSize : (i+1)*pageSize]
	}
	var data, heads []int // changed pages
	for i := range n {
		switch {
		case slices.Equal(page(before.file, i), page(after.file, i)):
		case i < 2:
			heads = append(heads, i)
		default:
			data = append(data, i)
		}
	}
	build := func(size int, fresh func(int) bool) []byte {
		file := make([]byte, 0, n*pageSize)
		for i := range n {
			if fresh(i) {
				file = append(file, page(after.file, i)...)
			} else {
				file = append(file, page(before.file, i)...)
			}
		}
		return file[:min(size, len(file))]
	}
	head := func(i int) bool { return i < 2 }
	whole := len(after.file)
	subsets(random, data, func(name string, in map[int]bool) {
		take(image{"data " + name + ", the old head", build(whole, func(i int) bool { return in[i] }), before.mark, true, false})
	})
	take(image{"only the head is missing", build(whole, func(i int) bool { return !head(i) }), make([]byte, len(before.mark)), true, false})
	take(image{"all, no mark", after.file, make([]byte, len(after.mark)), true, true})
	take(image{"nothing", before.file, before.mark, true, false})
	take(image{"all but the answer", after.file, before.mark, true, false})
	all := slices.Concat(heads, data)
	subsets(random, all, func(name string, in map[int]bool) {
		take(image{"pages " + name + " after the answer", build(whole, func(i int) bool { return in[i] }), after.mark, false, true})
	})
	if len(before.file) < whole {
		take(image{"not grown", build(len(before.file), func(int) bool { return true }), after.mark, false, true})
		take(image{"grown, nothing more", build(whole, func(int) bool { return false }), before.mark, true, false})
	}
	for _, i := range all {
		for cut := 512; cut < pageSize; cut += 512 {
			for side, torn := range map[string]int{"end": 0, "begin": 1} {
				tear := func(from []byte, old bool) []byte {
					p := [2][]byte{page(before.file, i), page(after.file, i)}
					if old {
						p[0], p[1] = p[1], p[0]
					}
					return append(append(append([]byte(nil), from[:i*pageSize]...), append(append([]byte(nil), p[1][:cut]...), p[0][cut:]...)...), from[(i+1)*pageSize:]...)
				}
				name := fmt.Sprintf("page %d torn at %d, its %s is old", i, cut, side)
				mark := after.mark
				if head(i) {
					mark = before.mark
				}
				take(image{name, tear(after.file, torn == 1), mark, head(i), !head(i)})
				if !head(i) {
					take(image{name + ", the old head", tear(build(whole, func(i int) bool { return !head(i) }), torn == 1), before.mark, true, false})
				}
			}
		}
	}
}

// subsets names all subsets of up to ten pages; of more pages those that lack one or two, or have just those, and a thousand others.
func subsets(random *rand.Rand, pages []int, take func(name string, in map[int]bool)) {
	of := func(in func(i int) bool) {
		set := map[int]bool{}
		for i, p := range pages {
			set[p] = in(i)
		}
		take(fmt.Sprint(slices.Sorted(func(yield func(int) bool) {
			for p, is := range set {
				if is && !yield(p) {
					return
				}
			}
		})), set)
	}
	if len(pages) <= 10 {
		for bits := range 1 << len(pages) {
			of(func(i int) bool { return bits>>i&1 == 1 })
		}
		return
	}
	for a := range pages {
		for b := a; b < len(pages); b++ {
			of(func(i int) bool { return i != a && i != b })
			of(func(i int) bool { return i == a || i == b })
		}
	}
	for range 1000 {
		bits := random.Uint64()
		of(func(i int) bool { return bits>>(i%64)&1 == 1 })
	}
}

// tally counts images.
type tally struct {
	mu                                  sync.Mutex
	histories, commits, images          int
	asBefore, asAfter, loud, rolledBack int
	silent                              int
}

func (c *tally) add(n *int) {
	c.mu.Lock()
	*n++
	c.mu.Unlock()
}

// at asks a photo, put at a path, what it says.
func (a *inquiry) at(path string, p photo) (shelf, error) {
	if err := errors.Join(os.WriteFile(path, p.file, 0o600), os.WriteFile(path+".lock", p.mark, 0o600)); err != nil {
		return nil, err
	}
	return a.read(path)
}

// look opens one image and judges it. It returns what is wrong.
func (a *inquiry) look(path string, g image, before, after photo, c *tally) string {
	c.add(&c.images)
	got, err := a.at(path, photo{file: g.file, mark: g.mark})
	if err != nil {
		if g.honest {
			return "an honest disk left what cannot be opened: " + err.Error()
		}
		if !slices.ContainsFunc(losses, func(loss error) bool { return errors.Is(err, loss) }) {
			return err.Error()
		}
		c.add(&c.loud)
		return ""
	}
	v := compare(got, before.says, after.says)
	fresh := opOf("fresh", 1)
	wrote := registerAt(path, fresh)
	rolled := errors.Is(wrote, journal.ErrRollback)
	switch {
	case v.wrong != "" && !(rolled && !g.honest):
		return v.wrong
	case g.honest && (v.loud || wrote != nil):
		return fmt.Sprintf("an honest disk left damage: %v", wrote)
	case v.old && g.acked && !rolled && !v.loud:
		return "an acknowledged move is not there, and nothing says so"
	case v.old && g.acked && !rolled:
		return "an acknowledged move is not there, and only others say so"
	case g.honest && v.old && !reflect.DeepEqual(got, before.says):
		return "a move is there in part"
	}
	switch {
	case rolled:
		c.add(&c.rolledBack)
	case v.loud:
		c.add(&c.loud)
	case v.old:
		c.add(&c.asBefore)
	default:
		c.add(&c.asAfter)
	}
	if !g.honest {
		return ""
	}
	more, err := a.read(path) // what was written since has changed nothing else
	if err != nil {
		return err.Error()
	}
	delete(more, "list")
	for question, answer := range more {
		if k, is := answer.(known); is {
			k.spentToday, k.spentLast = journal.Spent{}, journal.Spent{}
		}
		if !reflect.DeepEqual(answer, got[question]) {
			return "after one more write: " + question
		}
	}
	return ""
}

func registerAt(path string, op journal.Operation) error {
	s, err := Open(path, Options{Patience: 5 * time.Second})
	if err != nil {
		return err
	}
	return errors.Join(registerIn(s, op), s.Close())
}

// TestImages builds the images of a few histories; NOTWICE_IMAGES says of how many, as 12, or as 101-112 of which.
func TestImages(t *testing.T) {
	first, last := 1, 1
	if from, to, is := strings.Cut(os.Getenv("NOTWICE_IMAGES"), "-"); is {
		first, last = number(t, from), number(t, to)
	} else if from != "" {
		last = number(t, from)
	}
	var c tally
	began := time.Now()
	var wg sync.WaitGroup
	places := make(chan struct{}, runtime.NumCPU())
	for seed := first; seed <= last; seed++ {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			imagesOf(t, uint64(seed), &c)
		})
	}
	wg.Wait()
	t.Logf("%d histories, %d commits, %d images: %d as after the commit, %d as before it, %d loud, %d seen as older copies; %d silent, in %v",
		c.histories, c.commits, c.images, c.asAfter, c.asBefore, c.loud, c.rolledBack, c.silent, time.Since(began).Round(time.Second))
	if !t.Failed() && (c.asAfter == 0 || c.asBefore == 0 || c.loud == 0 || c.rolledBack == 0) {
		t.Error("one of the ways in which an image can end was never seen")
	}
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("NOTWICE_IMAGES is 12, or 101-112: %q", text)
	}
	return n
}

// inMemory is a folder in memory where there is one: an image is a file already, and no sync makes it truer.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "notwice-images-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// imagesOf judges all images of the history of a seed.
func imagesOf(t *testing.T, seed uint64, c *tally) {
	dir := inMemory(t)
	path := filepath.Join(dir, "journal.db")
	m := &mover{inquiry: &inquiry{tasks: []string{"task 0", "task 1"}}, random: rand.New(rand.NewPCG(seed, 2)), rows: map[string]int{}}
	var err error
	if m.s, err = Open(path, Options{Idle: time.Second}); err != nil {
		t.Error(err)
		return
	}
	defer m.s.Close()
	for range m.random.IntN(30) { // a file with a past, in which pages were freed
		if err := m.move(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
	}
	copied := filepath.Join(dir, "image", "journal.db")
	if err := os.Mkdir(filepath.Dir(copied), 0o700); err != nil {
		t.Error(err)
		return
	}
	c.add(&c.histories)
	before, err := m.develop(path)
	for n := 0; err == nil && n < 3; n++ {
		had := len(m.ops)
		if err = m.move(); err != nil {
			break
		}
		if len(m.ops) > had {
			if before.says, err = m.at(copied, before); err != nil {
				break
			}
		}
		var after photo
		if after, err = m.develop(path); err != nil {
			break
		}
		c.add(&c.commits)
		images(m.random, before, after, func(g image) {
			if wrong := m.look(copied, g, before, after, c); wrong != "" {
				c.add(&c.silent)
				t.Errorf("S16: seed %d, commit %d, %s: %s", seed, n, g.name, wrong)
			}
		})
		before = after
	}
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
}
