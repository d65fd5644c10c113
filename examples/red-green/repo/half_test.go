package half

import "testing"

func TestHalfOfNothing(t *testing.T) {
	if Half(0) != 0 {
		t.Fatal("half of nothing is something")
	}
}
