package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rooms says what each room may import of ours. A room that is not named here may not exist.
var rooms = map[string][]string{
	".":                    {"command"},
	"canonical":            {},
	"canonical/strictyaml": {"canonical"},
	"journal":              {"canonical"},
	"journal/boltjournal":  {"canonical", "journal"},
	"journal/memjournal":   {"canonical", "journal"},
	"journal/journaltest":  {"canonical", "journal"},
	"policy":               {"canonical", "canonical/strictyaml", "journal"},
	"toolbox":              {"canonical", "canonical/strictyaml", "journal", "policy"},
	"toolbox/httptool":     {"canonical", "canonical/strictyaml", "journal", "toolbox"},
	"agent":                {"toolbox"},
	"fakeprovider":         {},
	"docs":                 {},
	"scenarios":            {"*"},
	"scenarios/demo":       {"canonical/strictyaml", "policy", "toolbox", "toolbox/httptool"},
	"command":              {"*"},
}

// doors says which room is the one door to an outside library.
var doors = map[string][]string{
	"github.com/go-json-experiment/json":    {"canonical"},
	"golang.org/x/text":                     {"canonical"},
	"github.com/goccy/go-yaml":              {"canonical/strictyaml"},
	"go.etcd.io/bbolt":                      {"journal/boltjournal"},
	"github.com/gofrs/flock":                {"journal/boltjournal"},
	"github.com/invopop/jsonschema":         {"toolbox"},
	"github.com/santhosh-tekuri/jsonschema": {"toolbox"},
	"golang.org/x/sys":                      {"toolbox"},
	"github.com/expr-lang/expr":             {"toolbox"},
	"github.com/sashabaranov/go-openai":     {"agent"},
	"github.com/urfave/cli":                 {"command"},
	"golang.org/x/term":                     {"command"},
	"net/http":                              {"toolbox/httptool", "agent", "fakeprovider", "scenarios", "scenarios/demo", "command"},
	"encoding/json":                         {"fakeprovider", "agent", "command"},
}

func TestImportTable(t *testing.T) {
	eachFile(t, func(room, file string, imports []string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s: the room %s is not in the table", file, room)
		}
		for _, imported := range imports {
			ours, is := strings.CutPrefix(imported, "notwice/")
			if is && !slices.Contains(allowed, ours) && !(slices.Contains(allowed, "*") && ours != "command") {
				t.Errorf("%s: %s may not import %s", file, room, ours)
			}
			checkDoor(t, room, file, imported)
		}
	})
}

func checkDoor(t *testing.T, room, file, imported string) {
	if strings.HasPrefix(imported, "notwice/") {
		return
	}
	for library, rooms := range doors {
		if imported == library || strings.HasPrefix(imported, library+"/") {
			if !slices.Contains(rooms, room) {
				t.Errorf("%s: the door to %s is %s", file, library, strings.Join(rooms, ", "))
			}
			return
		}
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		t.Errorf("%s: the library %s has no door", file, imported)
	}
	pure := []string{"canonical", "canonical/strictyaml", "journal", "policy"}
	if slices.Contains(pure, room) && (imported == "net" || strings.HasPrefix(imported, "net/") || imported == "os" || imported == "crypto/rand" || strings.HasPrefix(imported, "math/rand")) {
		t.Errorf("%s: %s knows no network, no machine and no randomness, so not %s", file, room, imported)
	}
}

// canonical, journal and policy know no clock, and nobody but a clock waits.
func TestNoClockBelow(t *testing.T) {
	banned := regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|NewTimer|NewTicker|Tick|AfterFunc)\(`)
	free := map[string]bool{"toolbox/clock.go": true, "toolbox/uptime_darwin.go": true, "toolbox/uptime_other.go": true}
	eachFile(t, func(room, file string, _ []string) {
		bound := []string{"canonical", "canonical/strictyaml", "journal", "policy", "toolbox", "toolbox/httptool", "agent"}
		if strings.HasSuffix(file, "_test.go") || free[file] || !slices.Contains(bound, room) {
			return
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := banned.Find(text); found != nil {
			t.Errorf("%s uses %s", file, found)
		}
	})
}

func eachFile(t *testing.T, do func(room, file string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bench") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range f.Imports {
			imports = append(imports, strings.Trim(i.Path.Value, `"`))
		}
		file := filepath.ToSlash(name)
		do(path.Dir(file), file, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inForce are the reported cases that this version answers for; each is a test or a story whose name holds its number.
var inForce = []int{
	1, 2, 3, 5, 6, 8, // asked for again above the tool
	9, 11, 12, 14, 15, 16, 17, 18, 20, 22, // crash, resume, replay
	23, 25, 27, 29, 31, 32, 33, // calls of a model's turn
	34, 36, 38, 39, 40, 42, 43, 45, // arguments of a model's turn
	159, 161, 163, // a person's review
	164, 166, // wishes that are not repeats
	46, 47, 50, 51, 54, 55, 56, 58, 60, // one meaning, other bytes
	62, 65, 66, 67, // money
	69, 71, 72, 73, 75, 77, 79, 80, 81, 84, // the life of a key
	85, 88, 90, 92, 94, 95, // reading an answer
	96, 98, 100, 101, 103, 104, // looking up
	106, 109, 112, 114, 115, // the HTTP layer
	142, 144, 145, 147, 148, 149, // the journal file
	151, 152, 154, 156, 158, // leases and clocks
}

func TestReportedCasesAreNamed(t *testing.T) {
	named := map[int]string{}
	number := regexp.MustCompile(`(?i)case[-_ ]?0*([0-9]{1,3})`)
	note := func(text, where string) {
		for _, m := range number.FindAllStringSubmatch(text, -1) {
			var n int
			fmt.Sscan(m[1], &n)
			named[n] = where
		}
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(name, ".yaml") {
			note(filepath.Base(name), name)
		}
		if strings.HasSuffix(name, "_test.go") && name != "house_test.go" {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "func Test") || strings.Contains(line, "case-") {
					note(line, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range inForce {
		if named[n] == "" {
			t.Errorf("no test and no story is named for case %d", n)
		}
	}
	t.Logf("%d cases are named", len(named))
}
