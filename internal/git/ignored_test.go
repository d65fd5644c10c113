package git

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIgnored(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write(".gitignore", "*.log\nnode_modules\n.venv/\n/dist\n")
	u.write("dist/kept.txt", "tracked")
	u.git("add", "-f", "dist/kept.txt")
	u.commit("lists")
	for _, name := range []string{
		"node_modules/a/index.js", "node_modules/.bin/a", "packages/x/node_modules/b/i.js", ".venv/bin/python", "dist/made.js",
		"x.log", "mine.tmp", "with \"quotes\" and \n.log", "untracked.txt",
	} {
		u.write(name, name)
	}
	u.write(".git/info/exclude", "*.tmp\n")
	u.git("config", "core.fsmonitor", filepath.Join(u.dir, "evil"))
	before := snapshot(t, u.dir)
	g := newGit(t)
	paths, err := g.Ignored(t.Context(), inspect(t, u.dir))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"node_modules/", "packages/x/node_modules/", ".venv/", "dist/made.js", "x.log", "mine.tmp", "with \"quotes\" and \n.log",
	}, paths)
	require.Empty(t, difference(before, snapshot(t, u.dir)), "nothing of the user's is written")
}
