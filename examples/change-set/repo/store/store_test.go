package store

import "testing"

func TestLoad(t *testing.T) {
	if got := Load("tea"); got != 300 {
		t.Fatalf("got %d", got)
	}
}
