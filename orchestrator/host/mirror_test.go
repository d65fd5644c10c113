package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/station"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// apart are both halves of runs on one repository, with nothing in common but a bus.
type apart struct {
	t    *testing.T
	dir  string
	repo string
	git  *git.Git
	bus  *bus.Bus
}

func newApart(t *testing.T) *apart {
	t.Helper()
	a := &apart{t: t, dir: t.TempDir()}
	a.repo = filepath.Join(a.dir, "repo")
	require.NoError(t, os.Mkdir(a.repo, 0o700))
	var err error
	a.git, err = git.New(t.Context())
	require.NoError(t, err)
	a.bus, err = bus.Open(t.Context(), bus.Options{Dir: filepath.Join(a.dir, "bus"), Run: "r"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.bus.Close(context.Background())) })
	a.in(a.repo, "init", "-q")
	return a
}

func (a *apart) in(dir string, args ...string) string {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), "git", append([]string{"-c", "user.name=U", "-c", "user.email=u@localhost"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(a.t, err, string(out))
	return strings.TrimSpace(string(out))
}

func (a *apart) commit(name, text string) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile(filepath.Join(a.repo, name), []byte(text), 0o600))
	a.in(a.repo, "add", "-A")
	a.in(a.repo, "commit", "-q", "-m", name)
}

// conduct begins to answer as the conducting half of a run on the repository's head.
func (a *apart) conduct(id string) (h *conduct.Half, stop func()) {
	a.t.Helper()
	c, err := a.git.Inspect(a.t.Context(), a.repo)
	require.NoError(a.t, err)
	h = &conduct.Half{
		Place: depot.Place{Log: zerolog.Nop()}, Git: a.git, Bus: a.bus, Checkout: c, Path: filepath.Join(a.dir, "conduct", id),
		Spec: run.Spec{Run: id, Base: c.Head},
	}
	require.NoError(a.t, os.MkdirAll(h.Path, 0o700))
	h.Mirror, err = a.git.CreateMirror(a.t.Context(), filepath.Join(h.Path, "repo.git"), c, c.Head)
	require.NoError(a.t, err)
	stop, err = h.Listen(a.t.Context())
	require.NoError(a.t, err)
	return h, stop
}

// work is the working half of a run, to be ended by release.
func (a *apart) work(id, base string) *station.Work {
	a.t.Helper()
	dir := filepath.Join(a.dir, "work")
	w := &station.Work{
		Place: depot.Place{Dir: store.Dir{Path: dir, Log: zerolog.Nop()}, Log: zerolog.Nop()}, Run: id, Bus: a.bus, Git: a.git,
		Notice: func(string) {}, Setup: &wire.Setup{Run: id, Base: base, Caches: "c"},
	}
	w.Path = w.Dir.Run(id)
	require.NoError(a.t, os.MkdirAll(w.Path, 0o700))
	var err error
	w.Trash, err = workspace.OpenTrash(w.Dir.Trash(), w.Log)
	require.NoError(a.t, err)
	w.Later(func() { w.Trash.Close(time.Second, func() {}) })
	return w
}

func TestRunsElsewhereShareWhatTheyGot(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	a.commit("a.txt", "one\n")
	a.commit("b.txt", "two\n")
	h, stop := a.conduct("r1")
	w := a.work("r1", h.Spec.Base)
	var err error
	w.Mirror, err = w.Base(t.Context())
	require.NoError(t, err)
	a.commit("landed.txt", "three\n")
	landed := a.in(a.repo, "rev-parse", "HEAD")
	require.ErrorContains(t, w.Fetch(t.Context(), landed), landed, "the conducting half does not have it yet")
	pack, err := h.Git.Run(t.Context(), git.Dir{GitDir: filepath.Join(a.repo, ".git")},
		strings.NewReader(landed+"\n^"+h.Spec.Base+"\n"), "pack-objects", "--revs", "--stdout", "-q")
	require.NoError(t, err)
	require.NoError(t, h.Mirror.Import(t.Context(), pack))
	require.NoError(t, w.Fetch(t.Context(), landed))
	require.Equal(t, a.in(a.repo, "ls-tree", "-r", landed), a.in(w.Mirror.Dir(), "ls-tree", "-r", landed))
	w.Release()
	stop()

	// The next run begins from what that one landed: it gets nothing, with nothing to ask.
	w = a.work("r2", landed)
	m, err := w.Base(t.Context())
	require.NoError(t, err)
	require.Equal(t, landed, m.Base())
	require.Equal(t, a.in(a.repo, "ls-tree", "-r", landed), a.in(m.Dir(), "ls-tree", "-r", landed))
	w.Release()
	left, err := filepath.Glob(filepath.Join(h.Path, "pack-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What another writes under the name of a pack, or less of it than there should be, makes no mirror.
func TestAPackThatIsNotWhatWasSealed(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	a.commit("a.txt", "one\n")
	h, stop := a.conduct("r")
	defer stop()
	p, err := h.Pack(t.Context(), h.Spec.Base, nil)
	require.NoError(t, err)
	name, size := p.Object, p.Size
	forged := wire.Name(wire.SealedCommits, []byte("forged"))
	require.NoError(t, a.bus.Cache().Put(t.Context(), forged, []byte(strings.Repeat("x", int(size)))))
	for id, c := range map[string]struct {
		answer call.Pack
		want   error
	}{
		"digest":  {call.Pack{Object: forged, Size: size}, wire.ErrSeal},
		"kind":    {call.Pack{Object: "setup-1", Size: size}, wire.ErrSeal},
		"missing": {call.Pack{Object: wire.Name(wire.SealedCommits, nil), Size: size}, bus.ErrNotFound},
		"larger":  {call.Pack{Object: name, Size: size - 1}, bus.ErrTooLarge},
		"smaller": {call.Pack{Object: name, Size: size + 1}, wire.ErrSeal},
		"vast":    {call.Pack{Object: name, Size: wire.MaxCommits + 1}, git.ErrTooLarge},
	} {
		stop, err := a.bus.Subscribe(t.Context(), bus.CallFilter(id), func(_ bus.Message, reply func([]byte) error) {
			if err := reply(became(c.answer)); err != nil {
				t.Error(err)
			}
		})
		require.NoError(t, err)
		w := a.work(id, h.Spec.Base)
		w.Setup.Caches = id // the objects of a pack that is sound stay, whatever its name
		_, err = w.Base(t.Context())
		require.ErrorIs(t, err, c.want, id)
		require.ErrorContains(t, err, "get the base commit of run "+id)
		require.NoDirExists(t, filepath.Join(w.Path, "repo.git"))
		w.Release()
		stop()
	}
	w := a.work("r", h.Spec.Base)
	_, err = w.Base(t.Context())
	require.NoError(t, err)
	w.Release()
	_, err = h.Pack(t.Context(), h.Spec.Base, make([]string, git.MaxKept+1))
	require.ErrorContains(t, err, "33 commits are more than 32")
}
