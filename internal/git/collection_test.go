package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// gathered is a user's repository, with a collection elsewhere of what was asked of it.
type gathered struct {
	*user
	t   testing.TB
	g   *Git
	c   *Collection
	now time.Time
	n   int
}

func newGathered(t testing.TB, u *user) *gathered {
	t.Helper()
	g := &gathered{user: u, t: t, g: newGit(t), now: noon}
	var err error
	g.c, err = g.g.OpenCollection(filepath.Join(t.TempDir(), "collection"), strings.Repeat("0", 40))
	require.NoError(t, err)
	t.Cleanup(g.c.Close)
	return g
}

// mirror is that of a half that conducts, of the user's head.
func (g *gathered) mirror() (*Repo, *Checkout) {
	g.t.Helper()
	c, err := g.g.Inspect(g.t.Context(), g.dir)
	require.NoError(g.t, err)
	g.n++
	m, err := g.g.CreateMirror(g.t.Context(), filepath.Join(g.t.TempDir(), fmt.Sprint("conduct", g.n)), c, c.Head)
	require.NoError(g.t, err)
	return m, c
}

// bring has the collection get the user's head, and returns its pack.
func (g *gathered) bring() (commit string, pack []byte) {
	g.t.Helper()
	m, c := g.mirror()
	have, err := g.c.Kept(g.t.Context())
	require.NoError(g.t, err)
	var out bytes.Buffer
	require.NoError(g.t, m.PackBase(g.t.Context(), &out, c.Objects, have...))
	require.NoError(g.t, g.c.Receive(g.t.Context(), c.Head, bytes.NewReader(out.Bytes())))
	whole, err := g.c.Whole(g.t.Context(), c.Head)
	require.NoError(g.t, err)
	require.True(g.t, whole)
	g.keep(c.Head)
	return c.Head, out.Bytes()
}

func (g *gathered) keep(commit string) {
	g.t.Helper()
	g.now = g.now.Add(time.Second)
	require.NoError(g.t, g.c.Keep(g.t.Context(), commit, g.now))
}

// lent makes the mirror of a commit of the collection.
func (g *gathered) lent(commit string) *Repo {
	g.t.Helper()
	g.n++
	m, err := g.c.Mirror(g.t.Context(), filepath.Join(g.t.TempDir(), fmt.Sprint("work", g.n)), commit, nil)
	require.NoError(g.t, err)
	return m
}

// objectsOf lists the objects of commits without their history.
func (g *gathered) objectsOf(commits ...string) (ids []string) {
	g.t.Helper()
	if len(commits) == 0 {
		return nil
	}
	out := g.git(append([]string{"rev-list", "--objects", "--no-walk", "--no-object-names"}, commits...)...)
	ids = strings.Fields(out)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func objectsIn(pack []byte) int { return int(binary.BigEndian.Uint32(pack[8:])) }

// Whatever becomes of a repository, the mirror of each commit has exactly its files, and each object crosses once.
func TestCollectionsOfRandomHistories(t *testing.T) {
	t.Parallel()
	seeds := uint64(10)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			g := newGathered(t, newCommitted(t))
			var kept, seen []string
			for range 4 {
				for range r.IntN(3) {
					for range 1 + r.IntN(3) {
						g.write([]string{"a.txt", "dir/b.txt", "dir/deep/c", "d", "e/f/g/h"}[r.IntN(5)],
							strings.Repeat([]string{"x\n", "y\n", "zz\n"}[r.IntN(3)], []int{1, 50, 3000}[r.IntN(3)]))
					}
					seen = append(seen, g.commit([]string{"one", "two"}[r.IntN(2)]))
				}
				if n := r.IntN(4); n == 0 && len(seen) > 0 {
					g.git("reset", "-q", "--hard", seen[r.IntN(len(seen))])
				} else if n == 1 {
					g.git("repack", "-adbq")
				}
				if slices.Contains(kept, g.git("rev-parse", "HEAD")) {
					continue
				}
				had := g.objectsOf(kept...)
				commit, pack := g.bring()
				lacked := slices.DeleteFunc(g.objectsOf(commit), func(id string) bool { return slices.Contains(had, id) })
				require.Equal(t, len(lacked), objectsIn(pack))
				kept = append(kept, commit)
				m := g.lent(commit)
				require.Equal(t, g.git("ls-tree", "-r", "-t", commit), userGit(t, m.Dir(), "ls-tree", "-r", "-t", commit))
				userGit(t, m.Dir(), "fsck", "--strict", "--no-dangling")
				require.Equal(t, "1", userGit(t, m.Dir(), "rev-list", "--count", commit), "no history")
			}
		})
	}
}

// What a run lands comes to the collection at its end, and is not sent again when the next run begins from it.
func TestCollectionsTakeWhatRunsGot(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	b := u.mirrored()
	g := newGathered(t, u)
	base, _ := g.bring()
	m := g.lent(base)
	first := b.change(base, map[string]string{"a.txt": "first\n"})
	second := b.change(first, map[string]string{"new.txt": strings.Repeat("second\n", 100)})
	for _, c := range [][]string{{first, base}, {second, base, first}} {
		var pack bytes.Buffer
		require.NoError(t, b.m.PackTo(t.Context(), &pack, c[0], append(c[1:], strings.Repeat("1", 40))...))
		require.Equal(t, 3, objectsIn(pack.Bytes()), "commit, tree and file")
		require.NoError(t, m.ImportFrom(t.Context(), &pack))
	}
	require.NoError(t, g.c.Take(t.Context(), m, second))
	g.keep(second)
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/r", second, base, ""))
	g.git("reset", "-q", "--hard", "divisi/r")
	g.write("b.txt", "more\n")
	g.commit("third")
	third, pack := g.bring()
	require.Equal(t, 3, objectsIn(pack), "commit, tree and file")
	require.Equal(t, g.git("ls-tree", "-r", third), userGit(t, g.lent(third).Dir(), "ls-tree", "-r", third))
	whole, err := g.c.Whole(t.Context(), second)
	require.NoError(t, err)
	require.True(t, whole)
}

func TestCollectionsRefuse(t *testing.T) {
	t.Parallel()
	g := newGathered(t, newCommitted(t))
	g.bring()
	g.write("a.txt", strings.Repeat("second\n", 1000))
	commit := g.commit("second")
	m, c := g.mirror()
	var whole bytes.Buffer
	require.NoError(t, m.PackBase(t.Context(), &whole, c.Objects))
	broken := errors.New("the server is gone")
	half := whole.Bytes()[:whole.Len()/2]
	for name, pack := range map[string]io.Reader{
		"half":    bytes.NewReader(half),
		"nothing": strings.NewReader(""),
		"changed": bytes.NewReader(append(bytes.Clone(half), make([]byte, whole.Len()-len(half))...)),
	} {
		require.ErrorIs(t, g.c.Receive(t.Context(), commit, pack), ErrPack, name)
	}
	err := g.c.Receive(t.Context(), commit, io.MultiReader(bytes.NewReader(half), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, ErrPack, "the pack is not at fault")
	require.ErrorIs(t, g.c.Receive(t.Context(), strings.Repeat("1", 40), bytes.NewReader(whole.Bytes())), ErrPack, "another commit")
	left, err := filepath.Glob(filepath.Join(g.c.r.packs(), "*.pack"))
	require.NoError(t, err)
	require.NotEmpty(t, left)
	require.NoError(t, g.c.Tidy(t.Context()))
	left, err = filepath.Glob(filepath.Join(g.c.r.packs(), "tmp_*"))
	require.NoError(t, err)
	require.Empty(t, left)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.c.Receive(ctx, commit, bytes.NewReader(whole.Bytes())), context.Canceled)
	_, err = g.c.Whole(ctx, commit)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrDamaged)
	_, err = g.g.OpenCollection(t.TempDir(), "x")
	require.ErrorIs(t, err, ErrBadName)
}

// A pack that lacks what the collection does not have is noticed, as is a commit with a part of its files.
func TestCollectionsNoticeWhatIsMissing(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	g := newGathered(t, u)
	first, _ := g.bring()
	g.write("new.txt", "second\n")
	second := g.commit("second")
	m, c := g.mirror()
	var pack bytes.Buffer
	require.NoError(t, m.PackBase(t.Context(), &pack, c.Objects, first))
	empty := newGathered(t, u)
	require.ErrorIs(t, empty.c.Receive(t.Context(), second, &pack), ErrPack)
	g.bring()
	packs, err := filepath.Glob(filepath.Join(g.c.r.packs(), "*"))
	require.NoError(t, err)
	before := g.lent(second)
	for _, p := range packs {
		if out, err := userCommand(t, g.c.r.dir, "verify-pack", "-v", strings.TrimSuffix(p, filepath.Ext(p))+".idx").Output(); err == nil &&
			!strings.Contains(string(out), second) {
			require.NoError(t, os.Remove(p))
		}
	}
	again, err := g.g.OpenCollection(g.c.r.dir, second)
	require.NoError(t, err)
	defer again.Close()
	_, err = again.Whole(t.Context(), second)
	require.ErrorIs(t, err, ErrDamaged)
	userGit(t, before.Dir(), "fsck", "--strict", "--no-dangling") // a mirror does not need the collection
}

// Of many commits the last ones are kept, in few packs, and a mirror keeps the packs that it was made of.
func TestCollectionsAreTidied(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of packs")
	}
	t.Parallel()
	g := newGathered(t, newCommitted(t))
	var commits []string
	var early *Repo
	for i := range manyPacks + 1 {
		g.write("a.txt", fmt.Sprintf("%d\n", i))
		g.commit(fmt.Sprint(i))
		commit, _ := g.bring()
		if commits = append(commits, commit); i == 0 {
			early = g.lent(commit)
		}
	}
	g.keep(commits[30])
	require.NoError(t, os.WriteFile(filepath.Join(g.c.r.packs(), "tmp_pack_x"), nil, 0o600))
	require.NoError(t, g.c.Tidy(t.Context()))
	kept, err := g.c.Kept(t.Context())
	require.NoError(t, err)
	want := append([]string{commits[30]}, slices.DeleteFunc(slices.Clone(commits), func(c string) bool { return c == commits[30] })...)
	slices.Reverse(want[1:])
	require.Equal(t, want[:MaxKept], kept)
	packs, err := g.c.packs()
	require.NoError(t, err)
	require.Len(t, packs, 1)
	require.NoFileExists(t, filepath.Join(g.c.r.packs(), "tmp_pack_x"))
	whole, err := g.c.Whole(t.Context(), commits[0])
	require.NoError(t, err)
	require.False(t, whole)
	userGit(t, early.Dir(), "fsck", "--strict", "--no-dangling")
	userGit(t, g.c.r.dir, "fsck", "--strict", "--no-dangling")
	g.write("a.txt", "0\n")
	g.commit("after")
	commit, pack := g.bring()
	require.Equal(t, 3, objectsIn(pack), "the file of the first commit is not there any more")
	userGit(t, g.lent(commit).Dir(), "fsck", "--strict", "--no-dangling")
}
