package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListed(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("tools/m/main.go", "x")
	u.write(".gitignore", "*.log\n")
	require.NoError(t, os.Symlink("tools/m", filepath.Join(u.dir, "link")))
	u.git("add", "-A")
	u.commit("a program")
	u.write("tools/m/helper.go", "x")
	u.write("tools/m/x.log", "x")
	u.write("tools/[m]/other.go", "x")
	u.write("tools/m/staged.go", "x")
	u.git("add", "tools/m/staged.go")
	u.git("config", "core.fsmonitor", filepath.Join(u.dir, "evil"))
	before := snapshot(t, u.dir)
	g, c := newGit(t), inspect(t, u.dir)
	for path, want := range map[string][2][]string{
		"tools/m":           {{"tools/m/main.go", "tools/m/staged.go"}, {"tools/m/helper.go"}},
		"tools/m/main.go":   {{"tools/m/main.go"}, nil},
		"tools/m/helper.go": {nil, {"tools/m/helper.go"}},
		"tools/m/x.log":     {},
		"tools/[m]":         {nil, {"tools/[m]/other.go"}},
		"link":              {{"link"}, nil},
		"link/main.go":      {},
		"link/helper.go":    {},
	} {
		tracked, untracked, err := g.Listed(t.Context(), c, path)
		require.NoError(t, err)
		require.Equal(t, want, [2][]string{tracked, untracked}, path)
	}
	require.Empty(t, difference(before, snapshot(t, u.dir)), "nothing of the user's is written")
}
