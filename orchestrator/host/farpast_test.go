package host

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/station"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// remembers is the conducting half of a run that lends the history of its checkout.
func (a *apart) remembers(id string) (h *conduct.Half, stop func()) {
	a.t.Helper()
	h, stop = a.conduct(id)
	h.Elsewhere, h.Caches = true, filepath.Join(a.dir, "caches")
	require.NoError(a.t, h.TakePast(a.t.Context()))
	return h, stop
}

// recalls is the working half of a run with its mirror, as the setup tells.
func (a *apart) recalls(h *conduct.Half, id string) (*station.Work, error) {
	a.t.Helper()
	w := a.work(id, h.Spec.Base)
	var err error
	w.Setup.Past, err = h.FarPast()
	require.NoError(a.t, err)
	require.NotNil(a.t, w.Setup.Past)
	w.Mirror, err = w.Base(a.t.Context())
	return w, err
}

// A worker gets the commits and tags of the base once, and nothing else of what this machine has of the repository.
func TestAWorkerGetsTheHistoryOnce(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	a.commit("a.txt", "one\n")
	a.in(a.repo, "tag", "-a", "v1.0", "-m", "one")
	a.commit("a.txt", "two\n")
	base := a.in(a.repo, "rev-parse", "HEAD")
	a.in(a.repo, "checkout", "-q", "-b", "private")
	a.commit("private.txt", "not yet\n")
	private, stop := a.remembers("r0") // another run has begun there
	stop()
	a.in(a.repo, "checkout", "-q", base)
	h, stop := a.remembers("r1")
	require.Len(t, h.Notices, 1)
	require.Contains(t, h.Notices[0], "git describe and git log work, git log -p, git log -- PATH and git blame end with an error")
	w, err := a.recalls(h, "r1")
	require.NoError(t, err)
	p, err := w.Mirror.Past()
	require.NoError(t, err)
	require.Empty(t, p.Whole)
	dir := filepath.Dir(p.Commits)
	require.Equal(t, "2", a.in(dir, "rev-list", "--count", base))
	require.Equal(t, "tag", a.in(dir, "cat-file", "-t", a.in(a.repo, "rev-parse", "v1.0")))
	kinds := a.in(dir, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
	require.ElementsMatch(t, []string{"commit", "commit", "tag"}, strings.Fields(kinds), "not %s", private.Spec.Base)
	w.Release()

	stop() // the next run gets no answer

	w, err = a.recalls(h, "r2")
	require.NoError(t, err)
	p, err = w.Mirror.Past()
	require.NoError(t, err)
	require.Equal(t, "2", a.in(filepath.Dir(p.Commits), "rev-list", "--count", base))
	w.Release()
}

// A worker does not begin with a history that is not the one of the setup.
func TestAForgedHistoryMakesNoWorker(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	a.commit("a.txt", "one\n")
	a.commit("a.txt", "two\n")
	h, stop := a.remembers("r")
	defer stop()
	pack := func(ids ...string) []byte {
		data, err := a.git.Run(t.Context(), git.Dir{GitDir: filepath.Join(a.repo, ".git")},
			strings.NewReader(strings.Join(ids, "\n")+"\n"), "pack-objects", "--stdout", "-q", "--window=0")
		require.NoError(t, err)
		return data
	}
	id := func(name string) string { return a.in(a.repo, "rev-parse", name) }
	put := func(data []byte) call.Pack {
		name := wire.Name(wire.SealedCommits, data)
		require.NoError(t, a.bus.Cache().Put(t.Context(), name, data))
		return call.Pack{Object: name, Size: int64(len(data))}
	}
	whole := put(pack(id("HEAD"), id("HEAD^")))
	for run, c := range map[string]struct {
		answer call.Pack
		want   error
	}{
		"blob":    {put(pack(id("HEAD"), id("HEAD^"), id("HEAD:a.txt"))), git.ErrPack},
		"lacks":   {put(pack(id("HEAD"))), git.ErrPack},
		"digest":  {call.Pack{Object: wire.Name(wire.SealedCommits, []byte("other")), Size: whole.Size}, bus.ErrNotFound},
		"smaller": {call.Pack{Object: whole.Object, Size: whole.Size + 1}, wire.ErrSeal},
		"larger":  {call.Pack{Object: whole.Object, Size: whole.Size - 1}, bus.ErrTooLarge},
		"vast":    {call.Pack{Object: whole.Object, Size: wire.MaxCommits + 1}, git.ErrTooLarge},
		"none":    {call.Pack{}, nil},
	} {
		quit, err := a.bus.Subscribe(t.Context(), bus.CallFilter(run), func(m bus.Message, reply func([]byte) error) {
			answers(t, h, m, reply, func(asks *call.Lacking) any {
				if asks.Past {
					return c.answer
				}
				return nil
			})
		})
		require.NoError(t, err)
		w, err := a.recalls(h, run)
		require.ErrorContains(t, err, "get the history of commit "+h.Spec.Base, run)
		if c.want != nil {
			require.ErrorIs(t, err, c.want, run)
		}
		require.NoDirExists(t, filepath.Join(w.Path, depot.PastDir))
		w.Release()
		quit()
	}
	_, err := h.PackPast(t.Context(), make([]string, git.MaxTips+1))
	require.ErrorContains(t, err, "5001 tips are more than 5000")
}

// A host gets a history once, then what is new; one that stands by gets it from the host.
func TestSlowAHostGetsTheHistoryOnce(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	for range 20 {
		s.git("commit", "-q", "--allow-empty", "-m", hex.EncodeToString(random(t, smallPack/10)))
	}
	s.git("tag", "-a", "v1.0", "-m", "one")
	s.commit("two")
	first := s.costs()
	require.Less(t, s.costs(), uint64(smallPack))
	s.commit("three")
	require.Less(t, s.costs(), uint64(smallPack), "without what came before, of %d", first)
	at := func(h *Host) string { return filepath.Join(h.Dir.Run(s.last()), depot.PastDir) }
	require.Equal(t, "tag", s.git("--git-dir", at(s.host), "cat-file", "-t", s.git("rev-parse", "v1.0")))

	other, err := NewHost(Options{StateDir: t.TempDir(), Server: s.at})
	require.NoError(t, err)
	other.Dir, other.bus = store.Dir{Path: other.o.StateDir}, s.host.bus
	stream, err := s.js.Stream(t.Context(), "CACHE")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context()))
	require.NoError(t, other.bring(t.Context(), Known{Run: s.last(), Order: s.host.orderOf(s.last())}))
	require.Equal(t, "23", s.git("--git-dir", at(other), "rev-list", "--count", s.git("rev-parse", "HEAD")))

	// What the host said that it has, and has not, is sent after all.
	s.between(func(_ context.Context, q call.In, next func(call.In) ([]byte, error)) ([]byte, error) {
		data, err := next(q)
		var of call.Having
		if q.Name == "have" && json.Unmarshal(q.Body, &of) == nil && of.Past != "" {
			kept, _ := filepath.Glob(filepath.Join(s.hostDir, "mirrors", "*-history-"+of.Past))
			require.Len(t, kept, 1)
			err = os.RemoveAll(kept[0])
		}
		return data, err
	})
	s.commit("four")
	s.costs()
	require.Equal(t, "24", s.git("--git-dir", at(s.host), "rev-list", "--count", s.git("rev-parse", "HEAD")))
}
