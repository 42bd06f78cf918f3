package scenarios

import (
	"embed"
	"fmt"
	"sort"
	"strings"
)

//go:embed *.yaml
var shipped embed.FS

// Shipped returns the stories in the binary, by name.
func Shipped() ([]*File, error) {
	entries, err := shipped.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var files []*File
	for _, e := range entries {
		data, err := shipped.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		f, err := parseFile(e.Name(), data, func(other string) (string, []byte, error) {
			text, err := shipped.ReadFile(other)
			return other, text, err
		})
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Name < files[j].Name })
	return files, nil
}

// Source is the text of a shipped story; name with or without its ending.
func Source(name string) ([]byte, error) {
	data, err := shipped.ReadFile(strings.TrimSuffix(name, ".yaml") + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no shipped story %q", name)
	}
	return data, nil
}
