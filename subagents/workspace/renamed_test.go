package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/workspace"
)

// ignoring has tracked files in ignored places.
func ignoring(t *testing.T) *bundle {
	t.Helper()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	for name, content := range map[string]string{
		"gen/old.txt": "old\n" + strings.Repeat("line\n", 20), "gen/sub/b.txt": "b\n" + strings.Repeat("other\n", 20), "gen/c.txt": "c\n",
		"src/x.gen.go": "package x\n" + strings.Repeat("// x\n", 20), ".gitignore": "gen/\n*.gen.go\ncache/\n",
	} {
		write(t, filepath.Join(b.user, name), content)
	}
	userGit(t, b.user, "add", "-A", "-f")
	userGit(t, b.user, "commit", "-q", "-m", "second")
	return mirrorOf(t, b.user)
}

func move(t *testing.T, dir, from, to string) {
	t.Helper()
	to = filepath.Join(dir, to)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.Rename(filepath.Join(dir, from), to))
}

func TestRenamesInIgnoredPlaces(t *testing.T) {
	t.Parallel()
	b := ignoring(t)
	for name, c := range map[string]struct {
		do          func(dir string)
		files, lost []string
	}{
		"renamed": {func(dir string) { move(t, dir, "gen/old.txt", "gen/new.txt") }, []string{"gen/new.txt", "gen/old.txt"}, nil},
		"changed too": {func(dir string) {
			move(t, dir, "gen/old.txt", "gen/deep/new.txt")
			write(t, filepath.Join(dir, "gen/deep/new.txt"), "new\n"+strings.Repeat("line\n", 20))
		}, []string{"gen/deep/new.txt", "gen/old.txt"}, nil},
		"a directory": {func(dir string) { move(t, dir, "gen/sub", "gen/other") }, []string{"gen/other/b.txt", "gen/sub/b.txt"}, nil},
		"by a pattern": {
			func(dir string) { move(t, dir, "src/x.gen.go", "src/y.gen.go") }, []string{"src/x.gen.go", "src/y.gen.go"}, nil,
		},
		"out of it": {func(dir string) { move(t, dir, "gen/old.txt", "new.txt") }, []string{"gen/old.txt", "new.txt"}, nil},
		"removed": {
			func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "gen"))) },
			[]string{"gen/c.txt", "gen/old.txt", "gen/sub/b.txt"},
			[]string{"gen/c.txt", "gen/old.txt", "gen/sub/b.txt"},
		},
		"removed beside others": {func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "gen/old.txt")))
			write(t, filepath.Join(dir, "gen/log.txt"), "unlike\n")
		}, []string{"gen/old.txt"}, []string{"gen/old.txt"}},
		"a copy elsewhere": {func(dir string) { move(t, dir, "gen/old.txt", "cache/old.txt") }, []string{"gen/old.txt"}, []string{"gen/old.txt"}},
		"two": {func(dir string) {
			move(t, dir, "gen/old.txt", "gen/1.txt")
			move(t, dir, "gen/sub/b.txt", "gen/2.txt")
		}, []string{"gen/1.txt", "gen/2.txt", "gen/old.txt", "gen/sub/b.txt"}, nil},
		"elsewhere": {func(dir string) { move(t, dir, "a.txt", "b.txt") }, []string{"a.txt", "b.txt"}, nil},
		"no more ignored": {func(dir string) {
			write(t, filepath.Join(dir, ".gitignore"), "cache/\n")
			require.NoError(t, os.Remove(filepath.Join(dir, "gen/old.txt")))
		}, []string{".gitignore", "gen/old.txt"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := b.slot(t)
			c.do(s.Dir())
			tree, err := s.Tree(t.Context()) // an earlier look changes nothing
			require.NoError(t, err)
			p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
			require.NoError(t, err)
			require.Equal(t, tree, p.Tree)
			require.Equal(t, c.files, p.Files)
			require.Equal(t, c.lost, p.Lost)
			require.NoError(t, s.Reset(t.Context(), b.base))
			requireSameFiles(t, b.user, s.Dir())
			c.do(s.Dir())
			all := workspace.Part{Owns: func(string) bool { return true }, At: noon}
			patches, _, err := s.CollectParts(t.Context(), b.base, author, []workspace.Part{all})
			if slices.Contains(c.files, ".gitignore") {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.files, patches[0].Files)
			require.Equal(t, c.lost, patches[0].Lost)
		})
	}
}

// The places of very many removed files are more than one command line holds.
func TestRemovalsFromManyIgnoredPlaces(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	write(t, filepath.Join(b.user, ".gitignore"), "*.gen\n")
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 9)
	const many = 1300
	for i := range many {
		write(t, filepath.Join(b.user, deep, strconv.Itoa(i), "x.gen"), "x\n")
	}
	userGit(t, b.user, "add", "-A", "-f")
	userGit(t, b.user, "commit", "-q", "-m", "second")
	b = mirrorOf(t, b.user)
	s := b.slot(t)
	move(t, s.Dir(), deep+"0/x.gen", deep+"0/y.gen")
	for i := 1; i < many; i++ {
		require.NoError(t, os.Remove(filepath.Join(s.Dir(), deep, strconv.Itoa(i), "x.gen")))
	}
	p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Len(t, p.Files, many+1)
	require.Len(t, p.Lost, many-1)
}
