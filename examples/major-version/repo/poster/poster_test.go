package poster

import (
	"strings"
	"testing"
)

func TestPoster(t *testing.T) {
	got := Poster("white", "red")
	if !strings.HasPrefix(got, "fill white; line 3; ") || !strings.HasSuffix(got, "; fill red") {
		t.Fatal(got)
	}
}
