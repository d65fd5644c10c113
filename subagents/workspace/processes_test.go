package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gitOnPath puts a script in the place of git, which can write down what is asked of it, and then do what git does by "$git" "$@".
func gitOnPath(t *testing.T, script string) (dir string) {
	t.Helper()
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	dir = t.TempDir()
	script = "#!/bin/sh\ncd '" + dir + "'\ngit='" + git + "'\n" + script
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return dir
}

// TestProcessesOfAPatch has four processes for an attempt: a look at the tree, the import of its pack, and in the reset that follows
// the writing of what it had changed and a comparison.
func TestProcessesOfAPatch(t *testing.T) {
	log := filepath.Join(gitOnPath(t, `printf '%s\n' "$(printf '%s ' "$@")" >> log; cd "$OLDPWD"; exec "$git" "$@"`), "log")
	b := newBundle(t, fileSet(100))
	s := b.slot(t)
	attempt := func(i int) {
		write(t, filepath.Join(s.Dir(), "pkg"+strconv.Itoa(i%10), "file"+strconv.Itoa(10*(i%10))+".txt"), "changed\n")
		write(t, filepath.Join(s.Dir(), "new", strconv.Itoa(i)), "new\n")
		p, pack, err := s.Collect(t.Context(), b.base, "m", author, noon)
		require.NoError(t, err)
		require.Len(t, p.Files, 2)
		require.NoError(t, b.mirror.Import(t.Context(), pack))
		require.NoError(t, s.Reset(t.Context(), b.base))
	}
	attempt(0) // it starts the processes that stay
	require.NoError(t, os.Remove(log))
	for i := range 20 {
		attempt(i + 1)
		require.NoError(t, s.Reset(t.Context(), b.base), "one process more, where nothing was collected")
	}
	ran := read(t, log)
	require.LessOrEqual(t, strings.Count(ran, "\n"), 20*(4+1)+4, ran)
}

// A git that is killed, before it does anything or when it has done all, costs no more than a slot that is made again.
func TestAKilledGit(t *testing.T) {
	if testing.Short() {
		t.Skip("a kill at each of many places")
	}
	dir := gitOnPath(t, `
echo >> count
if [ "$(wc -l < count)" -eq "$(cat victim)" ]; then
	case "$(cat when) $*" in
	before*|*cat-file*|*diff-tree*) ;;
	*) cd "$OLDPWD"; "$git" "$@" > /dev/null ;;
	esac
	kill -9 $$
fi
cd "$OLDPWD"; exec "$git" "$@"`)
	set := func(name, content string) { write(t, filepath.Join(dir, name), content) }
	set("victim", "0")
	b := newBundle(t, map[string]string{"a": "a\n", "b": "b\n", "d/e": "e\n", "f": "f\n"})
	first := b.slot(t)
	write(t, filepath.Join(first.Dir(), "f"), "landed\n")
	p, pack, err := first.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	own := filepath.Join(t.TempDir(), "own")
	for _, when := range []string{"before", "after"} {
		for k, killed := 1, true; killed; k++ {
			s := b.slot(t)
			set("when", when)
			set("count", "")
			set("victim", strconv.Itoa(k))
			for i, odd := range []string{"", "ü"} {
				write(t, filepath.Join(s.Dir(), "a"), strings.Repeat("A", i+1))
				write(t, filepath.Join(s.Dir(), "new", "x"+odd), "x\n")
				_ = os.Remove(filepath.Join(s.Dir(), "b")) // it may be gone
				_, _, _ = s.Collect(t.Context(), b.base, "m", author, noon)
				_ = s.Reset(t.Context(), p.Commit)
			}
			killed = strings.Count(read(t, filepath.Join(dir, "count")), "\n") >= k
			set("victim", "0")
			for _, to := range []string{b.base, p.Commit} {
				require.NoError(t, s.Reset(t.Context(), to))
				tree, err := b.mirror.Tree(t.Context(), to)
				require.NoError(t, err)
				require.Equal(t, tree, b.byAdd(t, own, s.Dir(), to), "%s %d", when, k)
				require.Equal(t, []string{"a", "b", "d/e", "f"}, onDisk(t, s.Dir()))
				write(t, filepath.Join(s.Dir(), "d/e"), "again\n")
				again, _, err := s.Collect(t.Context(), to, "m", author, noon)
				require.NoError(t, err)
				require.Equal(t, []string{"d/e"}, again.Files)
			}
		}
	}
}
