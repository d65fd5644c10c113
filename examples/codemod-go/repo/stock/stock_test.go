package stock

import "testing"

func TestCount(t *testing.T) {
	if c := Count(3); c.Many != 3 || c.At.IsZero() {
		t.Fatalf("got %+v", c)
	}
}
