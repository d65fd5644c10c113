package mirrors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/git"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/mirrors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a repository of a user, and a machine that works for its runs.
type rig struct {
	t       testing.TB
	git     *git.Git
	user    string
	store   *mirrors.Store
	notices []string
	// asked counts the packs, sent their bytes; have is what the last one was without.
	mu   sync.Mutex
	sent []int
	have []string
	now  time.Time
	n    int
}

func newRig(t testing.TB) *rig {
	t.Helper()
	g, err := git.New(t.Context())
	require.NoError(t, err)
	r := &rig{t: t, git: g, user: t.TempDir(), now: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)}
	r.store = &mirrors.Store{
		Git: g, Dir: filepath.Join(t.TempDir(), "mirrors"), Limit: 1 << 30, Discard: os.RemoveAll,
		Clock:  func() time.Time { r.now = r.now.Add(time.Second); return r.now },
		Notice: func(text string) { r.notices = append(r.notices, text) },
	}
	r.run("init", "-q")
	return r
}

func (r *rig) run(args ...string) string { return r.in(r.user, args...) }

func (r *rig) in(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=U", "GIT_AUTHOR_EMAIL=u@localhost", "GIT_COMMITTER_NAME=U", "GIT_COMMITTER_EMAIL=u@localhost",
	}
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, string(out))
	return strings.TrimSpace(string(out))
}

// commit changes one of a few files, of which one is large.
func (r *rig) commit(text string) string {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.user, "a.txt"), []byte(text), 0o600))
	if text == "one" {
		require.NoError(r.t, os.WriteFile(filepath.Join(r.user, "large"), noise(100_000), 0o600))
	}
	r.run("add", "-A")
	r.run("commit", "-q", "-m", text)
	return r.run("rev-parse", "HEAD")
}

// noise is what no compression makes smaller.
func noise(n int) []byte {
	data, x := make([]byte, n), uint32(1)
	for i := range data {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		data[i] = byte(x)
	}
	return data
}

// source gives packs of the user's repository, through change.
func (r *rig) source(change func([]byte) io.Reader) mirrors.Source {
	c, err := r.git.Inspect(r.t.Context(), r.user)
	require.NoError(r.t, err)
	m, err := r.git.CreateMirror(r.t.Context(), filepath.Join(r.t.TempDir(), "conduct"), c, c.Head)
	require.NoError(r.t, err)
	return func(ctx context.Context, commit string, have []string, take func(context.Context, io.Reader) error) error {
		if commit != c.Head {
			return fmt.Errorf("no commit %s", commit)
		}
		var pack bytes.Buffer
		if err := m.PackBase(ctx, &pack, c.Objects, have...); err != nil {
			return err
		}
		r.mu.Lock()
		r.sent, r.have = append(r.sent, pack.Len()), have
		r.mu.Unlock()
		return take(ctx, change(pack.Bytes()))
	}
}

func whole(pack []byte) io.Reader { return bytes.NewReader(pack) }

func (r *rig) mirror(commit string) mirrors.Mirror {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return mirrors.Mirror{Dir: filepath.Join(r.t.TempDir(), fmt.Sprint("work", r.n)), Commit: commit}
}

// open has a run begin on the user's head.
func (r *rig) open(name string) (*mirrors.Held, *git.Repo) {
	r.t.Helper()
	commit := r.run("rev-parse", "HEAD")
	held, m, err := r.store.Open(r.t.Context(), name, r.mirror(commit), r.source(whole))
	require.NoError(r.t, err)
	r.sound(m, commit)
	return held, m
}

func (r *rig) sound(m *git.Repo, commit string) {
	r.t.Helper()
	require.Equal(r.t, r.run("ls-tree", "-r", "-t", commit), r.in(m.Dir(), "ls-tree", "-r", "-t", commit))
	r.in(m.Dir(), "fsck", "--strict", "--no-dangling")
}

func TestALaterRunGetsWhatIsNew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.commit("one")
	held, _ := r.open("a")
	require.NoError(t, held.Close())
	again, _ := r.open("a")
	require.Len(t, r.sent, 1, "it is there")
	second := r.commit("two")
	later, _ := r.open("a")
	require.Equal(t, []string{first}, r.have)
	third := r.commit("three")
	last, m := r.open("a")
	require.Equal(t, []string{second, first}, r.have)
	require.Greater(t, r.sent[0], 100_000)
	require.Less(t, r.sent[1], 1000)
	require.Less(t, r.sent[2], 1000)
	require.Equal(t, third, m.Base())
	for _, h := range []*mirrors.Held{again, later, last} {
		require.NoError(t, h.Close())
	}
	require.Empty(t, r.notices)
}

// What the owner's remote has does not travel: the whole commit where it is there, else what differs from its main branch. Without
// the remote all comes from the source.
func TestARemoteOfTheOwnerSavesTheWay(t *testing.T) {
	t.Parallel()
	remote := t.TempDir()
	r := newRig(t)
	r.commit("one")
	r.in(remote, "clone", "-q", "--bare", r.user, "origin.git")
	r.store.Remote = "file://" + filepath.Join(remote, "origin.git")
	one := r.run("rev-parse", "HEAD")
	begin := func() {
		held, _ := r.open("a")
		require.NoError(t, held.Close())
	}
	empty := func() {
		require.NoError(t, os.RemoveAll(r.store.Dir))
		require.NoError(t, os.MkdirAll(r.store.Dir, 0o700))
	}
	empty()
	begin()
	require.Empty(t, r.sent, "the remote has the commit")

	r.commit("two")
	empty()
	begin()
	require.Len(t, r.sent, 1)
	require.Less(t, r.sent[0], 10_000, "but for what is new")
	require.Equal(t, []string{one}, r.have)
	require.Empty(t, r.notices)

	empty()
	r.store.Remote = "file:///nowhere"
	begin()
	require.Greater(t, r.sent[1], 100_000)
	require.Len(t, r.notices, 1)
	require.Contains(t, r.notices[0], "come from the conductor then")
}

func TestARunLeavesWhatItGot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base := r.commit("one")
	held, m := r.open("a")
	next := r.commit("two")
	tree := r.run("rev-parse", "HEAD^{tree}")
	c, err := r.git.Inspect(t.Context(), r.user)
	require.NoError(t, err)
	full, err := r.git.CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m"), c, next)
	require.NoError(t, err)
	var pack bytes.Buffer
	require.NoError(t, full.PackBase(t.Context(), &pack, c.Objects, base))
	require.NoError(t, m.ImportFrom(t.Context(), &pack))
	require.NoError(t, held.Leave(t.Context(), m))
	require.NoError(t, held.Leave(t.Context(), m, next))
	require.NoError(t, held.Close())
	r.run("commit", "-q", "--allow-empty", "-m", "the same files")
	require.Equal(t, tree, r.run("rev-parse", "HEAD^{tree}"))
	held, _ = r.open("a")
	require.Equal(t, []string{next, base}, r.have)
	require.Less(t, r.sent[len(r.sent)-1], 300, "the commit alone")
	require.NoError(t, held.Close())
}

// What is not sound brings a clear error, and the next try makes the mirror.
func TestPacksThatAreNotSound(t *testing.T) {
	t.Parallel()
	gone := errors.New("the server is gone")
	for name, c := range map[string]struct {
		change func([]byte) io.Reader
		want   error
	}{
		"half":   {func(p []byte) io.Reader { return bytes.NewReader(p[:len(p)/2]) }, git.ErrPack},
		"empty":  {func([]byte) io.Reader { return strings.NewReader("") }, git.ErrPack},
		"zeroes": {func(p []byte) io.Reader { return bytes.NewReader(make([]byte, len(p))) }, git.ErrPack},
		"lost":   {func(p []byte) io.Reader { return io.MultiReader(bytes.NewReader(p[:len(p)/2]), iotest.ErrReader(gone)) }, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			commit := r.commit("one")
			for range 2 { // fresh, and used
				m := r.mirror(commit)
				_, _, err := r.store.Open(t.Context(), "a", m, r.source(c.change))
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, "bring "+commit+" to the mirror a: ")
				require.NoDirExists(t, m.Dir)
			}
			held, _ := r.open("a")
			require.NoError(t, held.Close())
		})
	}
}

func TestADamagedMirrorIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(r *rig, dir string)
		// told is what a person is told; nothing where the mirror only gets what is missing.
		told string
		// spared reports that the mirrors of it do not have the damage too.
		spared bool
	}{
		"a pack is gone":    {func(r *rig, dir string) { r.removeAll(dir, "objects/pack/*.pack") }, "it has lost ", true},
		"an index is gone":  {func(r *rig, dir string) { r.removeAll(dir, "objects/pack/*.idx") }, "it has lost ", true},
		"a pack is cut off": {func(r *rig, dir string) { r.cut(dir, "objects/pack/*.pack") }, "it has lost ", false},
		"it is no repository": {
			func(r *rig, dir string) { r.removeAll(dir, "HEAD"); r.removeAll(dir, "objects") }, "the repository is damaged", true,
		},
		"its settings are none": {func(r *rig, dir string) { r.cut(dir, "config") }, "bad config line", true},
		"a ref is cut off":      {func(r *rig, dir string) { r.cut(dir, "refs/kept/*") }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.commit("one")
			user, m := r.open("a")
			c.damage(r, filepath.Join(r.store.Dir, "a"))
			held, _ := r.open("a")
			require.NoError(t, held.Close())
			if told := strings.Join(r.notices, "\n"); c.told == "" {
				require.Empty(t, told)
			} else {
				require.Contains(t, told, "is made again: ")
				require.Contains(t, told, c.told)
			}
			if c.spared {
				r.in(m.Dir(), "fsck", "--strict", "--no-dangling")
			}
			require.NoError(t, user.Close())
		})
	}
}

func (r *rig) found(dir, pattern string) []string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(r.t, err)
	require.NotEmpty(r.t, found)
	return found
}

func (r *rig) removeAll(dir, pattern string) {
	for _, path := range r.found(dir, pattern) {
		require.NoError(r.t, os.RemoveAll(path))
	}
}

func (r *rig) cut(dir, pattern string) {
	for _, path := range r.found(dir, pattern) {
		require.NoError(r.t, os.Chmod(path, 0o600))
		require.NoError(r.t, os.Truncate(path, 3))
	}
}

// What a run uses stays, whatever the limit. Of the others, those go first that were used longest ago.
func TestMirrorsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one")
	r.store.Limit = 250_000 // two of them
	used, _ := r.open("used")
	for i, name := range []string{"b", "a"} {
		held, _ := r.open(name)
		require.NoError(t, held.Close())
		if i == 0 {
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(filepath.Join(r.store.Dir, "b.lock"), old, old))
			require.DirExists(t, filepath.Join(r.store.Dir, "b"))
		}
	}
	require.NoDirExists(t, filepath.Join(r.store.Dir, "b"))
	require.NoFileExists(t, filepath.Join(r.store.Dir, "b.lock"))
	require.DirExists(t, filepath.Join(r.store.Dir, "a"))
	require.DirExists(t, filepath.Join(r.store.Dir, "used"))
	r.store.Limit = 1
	held, _ := r.open("a")
	require.DirExists(t, filepath.Join(r.store.Dir, "used"), "a run uses it")
	require.NoError(t, held.Close())
	require.NoDirExists(t, filepath.Join(r.store.Dir, "a"))
	require.DirExists(t, filepath.Join(r.store.Dir, "used"))
	require.NoError(t, used.Close())
	entries, err := os.ReadDir(r.store.Dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	held, _ = r.open("used")
	require.NoError(t, held.Close())
}

// Runs that begin at once send each object once, and each has its mirror.
func TestRunsThatBeginAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	commit := r.commit("one")
	var all sync.WaitGroup
	var opened [4]*git.Repo
	var errs [4]error
	from := r.source(whole)
	for i := range opened {
		m := r.mirror(commit)
		all.Go(func() {
			var held *mirrors.Held
			if held, opened[i], errs[i] = r.store.Open(t.Context(), "a", m, from); errs[i] == nil {
				errs[i] = held.Close()
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.Len(t, r.sent, 1)
	for _, m := range opened {
		r.sound(m, commit)
	}
}

// Who waits for the mirror, and who gets a pack, ends with its context; the next one finds a mirror that can be used.
func TestTheEndOfARunThatBegins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	commit := r.commit("one")
	began, ctx := make(chan struct{}), t.Context()
	stopped, stop := context.WithCancel(ctx)
	result := make(chan error, 1)
	from, m := r.source(func(p []byte) io.Reader {
		return io.MultiReader(bytes.NewReader(p[:len(p)/2]), waiting{began, stopped.Done()}, bytes.NewReader(p[len(p)/2:]))
	}), r.mirror(commit)
	go func() {
		_, _, err := r.store.Open(stopped, "a", m, from)
		result <- err
	}()
	chantest.Next(t, began)
	late, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("it was stopped"))
	_, _, err := r.store.Open(late, "a", r.mirror(commit), from)
	require.ErrorContains(t, err, "wait for the mirror "+filepath.Join(r.store.Dir, "a")+": it was stopped")
	stop()
	require.ErrorIs(t, chantest.Next(t, result), context.Canceled)
	require.NoError(t, os.WriteFile(filepath.Join(r.store.Dir, "a", "objects", "pack", "tmp_pack_x"), []byte("half"), 0o600))
	held, _ := r.open("a")
	require.NoError(t, held.Close())
	require.NoFileExists(t, filepath.Join(r.store.Dir, "a", "objects", "pack", "tmp_pack_x"))
}

// waiting reports that it is read, and has nothing until its end.
type waiting struct {
	began chan<- struct{}
	end   <-chan struct{}
}

func (w waiting) Read([]byte) (int, error) {
	close(w.began)
	<-w.end
	return 0, io.EOF
}

// What a collection keeps is told without making, holding or changing one.
func TestKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	kept := func(name, like string) []string {
		commits, err := r.store.Kept(t.Context(), name, like)
		require.NoError(t, err)
		return commits
	}
	first := r.commit("one")
	require.Empty(t, kept("a", first))
	require.NoDirExists(t, filepath.Join(r.store.Dir, "a"))
	held, _ := r.open("a")
	second := r.commit("two")
	again, _ := r.open("a")
	require.Equal(t, []string{second, first}, kept("a", first))
	require.Empty(t, kept("a", strings.Repeat("1", 64)), "ids of another length")
	require.NoError(t, errors.Join(held.Close(), again.Close()))
	require.NoError(t, os.Remove(filepath.Join(r.store.Dir, "a", "HEAD")))
	require.Empty(t, kept("a", first), "it is damaged")
	require.Empty(t, r.notices)
}
