package fakeprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// entry is one file of the ledger: an effect, a remembered key, or both. That a key's record and its effect are one file makes
// de-duplication and effect one atomic step, also between processes.
type entry struct {
	V      int     `json:"v"`
	Seq    int     `json:"seq,omitempty"` // the effect's running number; its id contains it
	Effect *Effect `json:"effect,omitempty"`
	Record *record `json:"record,omitempty"`
}

// record is what the provider remembers under a key.
type record struct {
	Kind        string    `json:"kind"`
	Action      string    `json:"action"`
	Key         string    `json:"key"`
	Generation  int       `json:"generation"` // how often the key had been forgotten before
	Request     string    `json:"request"`    // canonical text of the body
	At          time.Time `json:"at"`         // when the request came
	Ready       time.Time `json:"ready"`      // until then it is in progress
	Status      int       `json:"status"`     // the answer that a repeat gets
	ContentType string    `json:"content_type"`
	Body        string    `json:"body"`
}

// ledger keeps the entries. With a folder the folder is the truth, and memory only a copy of what has been read so far; without one
// memory is all there is. It is not safe for concurrent use: the core's lock guards it.
type ledger struct {
	dir     string
	entries map[string]*entry  // by file name
	keys    map[string]*record // by keyHash, the latest generation
	seq     int                // the highest number seen or allocated
}

// openLedger opens or creates the folder and reads all of it.
func openLedger(dir string) (*ledger, error) {
	l := &ledger{dir: dir, entries: map[string]*entry{}, keys: map[string]*record{}}
	if dir == "" {
		return l, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "ids"), 0o700); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return l, l.refresh()
}

// refresh reads what other processes have added. A file that cannot be read, or that has gone, is an error: a ledger that forgets
// would call a duplicate a first effect.
func (l *ledger) refresh() error {
	if l.dir == "" {
		return nil
	}
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	present := 0
	for _, file := range files {
		name := file.Name()
		if file.IsDir() && name == "ids" || strings.HasPrefix(name, ".") {
			continue // temporary files begin with a dot: a writer died before its effect happened
		}
		if l.entries[name] != nil {
			present++
			continue
		}
		if err := l.load(name); err != nil {
			return err
		}
		present++
	}
	if present != len(l.entries) {
		return fmt.Errorf("read ledger: %d of %d files have vanished from %s", len(l.entries)-present, len(l.entries), l.dir)
	}
	return nil
}

func (l *ledger) load(name string) error {
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	e := &entry{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e); err != nil {
		return fmt.Errorf("read ledger file %s: %w", name, err)
	}
	if err := e.check(name); err != nil {
		return fmt.Errorf("read ledger file %s: %w", name, err)
	}
	l.keep(name, e)
	return nil
}

// check compares a file with its name and with itself.
func (e *entry) check(name string) error {
	switch {
	case e.V != 1:
		return fmt.Errorf("version %d is not 1", e.V)
	case e.Effect == nil && e.Record == nil:
		return errors.New("neither effect nor key")
	case e.name() != name:
		return fmt.Errorf("its content belongs to %s", e.name())
	case e.Effect != nil && (e.Seq < 1 || e.Effect.ID == "" || e.Effect.CreatedAt.IsZero() || !known(e.Effect.Kind, e.Effect.Action)):
		return errors.New("incomplete effect")
	case e.Record != nil && (e.Record.Key == "" || e.Record.Status == 0 || e.Record.At.IsZero()):
		return errors.New("incomplete key record")
	}
	return nil
}

// keep enters into memory what the folder holds.
func (l *ledger) keep(name string, e *entry) {
	l.entries[name] = e
	l.seq = max(l.seq, e.Seq)
	if r := e.Record; r != nil {
		hash := keyHash(r.Kind, r.Action, r.Key)
		if old := l.keys[hash]; old == nil || old.Generation < r.Generation {
			l.keys[hash] = r
		}
	}
}

// create adds an entry. False means that another process was first under the same name; the caller reads again.
// On return of true the entry is on disk.
func (l *ledger) create(e *entry) (bool, error) {
	name := e.name()
	if l.entries[name] != nil {
		return false, nil
	}
	if l.dir != "" {
		if err := writeExclusively(l.dir, name, encode(e)); errors.Is(err, fs.ErrExist) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("write ledger: %w", err)
		}
	}
	l.keep(name, e)
	return true, nil
}

// number allocates the next running number. With a folder an empty file claims it, so that no two processes make the same id;
// a number whose entry never came stays unused.
func (l *ledger) number() (int, error) {
	for {
		l.seq++
		if l.dir == "" {
			return l.seq, nil
		}
		claim := filepath.Join(l.dir, "ids", fmt.Sprintf("%06d", l.seq))
		f, err := os.OpenFile(claim, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("claim an id: %w", err)
		}
		return l.seq, f.Close()
	}
}

// effects lists what has happened by now, oldest first.
func (l *ledger) effects(now time.Time) []*entry {
	var list []*entry
	for _, e := range l.entries {
		if e.Effect != nil && !e.Effect.CreatedAt.After(now) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int {
		if c := a.Effect.CreatedAt.Compare(b.Effect.CreatedAt); c != 0 {
			return c
		}
		return a.Seq - b.Seq
	})
	return list
}

// writeExclusively makes a file that is either whole or absent. link(2) fails if the name exists, which rename(2) does not.
func writeExclusively(dir, name string, data []byte) error {
	temp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(temp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes the new name durable. Windows has no such call for folders.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
