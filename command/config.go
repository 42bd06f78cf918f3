package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"notwice/canonical/strictyaml"
	"notwice/policy"
	"notwice/scenarios"
	"notwice/scenarios/demo"
	"notwice/toolbox"
)

// config is what a configuration file says (FORMATS §2). Under tools: stand knobs that are laid over the built-in tools.
type config struct {
	Version *int64 `yaml:"version"`
	Model   struct {
		BaseURL string `yaml:"base_url"`
		Name    string `yaml:"name"`
	} `yaml:"model"`
	Notify []string                    `yaml:"notify"`
	Tools  map[string]*strictyaml.Node `yaml:"tools"`
	Policy policy.Overrides            `yaml:"tool_policy"`
}

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Usage: "configuration `FILE` (default: NOTWICE_CONFIG, else notwice/notwice.yaml in the user's config folder)"}
}

// readConfig reads the file that the flag or the environment names, or the user's own where there is one.
func readConfig(c *cli.Context) (config, error) {
	file, named := c.String("config"), true
	if file == "" {
		file = os.Getenv("NOTWICE_CONFIG")
	}
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil && os.Getenv("XDG_CONFIG_HOME") == "" { // no home, so no file of the user's
			return config{}, nil
		}
		if err != nil {
			return config{}, usagef("configuration: %v", err)
		}
		file, named = filepath.Join(dir, "notwice", "notwice.yaml"), false
	}
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		return config{}, usagef("configuration: %s is not a file", file)
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return config{}, nil
	case err != nil:
		return config{}, usagef("configuration: %v", err)
	}
	return parseConfig(file, data)
}

func parseConfig(file string, data []byte) (cfg config, err error) {
	n, err := strictyaml.Parse(file, data)
	if err != nil {
		return cfg, err
	}
	for _, key := range []string{"secrets", "accounts", "servers", "profiles"} {
		if at := n.Get(key); at != nil {
			return cfg, at.Errorf("%s belongs to own tools, which this version takes from Go programs only", key)
		}
	}
	if err := strictyaml.Decode(n, &cfg); err != nil {
		return cfg, err
	}
	if cfg.Version != nil && *cfg.Version != 1 {
		return cfg, n.Get("version").Errorf("version %d is not known; this Notwice reads version 1", *cfg.Version)
	}
	if at := n.Get("notify"); at != nil && (len(cfg.Notify) == 0 || cfg.Notify[0] == "") {
		return cfg, at.Errorf("notify is a list: a program and its arguments")
	}
	if err := scenarios.CheckTools(cfg.Tools); err != nil {
		return cfg, err
	}
	for name, o := range cfg.Policy {
		if !slices.Contains(demo.Names(), name) {
			return cfg, o.At.Errorf("there is no tool %q", name)
		}
	}
	return cfg, nil
}

// lay is how the file changes a built-in tool: its knobs, then tool_policy, which wins.
func (cfg config) lay(name string) func(toolbox.Facts) (toolbox.Facts, error) {
	return func(facts toolbox.Facts) (toolbox.Facts, error) {
		if knobs := scenarios.Lay(cfg.Tools[name]); knobs != nil {
			var err error
			if facts, err = knobs(facts); err != nil {
				return facts, err
			}
		}
		if o, ok := cfg.Policy[name]; ok {
			facts = facts.Override(o)
		}
		return facts, nil
	}
}
