package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestIntersect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b []string
		want bool
	}{
		{[]string{"a.go"}, []string{"a.go"}, true},
		{[]string{"a.go"}, []string{"b.go"}, false},
		{[]string{"dir"}, []string{"dir/a.go"}, true},
		{[]string{"dir/a.go"}, []string{"dir"}, true},
		{[]string{"dir"}, []string{"directory/a.go"}, false},
		{[]string{"dir/**"}, []string{"dir/x/y.go"}, true},
		{[]string{"dir/x/y.go"}, []string{"dir/**"}, true},
		{[]string{"dir/*.go"}, []string{"dir/x/y.go"}, false},
		{[]string{"a"}, []string{"**/*.go"}, true},
		{[]string{"a/**"}, []string{"b/**"}, false},
		{[]string{"a/**"}, []string{"a/b/*.go"}, true},
		{[]string{"**/*.go"}, []string{"z/*.go"}, true},
		{[]string{"a/b"}, []string{"a/b/*.go"}, true},
		{[]string{"./a.go"}, []string{"a.go"}, true},
	} {
		_, got := Intersect(tc.a, tc.b)
		require.Equal(t, tc.want, got, "%v and %v", tc.a, tc.b)
	}
}

// If any path is allowed by both write sets, they intersect: saying no wrongly would let two tasks edit one file.
func TestIntersectNeverMissesACommonPath(t *testing.T) {
	t.Parallel()
	entry := rapid.SampledFrom([]string{"a", "a/b", "a/b/c.go", "a/*", "a/**", "**/*.go", "b/c.go", "*.go", "m.go", "a/{b,c}/*", "b/?.go"})
	path := rapid.SampledFrom([]string{"a/b/c.go", "a/x.go", "b/c.go", "m.go", "a/c/d.go", "a/b/d/e.go"})
	rapid.Check(t, func(rt *rapid.T) {
		x, y := rapid.SliceOfN(entry, 1, 3).Draw(rt, "x"), rapid.SliceOfN(entry, 1, 3).Draw(rt, "y")
		p := path.Draw(rt, "path")
		if MatchAny(x, p) && MatchAny(y, p) {
			_, got := Intersect(x, y)
			require.True(rt, got, "%v and %v share %s", x, y, p)
		}
	})
}
