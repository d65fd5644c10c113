package order

import "testing"

func TestNew(t *testing.T) {
	if o := New("a"); o.ID != "a" || o.Placed.IsZero() {
		t.Fatalf("got %+v", o)
	}
}
