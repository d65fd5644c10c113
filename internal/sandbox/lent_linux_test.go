package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/gocache"
)

// Gates on the base commit borrow what the user has compiled, and later gates find it in the cache of the gates. No other command
// reaches the lender, and none sees the user's cache.
func TestGatesOnTheBaseCommitBorrow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		tool, err := AskGo(t.Context(), os.Environ())
		require.NoError(t, err)
		tree := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module tiny\n\ngo 1.26\n", "a.go": "package tiny\n\nconst A = 1\n"} {
			require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600))
		}
		user := Caches{Dir: t.TempDir(), Go: tool}
		lent := filepath.Join(user.Dir, string(Gates), "go-build")
		build := func(caches Caches, who Audience, want string) {
			where := Place{Tree: tree, Home: t.TempDir(), Temp: t.TempDir()}
			cache, err := caches.at(p.level, who, where, t.TempDir())
			require.NoError(t, err)
			where.Downloads = cache.Downloads
			seen := where.shown(p.level)
			env, err := Env(Settings{Base: os.Environ(), Path: cache.Path, Home: seen.Home, Temp: seen.Temp, Vars: cache.Env})
			require.NoError(t, err)
			out := p.run(t, Command{
				Args: []string{"sh", "-c", "go build -x ./... 2>&1 | grep -c /compile; ls /divisi; ls " + lent}, Dir: tree, Place: where,
				Env: env, Writable: cache.Writable, Readable: cache.Readable,
			})
			require.Contains(t, out.Text(), want+"\n", who)
			require.Equal(t, caches.Dir != user.Dir, strings.Contains(out.Text(), "cannot access"), who)
			require.Equal(t, who == Base || who == Setup, strings.Contains(out.Text(), "go-cache"), who)
		}
		build(user, Gates, "1")
		lender, err := gocache.Lend(t.Context(), lent, t.TempDir())
		require.NoError(t, err)
		for _, who := range []Audience{Base, Setup} {
			caches := Caches{Dir: t.TempDir(), Go: tool, Lender: lender.Socket}
			build(caches, who, "0")
			build(caches, Gates, "0") // the copies are the gates' own
			build(caches, Agents, "1")
		}
		require.NoError(t, lender.Close())
		require.Positive(t, lender.Lent)
	}, full, sharedUser)
}

// A private view shows modules where the user has them, because Go's build cache has their paths in its keys.
func TestModulesAreSeenAtTheUsersPlace(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		if !p.level.views() {
			t.Skip("this machine has no views")
		}
		lent := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(lent, "theirs"), nil, 0o600))
		caches := Caches{Dir: t.TempDir(), Go: Toolchain{Root: "/nonexistent/go", ModCache: lent}}
		for _, who := range []Audience{Base, Gates, Agents} {
			where := Place{Tree: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir()}
			cache, err := caches.at(p.level, who, where, t.TempDir())
			require.NoError(t, err)
			require.Equal(t, lent, cache.Env["GOMODCACHE"])
			where.Downloads = cache.Downloads
			require.NoError(t, os.WriteFile(filepath.Join(caches.Dir, "modules", "ours"), nil, 0o600))
			out := p.run(t, Command{
				Args: []string{"sh", "-c", "cd " + lent + " && touch new && ls"}, Dir: where.Tree, Place: where, Env: p.env, Writable: cache.Writable,
			})
			require.True(t, out.Success(), out.Text())
			require.Equal(t, "new\nours\ntheirs\n", out.Text())
		}
		require.NoFileExists(t, filepath.Join(lent, "new"))
	}, full, sharedUser)
}
