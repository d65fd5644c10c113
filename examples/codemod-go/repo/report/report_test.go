package report

import (
	"strings"
	"testing"
)

func TestTitle(t *testing.T) {
	if got := Title(); !strings.HasPrefix(got, "Sold until ") {
		t.Fatalf("got %s", got)
	}
}
