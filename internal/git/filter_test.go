package git

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	for name, content := range map[string]string{
		".gitattributes":         "[attr]kept filter=lfs -text\n*.dat kept\nsecret/** filter=git-crypt\n*.off -filter\n*.on filter\n",
		"sub/.gitattributes":     "no.dat !filter\n*.x filter=own\n",
		"sub/dir/.gitattributes": "*.y filter=deep\n",
	} {
		u.write(name, content)
	}
	u.commit("attributes")
	c := inspect(t, u.dir)
	m, err := newGit(t).CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m.git"), c, c.Head)
	require.NoError(t, err)
	filters, err := m.Filters(t.Context(), c.Head, []string{
		"new.dat", "sub/new.dat", "sub/no.dat", "sub/a.x", "a.x", "sub/dir/a.y", "sub/dir/deeper/a.y", "secret/a/b", "a.off", "a.on", "line\nbreak.dat",
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"new.dat": "lfs", "sub/new.dat": "lfs", "sub/a.x": "own", "sub/dir/a.y": "deep", "sub/dir/deeper/a.y": "deep",
		"secret/a/b": "git-crypt", "line\nbreak.dat": "lfs",
	}, filters)
	none, err := m.Filters(t.Context(), c.Head, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
