package invoice

import (
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	if n := Number(7); !strings.HasSuffix(n, "-0007") {
		t.Fatalf("got %s", n)
	}
}
