package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/station"
	"divisi/orchestrator/store"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// gitAt runs git in a directory; submodules may come from other ones.
func gitAt(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=U", "-c", "user.email=u@localhost"}, args...)
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	_, err := rand.Read(data)
	require.NoError(t, err)
	return data
}

// addBeside gives a repository a submodule at vendor/lib, with another one in it, and a file that Git LFS keeps. It returns where
// the submodule comes from, and the file's pointer.
func addBeside(t *testing.T, repo string, large int) (lib string, p spec.Pointer) {
	t.Helper()
	dir := t.TempDir()
	deep, lib := filepath.Join(dir, "deep"), filepath.Join(dir, "lib")
	for at, name := range map[string]string{deep: "deep.txt", lib: "lib.txt"} {
		gitAt(t, dir, "init", "-q", at)
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte("of "+filepath.Base(at)+"\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(at, "large"), random(t, large), 0o600))
		gitAt(t, at, "add", "-A")
		gitAt(t, at, "commit", "-q", "-m", "one")
	}
	gitAt(t, lib, "submodule", "add", "-q", deep, "deep")
	gitAt(t, lib, "commit", "-q", "-m", "two")
	gitAt(t, repo, "submodule", "add", "-q", lib, "vendor/lib")
	gitAt(t, repo, "submodule", "update", "-q", "--init", "--recursive")
	content := append([]byte("kept by LFS\n"), random(t, large)...)
	sum := sha256.Sum256(content)
	p = spec.Pointer{OID: hex.EncodeToString(sum[:]), Size: int64(len(content))}
	at := filepath.Join(repo, ".git", "lfs", "objects", p.OID[:2], p.OID[2:4])
	require.NoError(t, os.MkdirAll(at, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(at, p.OID), content, 0o600))
	text := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", p.OID, p.Size)
	require.NoError(t, os.WriteFile(filepath.Join(repo, "data.bin"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(repo, ".gitattributes"), []byte("*.bin filter=lfs -text\n"), 0o600))
	gitAt(t, repo, "-c", "filter.lfs.clean=cat", "add", "-A")
	gitAt(t, repo, "commit", "-q", "-m", "What is beside it")
	return lib, p
}

// A host gets submodules and what Git LFS keeps once, and of a submodule that moves what is new.
func TestSlowTheNextSubmissionSendsWhatIsBesideTheCommitOnce(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	s.costs()
	lib, p := addBeside(t, s.repo, largePack)
	require.Greater(t, s.costs(), uint64(3*largePack))
	require.Less(t, s.costs(), uint64(smallPack), "the same commit again")
	stored, err := filepath.Glob(filepath.Join(s.hostDir, "caches", "*", "checkout", "lfs", p.OID))
	require.NoError(t, err)
	require.Len(t, stored, 1)
	left, err := filepath.Glob(filepath.Join(s.hostDir, "caches", "*", "checkout", "modules", "*"))
	require.NoError(t, err)
	require.Empty(t, left, "a host has no trees")

	require.NoError(t, os.WriteFile(filepath.Join(lib, "lib.txt"), []byte("moved\n"), 0o600))
	gitAt(t, lib, "commit", "-q", "-a", "-m", "three")
	gitAt(t, filepath.Join(s.repo, "vendor", "lib"), "pull", "-q", lib)
	s.git("commit", "-q", "-a", "-m", "moved")
	require.Less(t, s.costs(), uint64(smallPack), "the submodule has moved by one file")
	moved := gitAt(t, lib, "rev-parse", "HEAD")
	at := filepath.Join(s.hostDir, "runs", s.last(), depot.LentDir, moved)
	require.Equal(t, "moved", gitAt(t, at, "show", moved+":lib.txt"))
	gitAt(t, at, "fsck", "--strict", "--no-dangling")

	// A host that stands by gets it from the one that conducts, when the server has it no more.
	other, err := NewHost(Options{StateDir: t.TempDir(), Server: s.at})
	require.NoError(t, err)
	other.Dir, other.bus = store.Dir{Path: other.o.StateDir}, s.host.bus
	stream, err := s.js.Stream(t.Context(), "CACHE")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context()))
	require.NoError(t, other.bring(t.Context(), Known{Run: s.last(), Order: s.host.orderOf(s.last())}))
	gitAt(t, filepath.Join(other.Dir.Run(s.last()), depot.LentDir, moved), "fsck", "--strict", "--no-dangling")
	there, err := filepath.Glob(filepath.Join(other.Dir.Caches(), "*", "checkout", "lfs", p.OID))
	require.NoError(t, err)
	require.Len(t, there, 1)
	of := &call.In{Head: call.Head{Run: s.last()}}
	_, err = s.host.base(t.Context(), of, &call.Base{Module: "x", Commit: "../../x"})
	require.ErrorContains(t, err, "does not have the requested part")
	_, err = s.host.base(t.Context(), of, &call.Base{Content: &spec.Pointer{OID: strings.Repeat("0", 64)}})
	require.ErrorContains(t, err, "does not have the requested part")

	// What the host said that it has, and has not, is sent after all.
	starts := 0
	s.between(func(_ context.Context, q call.In, next func(call.In) ([]byte, error)) ([]byte, error) {
		data, err := next(q)
		if q.Name == "start" {
			starts++
		}
		if q.Name == "have" && bytes.Contains(q.Body, []byte(`"contents"`)) {
			require.Contains(t, string(data), p.OID)
			err = os.Remove(stored[0])
		}
		return data, err
	})
	require.Greater(t, s.costs(), uint64(largePack))
	require.Equal(t, 2, starts)
	require.FileExists(t, stored[0])
	require.Empty(t, s.hostSaid)
}

// answers has a conducting half lend what do returns; nil is what it lends itself.
func answers(t *testing.T, h *conduct.Half, m bus.Message, reply func([]byte) error, do func(*call.Lacking) any) {
	var in call.In
	var asks call.Lacking
	err := json.Unmarshal(m.Data, &in)
	if err == nil {
		err = json.Unmarshal(in.Body, &asks)
	}
	var data []byte
	if got := do(&asks); got != nil {
		data = became(got)
	} else if err == nil {
		data, err = h.Answerer().Answer(t.Context(), m)
	}
	if err = errors.Join(err, reply(data)); err != nil {
		t.Error(err)
	}
}

// lends is the conducting half of a run that lends what its checkout has.
func (a *apart) lends(id string) (h *conduct.Half, stop func()) {
	a.t.Helper()
	h, stop = a.conduct(id)
	h.Caches = filepath.Join(a.dir, "caches")
	require.NoError(a.t, h.Lend(a.t.Context(), checkout.User{Git: h.Git, Checkout: h.Checkout}))
	return h, stop
}

// borrows is the working half of a run, with the mirror of its base.
func (a *apart) borrows(h *conduct.Half, id, caches string) *station.Work {
	a.t.Helper()
	w := a.work(id, h.Spec.Base)
	w.Setup.Caches, w.Setup.Beside = caches, h.Beside.Digest()
	w.Find(caches)
	r, err := a.git.OpenMirror(h.Mirror.Dir())
	require.NoError(a.t, err)
	w.Mirror = r
	w.Later(r.Close)
	return w
}

func TestAWorkerGetsWhatIsBesideTheCommitOnce(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	a.commit("a.txt", "one\n")
	_, p := addBeside(t, a.repo, 100)
	h, stop := a.lends("r1")
	require.Len(t, h.Beside.Modules(), 2)
	w := a.borrows(h, "r1", "c")
	c, err := w.TakeBeside(t.Context())
	require.NoError(t, err)
	layers, err := c.Layers(t.Context(), w.Mirror, h.Spec.Base)
	require.NoError(t, err)
	require.Len(t, layers, 3)
	has := ""
	for _, l := range layers {
		for _, name := range []string{"", "lib.txt", "deep.txt"} {
			if data, err := os.ReadFile(filepath.Join(l.Lower, name)); err == nil {
				line, _, _ := bytes.Cut(data, []byte("\n"))
				has += l.Path + ": " + string(line) + "\n"
			}
		}
	}
	require.Equal(t, "data.bin: kept by LFS\nvendor/lib: of lib\nvendor/lib/deep: of deep\n", has)
	w.Release()
	stop() // the next run gets no answer

	again := a.borrows(h, "r2", "c")
	c, err = again.TakeBeside(t.Context())
	require.NoError(t, err)
	require.Equal(t, []spec.Pointer{p}, c.Pointers())
	again.Release()
}

// What is not what its name says makes no tree, and the error names what it belongs to.
func TestWhatIsBesideTheCommitIsChecked(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	a.commit("a.txt", "one\n")
	lib, p := addBeside(t, a.repo, 100)
	h, stop := a.lends("r")
	defer stop()
	cache := a.bus.Cache()
	put := func(data []byte) call.Pack {
		name := wire.Name(wire.SealedCommits, data)
		require.NoError(t, cache.Put(t.Context(), name, data))
		return call.Pack{Object: name, Size: int64(len(data))}
	}
	commit := gitAt(t, lib, "rev-parse", "HEAD")
	tree, err := a.git.Run(t.Context(), git.Dir{GitDir: filepath.Join(lib, ".git")},
		strings.NewReader(commit+"\n"+gitAt(t, lib, "rev-parse", "HEAD^{tree}")+"\n"), "pack-objects", "--stdout", "-q")
	require.NoError(t, err)
	require.NoError(t, cache.Put(t.Context(), depot.Content(p).Object, bytes.Repeat([]byte("x"), int(p.Size))))
	for id, c := range map[string]struct {
		module, content func() call.Pack
		want            error
		told            string
	}{
		"no-module":     {func() call.Pack { return call.Pack{} }, nil, nil, "have other submodules"},
		"lacks-objects": {func() call.Pack { return put(tree) }, nil, git.ErrPack, "take the submodule vendor/lib"},
		"no-pack":       {func() call.Pack { return put([]byte("PACK")) }, nil, git.ErrPack, "take the submodule vendor/lib"},
		"other-kind":    {func() call.Pack { return call.Pack{Object: "setup-1", Size: 1} }, nil, wire.ErrSeal, "names no commits"},
		"vast": {
			func() call.Pack { return call.Pack{Object: put(tree).Object, Size: wire.MaxCommits + 1} }, nil, git.ErrTooLarge, "vendor/lib",
		},
		"no-content":    {nil, func() call.Pack { return call.Pack{} }, nil, "have other submodules"},
		"other-content": {nil, func() call.Pack { return call.Pack{Object: "it is not asked for this"} }, wire.ErrSeal, "data.bin"},
	} {
		quit, err := a.bus.Subscribe(t.Context(), bus.CallFilter(id), func(m bus.Message, reply func([]byte) error) {
			answers(t, h, m, reply, func(asks *call.Lacking) any {
				switch {
				case asks.Content != nil && c.content != nil:
					return c.content()
				case asks.Module == "vendor/lib" && c.module != nil:
					return c.module()
				case asks.Module != "":
					return nil
				}
				return call.Pack{}
			})
		})
		require.NoError(t, err)
		w := a.borrows(h, id, id)
		_, err = w.TakeBeside(t.Context())
		require.ErrorContains(t, err, "get the submodules and files of Git LFS of run "+id)
		require.ErrorContains(t, err, c.told, id)
		if c.want != nil {
			require.ErrorIs(t, err, c.want, id)
		}
		if c.module != nil {
			require.NoDirExists(t, filepath.Join(w.Caches, "checkout", "modules", commit))
		}
		require.NoFileExists(t, filepath.Join(w.Caches, "checkout", "lfs", p.OID))
		w.Release()
		quit()
	}
	p.OID = strings.Repeat("0", 64)
	none, err := h.Packed(t.Context(), &call.Lacking{Content: &p})
	require.NoError(t, err)
	require.Empty(t, none, "what the base commit does not name is not lent")
	none, err = h.Packed(t.Context(), &call.Lacking{Module: "../x", Commit: commit})
	require.NoError(t, err)
	require.Empty(t, none)
}
