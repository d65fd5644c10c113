package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"depend_on": "depends_on", "dependson": "depends_on", "depends-on": "depends_on", "BRIEF": "brief", "breef": "brief",
		"attempt": "attempts", "xyz": "", "": "", "lim": "limits", "b": "", strings.Repeat("brief", 50): "",
	} {
		require.Equal(t, want, Nearest(name, []string{"depends_on", "brief", "attempts", "limits"}), name)
	}
	require.Equal(t, []string{"read_a", "read_b"}, NearestAll("read_c", []string{"write", "read_b", "read_a"}, 3))
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0, editDistance("", ""))
	require.Equal(t, 3, editDistance("", "abc"))
	require.Equal(t, 1, editDistance("ab", "ba"), "neighbours that are swapped count once")
	require.Equal(t, 3, editDistance("kitten", "sitting"))
}

func FuzzNearest(f *testing.F) {
	f.Add("role", "rolle")
	f.Fuzz(func(t *testing.T, a, b string) {
		require.Contains(t, []string{"", b}, Nearest(a, []string{b}))
		require.Equal(t, editDistance(a, b), editDistance(b, a))
	})
}
