package scenarios

import "testing"

// A story is read or refused with a place in it, whatever it holds; what was read has a title and can be asked for its arguments.
func FuzzParseFile(f *testing.F) {
	shipped, err := Shipped()
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range shipped {
		text, err := Source(file.Name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := ParseFile("story.yaml", text)
		if err == nil && file == nil {
			t.Fatal("neither a file nor an error")
		}
		if err != nil {
			return
		}
		file.Title()
		for _, step := range file.Steps {
			for _, s := range step.together() {
				if s.Call != "" {
					file.arguments(s)
				}
			}
		}
	})
}
