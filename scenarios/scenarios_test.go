package scenarios

import "testing"

func TestShipped(t *testing.T) {
	files, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r, err := Run(f)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Passed {
				t.Error(r)
			}
		})
	}
}
