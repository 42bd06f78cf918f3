package memjournal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"notwice/journal"
)

// Store is a journal in memory. Make it with New.
type Store struct {
	mu     sync.Mutex
	closed bool
	high   time.Time
	digest []byte
	stats  journal.Stats
	riders []rider
	rode   bool // the riders have just made a commit, on which the present change goes too

	ops     map[journal.Key]*record
	order   []journal.Key // by key, which is by time of registration
	kin     map[string][]journal.Key
	numbers map[string]journal.Key
	places  map[string]journal.Key // by transcript position
	owners  map[string]journal.Key // by account and external id
	tasks   map[string]int         // writes registered by a task
	spent   map[string]journal.Spent
	shapes  map[string]string   // by tool: the declaration under which its operations are indexed
	entries map[string][][]byte // transcripts
}

type record struct {
	op     journal.Operation
	events []journal.Event
}

type rider struct {
	at     time.Time
	key    journal.Key
	decide journal.Decide
}

// New returns an empty journal.
func New() *Store {
	return &Store{
		ops: map[journal.Key]*record{}, kin: map[string][]journal.Key{}, numbers: map[string]journal.Key{},
		places: map[string]journal.Key{}, owners: map[string]journal.Key{}, tasks: map[string]int{},
		spent: map[string]journal.Spent{}, shapes: map[string]string{}, entries: map[string][][]byte{},
	}
}

var (
	_ journal.Journal     = (*Store)(nil)
	_ journal.Transcripts = (*Store)(nil)
)

// Copy is a second journal with all that this one holds, as a copied file is.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := New()
	c.high, c.digest, c.stats = s.high, s.digest, s.stats
	for key, r := range s.ops {
		c.ops[key] = &record{r.op.Clone(), slices.Clone(r.events)}
	}
	c.order = slices.Clone(s.order)
	for kin, keys := range s.kin {
		c.kin[kin] = slices.Clone(keys)
	}
	maps.Copy(c.numbers, s.numbers)
	maps.Copy(c.places, s.places)
	maps.Copy(c.owners, s.owners)
	maps.Copy(c.tasks, s.tasks)
	maps.Copy(c.spent, s.spent)
	maps.Copy(c.shapes, s.shapes)
	for task, entries := range s.entries {
		c.entries[task] = slices.Clone(entries)
	}
	return c
}

func (s *Store) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return journal.ErrClosed
	}
	return nil
}

// DecideByIntent implements journal.Journal.
func (s *Store) DecideByIntent(ctx context.Context, at time.Time, w journal.Wish, decide journal.Decide) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if declared, known := s.shapes[w.Tool]; known && declared != w.Declared && w.Declared != "" {
		return journal.ErrDeclared
	}
	s.flush() // who decides sees what rides on the same commit
	k := s.known(journal.Known{})
	k.TaskSeq = s.tasks[w.Task]
	if key, ok := s.places[w.Position]; ok && w.Position != "" {
		k.Recorded = s.copyOf(key)
	}
	keys := s.kin[string(w.Kin)]
	for i, key := range keys {
		op := s.copyOf(key)
		if op.Unheard() {
			k.Unheard = append(k.Unheard, *op)
		}
		if op.Scope == w.Scope {
			k.Last = s.copyOf(key)
		}
		if i >= len(keys)-journal.RecentLimit {
			k.Recent = append(k.Recent, *s.copyOf(key))
		}
	}
	slices.Reverse(k.Recent)
	return s.decide(at, k, func(k journal.Known) (journal.Change, error) {
		c, err := decide(k)
		if _, known := s.shapes[w.Tool]; err == nil && c.Operation != nil && !known && w.Tool != "" {
			s.shapes[w.Tool] = w.Declared
		}
		return c, err
	})
}

// Declare implements journal.Journal.
func (s *Store) Declare(ctx context.Context, at time.Time, tool, declared string, place func(journal.Operation) (journal.Place, error)) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	places := map[journal.Key]journal.Place{}
	for _, key := range s.order {
		if s.ops[key].op.Tool != tool {
			continue
		}
		to, err := place(s.ops[key].op.Clone())
		if err != nil {
			return err
		}
		places[key] = to
	}
	for _, key := range s.order {
		if to, moves := places[key]; moves {
			op := &s.ops[key].op
			s.kin[string(op.Kin)] = slices.DeleteFunc(s.kin[string(op.Kin)], func(k journal.Key) bool { return k == key })
			op.Kin, op.Scope = to.Kin, to.Scope
			s.kin[string(op.Kin)] = append(s.kin[string(op.Kin)], key)
			slices.Sort(s.kin[string(op.Kin)])
		}
	}
	s.shapes[tool] = declared
	if at.After(s.high) {
		s.high = at
	}
	s.stats.Commits++
	return nil
}

// DecideByKey implements journal.Journal.
func (s *Store) DecideByKey(ctx context.Context, at time.Time, key journal.Key, decide journal.Decide) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.flush()
	if s.ops[key] == nil {
		return journal.ErrNotFound
	}
	return s.decide(at, s.known(journal.Known{Operation: s.copyOf(key)}), decide)
}

func (s *Store) known(k journal.Known) journal.Known {
	k.High = s.high
	k.Owner = func(account, id string) (journal.Key, bool) {
		key, ok := s.owners[account+"\x00"+id]
		return key, ok
	}
	k.Spent = func(tool, day string) journal.Spent { return s.spent[tool+"\x00"+day] }
	return k
}

func (s *Store) copyOf(key journal.Key) *journal.Operation {
	r := s.ops[key]
	if r == nil {
		return nil
	}
	op := r.op.Clone()
	return &op
}

func (s *Store) decide(at time.Time, k journal.Known, decide journal.Decide) error {
	c, err := decide(k)
	if err != nil {
		return err
	}
	if c.Operation == nil {
		return nil
	}
	if err := s.write(c); err != nil {
		return err
	}
	if at.After(s.high) {
		s.high = at
	}
	if !s.rode { // else it is the commit on which the riders rode
		s.stats.Commits++
	}
	s.rode = false
	return nil
}

// write makes a whole change or none of it: the second operation is checked first and put back if the first one fails.
func (s *Store) write(c journal.Change) error {
	if c.Other == nil {
		return s.writeOne(journal.Record{Operation: c.Operation, Events: c.Events})
	}
	old := s.ops[c.Other.Operation.Key]
	if old == nil {
		return fmt.Errorf("%w: the second operation of a change is not there", journal.ErrInvariant)
	}
	before, events := old.op.Clone(), slices.Clone(old.events)
	if err := s.writeOne(*c.Other); err != nil {
		return err
	}
	err := s.writeOne(journal.Record{Operation: c.Operation, Events: c.Events})
	if err != nil {
		s.put(old, before)
		old.events = events
	}
	return err
}

// ride writes what rides and reports whether there was anything. What fails is dropped, as the contract says.
func (s *Store) ride() (wrote bool) {
	riders := s.riders
	s.riders = nil
	for _, r := range riders {
		if s.ops[r.key] == nil {
			continue
		}
		c, err := r.decide(s.known(journal.Known{Operation: s.copyOf(r.key)}))
		if err != nil || c.Operation == nil || s.write(c) != nil {
			continue
		}
		wrote = true
		if r.at.After(s.high) {
			s.high = r.at
		}
	}
	return wrote
}

func (s *Store) writeOne(c journal.Record) error {
	op := c.Operation.Clone()
	old := s.ops[op.Key]
	var before *journal.Operation
	if old != nil {
		before = &old.op
	}
	if err := journal.Check(before, &op); err != nil {
		return err
	}
	if key, ok := s.owners[op.Account+"\x00"+op.ExternalID]; ok && op.ExternalID != "" && key != op.Key {
		return fmt.Errorf("%w: %s", journal.ErrExternalIDTaken, op.ExternalID)
	}
	if old == nil {
		if err := s.register(&op); err != nil {
			return err
		}
		old = s.ops[op.Key]
		old.op.ExternalID, old.op.Counted = "", nil // indexed by put
	}
	s.put(old, op)
	old.events = append(old.events, c.Events...)
	return nil
}

// put replaces a record and moves its indexes of what changes.
func (s *Store) put(old *record, op journal.Operation) {
	if old.op.ExternalID != op.ExternalID {
		if old.op.ExternalID != "" {
			delete(s.owners, old.op.Account+"\x00"+old.op.ExternalID)
		}
		if op.ExternalID != "" {
			s.owners[op.Account+"\x00"+op.ExternalID] = op.Key
		}
	}
	for _, day := range journal.Recount(old.op.Counted, op.Counted) {
		place := op.Tool + "\x00" + day.Day
		s.spent[place] = s.spent[place].Add(day.More).Sub(day.Less)
	}
	old.op = op
}

func (s *Store) register(op *journal.Operation) error {
	for _, key := range s.kin[string(op.Kin)] {
		if s.ops[key].op.Intent == op.Intent {
			return fmt.Errorf("%w: operation %s: its intent has the key %s", journal.ErrInvariant, op.Key, key)
		}
	}
	if key, ok := s.numbers[op.Number]; ok {
		return fmt.Errorf("%w: operation %s: its number belongs to %s", journal.ErrInvariant, op.Key, key)
	}
	s.ops[op.Key] = &record{op: *op}
	i, _ := slices.BinarySearch(s.order, op.Key)
	s.order = slices.Insert(s.order, i, op.Key)
	s.kin[string(op.Kin)] = append(s.kin[string(op.Kin)], op.Key)
	s.numbers[op.Number] = op.Key
	if op.Position != "" {
		s.places[op.Position] = op.Key
	}
	s.tasks[op.Task] = op.TaskSeq
	return nil
}

// Later implements journal.Journal.
func (s *Store) Later(at time.Time, key journal.Key, decide journal.Decide) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.riders = append(s.riders, rider{at, key, decide})
	}
}

// Flush implements journal.Journal.
func (s *Store) Flush(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.flush()
	return nil
}

func (s *Store) flush() {
	s.rode = s.ride()
	if s.rode {
		s.stats.Commits++
	}
}

// Get implements journal.Journal.
func (s *Store) Get(ctx context.Context, key journal.Key) (journal.Operation, error) {
	if err := s.lock(ctx); err != nil {
		return journal.Operation{}, err
	}
	defer s.mu.Unlock()
	op := s.copyOf(key)
	if op == nil {
		return journal.Operation{}, journal.ErrNotFound
	}
	return *op, nil
}

// Find implements journal.Journal.
func (s *Store) Find(ctx context.Context, text string) ([]journal.Operation, error) {
	return s.collect(ctx, 2, func(r *record) bool {
		return string(r.op.Key) == text || r.op.Number == text ||
			len(text) >= 8 && (strings.HasPrefix(string(r.op.Key), text) || strings.HasPrefix(r.op.Number, text))
	})
}

func (s *Store) collect(ctx context.Context, limit int, want func(*record) bool) ([]journal.Operation, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []journal.Operation
	for _, key := range s.order {
		if r := s.ops[key]; want(r) && (limit == 0 || len(found) < limit) {
			found = append(found, r.op.Clone())
		}
	}
	return found, nil
}

// List implements journal.Journal.
func (s *Store) List(ctx context.Context, q journal.Query) ([]journal.Operation, journal.Key, error) {
	all, err := s.collect(ctx, 0, func(r *record) bool { return q.Matches(&r.op) && (q.Before == "" || r.op.Key < q.Before) })
	slices.Reverse(all)
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	if len(all) <= limit {
		return all, "", err
	}
	return all[:limit], all[limit-1].Key, err
}

// Due implements journal.Journal.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]journal.Key, error) {
	all, err := s.collect(ctx, 0, func(r *record) bool { return !r.op.Due.IsZero() && journal.Come(r.op.Due, now) })
	sort.SliceStable(all, func(i, j int) bool { return all[i].Due.Before(all[j].Due) })
	var keys []journal.Key
	for _, op := range all[:min(limit, len(all))] {
		keys = append(keys, op.Key)
	}
	return keys, err
}

// NextDue implements journal.Journal.
func (s *Store) NextDue(ctx context.Context) (due time.Time, ok bool, err error) {
	all, err := s.collect(ctx, 0, func(r *record) bool { return !r.op.Due.IsZero() })
	for _, op := range all {
		if !ok || op.Due.Before(due) {
			due, ok = op.Due, true
		}
	}
	return due, ok, err
}

// Review implements journal.Journal.
func (s *Store) Review(ctx context.Context, limit int) ([]journal.Operation, error) {
	all, err := s.collect(ctx, 0, func(r *record) bool { return r.op.InReview() })
	sort.SliceStable(all, func(i, j int) bool { return all[i].ReviewSince().Before(all[j].ReviewSince()) })
	return all[:min(limit, len(all))], err
}

// History implements journal.Journal.
func (s *Store) History(ctx context.Context, key journal.Key) ([]journal.Event, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.ops[key] == nil {
		return nil, journal.ErrNotFound
	}
	return slices.Clone(s.ops[key].events), nil
}

// DigestKey implements journal.Journal.
func (s *Store) DigestKey(ctx context.Context, fresh []byte) ([]byte, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.digest == nil {
		s.digest = slices.Clone(fresh)
		s.stats.Commits++
	}
	return slices.Clone(s.digest), nil
}

// Stats implements journal.Journal.
func (s *Store) Stats() journal.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close implements journal.Journal.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.flush()
	}
	s.closed = true
	return nil
}
