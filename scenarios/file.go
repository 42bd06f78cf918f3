package scenarios

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"notwice/canonical"
	"notwice/canonical/strictyaml"
	"notwice/fakeprovider"
	"notwice/scenarios/demo"
)

// File is one story (FORMATS §4).
type File struct {
	Name     string                      `yaml:"-"`
	Story    string                      `yaml:"story"`
	Provider ProviderFacts               `yaml:"provider"`
	Tools    map[string]*strictyaml.Node `yaml:"tools"`
	Calls    map[string]CallFacts        `yaml:"calls"`
	Steps    []Step                      `yaml:"steps"`
	Always   *Expect                     `yaml:"always"`
	Explore  *strictyaml.Node            `yaml:"explore"`
	Clock    string                      `yaml:"clock"`
}

// ProviderFacts is how the fake provider behaves.
type ProviderFacts struct {
	At          string              `yaml:"at"` // base URL of a fake provider in another process; empty: one is started for the story
	Key         string              `yaml:"key"`
	ForgetAfter strictyaml.Duration `yaml:"forget_after"`
	Dialect     string              `yaml:"dialect"`
	Search      struct {
		Lag  strictyaml.Duration `yaml:"lag"`
		Page int                 `yaml:"page"`
	} `yaml:"search"`
}

// CallFacts is one named call.
type CallFacts struct {
	Tool string           `yaml:"tool"`
	Args *strictyaml.Node `yaml:"args"`
}

// ParseFile reads a story. A file that it names is looked for beside it. Errors name file, line and column.
func ParseFile(name string, data []byte) (*File, error) {
	return parseFile(name, data, func(other string) (string, []byte, error) {
		if !filepath.IsAbs(other) {
			other = filepath.Join(filepath.Dir(name), other)
		}
		text, err := os.ReadFile(other)
		return other, text, err
	})
}

// parseFile reads a story and, with read, the files that it names.
func parseFile(name string, data []byte, read func(name string) (file string, data []byte, err error)) (*File, error) {
	n, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name}
	if err := strictyaml.Decode(n, f); err != nil {
		return nil, err
	}
	err = f.eachStep(func(s *Step, _ bool) error {
		if s.Model == nil {
			return nil
		}
		return s.Model.load(read)
	})
	if err != nil {
		return nil, err
	}
	return f, f.check(n)
}

// eachStep visits every step, the steps inside parallel after the one that holds them.
func (f *File) eachStep(visit func(s *Step, last bool) error) error {
	for i := range f.Steps {
		if err := visit(&f.Steps[i], i == len(f.Steps)-1); err != nil {
			return err
		}
		for j := range f.Steps[i].Parallel {
			if err := visit(&f.Steps[i].Parallel[j], false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *File) check(n *strictyaml.Node) error {
	switch {
	case strings.TrimSpace(f.Story) == "":
		return n.Errorf("story is missing: one sentence or more on what happens")
	case len(f.Steps) == 0:
		return n.Errorf("the story has no steps")
	case f.Explore != nil && !slices.Contains([]any{"final", "review", "either"}, endOf(f.Explore)):
		return f.Explore.Errorf("explore is {end: final}, {end: review} or {end: either}")
	}
	for name, call := range f.Calls {
		at := n.Get("calls").Get(name)
		if !slices.Contains(demo.Names(), call.Tool) {
			return at.Errorf("call %s: there is no tool %q", name, call.Tool)
		}
		if call.Args != nil && call.Args.Kind != strictyaml.Map {
			return call.Args.Errorf("args is a map")
		}
	}
	for _, check := range []func() error{func() error { return f.checkProvider(n) }, func() error { return CheckTools(f.Tools) }, f.checkSteps} {
		if err := check(); err != nil {
			return err
		}
	}
	return f.checkUse(n)
}

// checkProvider tries the provider's keys on a fake that nobody will call.
func (f *File) checkProvider(n *strictyaml.Node) error {
	at := n.Get("provider")
	if clock := n.Get("clock"); clock != nil && (f.Clock != "real" || f.Provider.At == "") {
		return clock.Errorf("clock takes real, beside a provider that is at a URL; any other time is virtual")
	}
	if at == nil {
		return nil
	}
	if where := at.Get("at"); where != nil {
		u, err := url.Parse(f.Provider.At)
		if err != nil || u.Scheme != "http" || u.Host == "" || u.Path != "" && u.Path != "/" {
			return where.Errorf("a URL such as http://127.0.0.1:18080 is needed")
		}
		if len(at.Keys) > 1 {
			return at.Errorf("a provider at a URL is set up where it runs: notwice fake --help")
		}
	}
	if search := at.Get("search"); search != nil && search.Get("page") != nil && f.Provider.Search.Page < 1 {
		return search.Get("page").Errorf("page is the number of objects on a page, at least 1")
	}
	_, err := fakeprovider.NewCore(f.Provider.options())
	return placed(at, err)
}

func (p ProviderFacts) options() fakeprovider.Options {
	return fakeprovider.Options{
		Key: p.Key, ForgetAfter: seconds(p.ForgetAfter), Dialect: p.Dialect, SearchLag: seconds(p.Search.Lag), SearchPage: p.Search.Page,
	}
}

func endOf(n *strictyaml.Node) any {
	if n == nil {
		return nil
	}
	if end := n.Get("end"); end != nil && len(n.Keys) == 1 {
		return end.Value
	}
	return nil
}

// checkSteps refuses a step that can never be right: an unknown name, arguments that cannot be made, a crash behind the end.
func (f *File) checkSteps() error {
	return f.eachStep(func(s *Step, last bool) error {
		for _, name := range []string{s.Call, s.Reconcile, s.Rule} {
			if _, known := f.Calls[name]; name != "" && name != "due" && !known {
				return s.Node.Errorf("there is no call %q under calls:", name)
			}
		}
		switch {
		case s.Call != "" || s.Rule != "" && s.Change != nil:
			_, err := f.arguments(*s)
			return err
		case s.Crash != nil && !s.Crash.Now && last:
			return s.Node.Errorf("the crash strikes in the next step, and there is none")
		case s.Model != nil && !s.Resume && s.Model.User == "":
			return s.Node.Get("model").Errorf("user is missing: what the person says")
		case scripts(s.Parallel) > 1:
			return s.Node.Errorf("one script plays at a time; one step of parallel may bring answers")
		case s.Parallel != nil && s.Expect != nil && s.Expect.ofAnswer(false):
			return s.Node.Get("expect").Errorf("parallel has several answers; expect of one stands in its own step, words, says and counts stand here")
		}
		return nil
	})
}

// scripts counts the steps that bring a script of their own.
func scripts(steps []Step) (n int) {
	for _, s := range steps {
		if s.Model != nil && s.Model.Script != nil {
			n++
		}
	}
	return n
}

// checkUse refuses a call never made and a story that expects nothing.
func (f *File) checkUse(n *strictyaml.Node) error {
	used, expects := map[string]bool{}, f.Always != nil
	f.eachStep(func(s *Step, _ bool) error {
		expects = expects || s.Expect != nil
		used[s.Call], used[s.Reconcile], used[s.Rule] = true, true, true
		return nil
	})
	if calls := n.Get("calls"); calls != nil {
		for i, name := range calls.Keys {
			if !used[name] {
				return calls.Values[i].Errorf("the call %q is never made", name)
			}
		}
	}
	if !expects {
		return n.Errorf("the story expects nothing, so it cannot fail")
	}
	return nil
}

// arguments are the text of a step's call.
func (f *File) arguments(s Step) ([]byte, error) {
	if s.Raw != nil {
		return []byte(*s.Raw), nil
	}
	args := map[string]any{}
	if declared := f.Calls[s.Call+s.Rule].Args; declared != nil { // a step has one verb
		args = declared.Any().(map[string]any)
	}
	if s.Change != nil {
		changes, ok := s.Change.Any().(map[string]any)
		if !ok {
			return nil, s.Change.Errorf("change is a map of arguments")
		}
		for name, v := range changes {
			args[name] = v
		}
	}
	for _, name := range s.Omit {
		if _, given := args[name]; !given {
			return nil, s.Node.Errorf("omit: the call has no argument %q", name)
		}
		delete(args, name)
	}
	return canonical.Plain(args)
}

// Title is the first sentence of the story.
func (f *File) Title() string {
	text := strings.Join(strings.Fields(f.Story), " ")
	if first, _, ok := strings.Cut(text, ". "); ok {
		return first + "."
	}
	return text
}

func seconds(d strictyaml.Duration) time.Duration { return time.Duration(d) }
