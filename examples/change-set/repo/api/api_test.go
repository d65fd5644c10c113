package api

import (
	"fmt"
	"testing"

	"example.com/shop/store"
)

func TestShow(t *testing.T) {
	if got, want := Show("tea"), fmt.Sprintf("tea: %d", store.Load("tea")); got != want {
		t.Fatalf("got %s, not %s", got, want)
	}
}
