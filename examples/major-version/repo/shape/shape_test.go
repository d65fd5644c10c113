package shape

import (
	"strings"
	"testing"
)

func TestSquare(t *testing.T) {
	if got := strings.Join(Square(2, "red"), ", "); got != "line 2, line 2, line 2, line 2, fill red" {
		t.Fatal(got)
	}
}
