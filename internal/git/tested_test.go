package git

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A tree is tested on commits as they land, by tree and subject: what else the run's own have is no part of their ids. The tree of
// the base is tested on the base.
func TestATreeIsTestedOnCommitsAsTheyLand(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	day := time.Date(2026, 5, 6, 7, 8, 9, 0, time.FixedZone("east", 2*60*60))
	at := func(commit string, day time.Time) string {
		id, err := b.m.Tested(t.Context(), commit, day)
		require.NoError(t, err)
		return id
	}
	chain := func(run string, when time.Time, subjects ...string) string {
		head := b.base
		for i, subject := range subjects {
			tree, err := b.m.Tree(t.Context(), b.change(head, map[string]string{subject[:1]: subject[:i+1] + "\n"}))
			require.NoError(t, err)
			head, err = b.m.CommitTree(tree, []string{head}, subject+"\n\nDivisi-Run: "+run+"\n",
				Ident{Name: run, Email: "x@y"}, Ident{Name: "z", Email: "x@y"}, when)
			require.NoError(t, err)
		}
		return head
	}
	require.Equal(t, b.base, at(b.base, day))
	head := chain("r1", day, "fix: one", "feat: two")
	id := at(head, day)
	require.Equal(t, id, at(head, day))
	require.Equal(t, id, at(chain("r2", day.Add(time.Hour), "fix: one", "feat: two"), day.Add(10*time.Hour)), "another run of the day")
	require.NotEqual(t, id, at(head, day.Add(24*time.Hour)))
	require.NotEqual(t, id, at(chain("r1", day, "fix: one", "feat: too"), day))

	shown := strings.Split(userGit(t, b.m.dir, "log", "--format=%an <%ae> %aI %cn <%ce> %cI %s%n%(trailers)", id, "^"+b.base), "\n")
	const who = "Divisi <divisi@localhost> 2026-05-06T00:00:00+00:00 "
	require.Equal(t, []string{who + who + "feat: two", "", who + who + "fix: one"}, shown)
	require.Equal(t, b.base, userGit(t, b.m.dir, "rev-parse", id+"~2"))

	require.Equal(t, b.base, at(b.change(b.change(b.base, map[string]string{"y": "y\n"}), map[string]string{"y": ""}), day), "all was taken back")
}

// The commits are not older than what they follow.
func TestTestedCommitsAreNotOlderThanTheBase(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, created := range []time.Time{{}, time.Unix(1, 0)} {
		id, err := b.m.Tested(t.Context(), b.change(b.base, map[string]string{"a.txt": "1\n"}), created)
		require.NoError(t, err)
		require.Equal(t, userGit(t, b.m.dir, "log", "-1", "--format=%cI", b.base), userGit(t, b.m.dir, "log", "-1", "--format=%cI", id))
	}
}
