package environment_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/subagents/environment"
)

// whole is the recipe, on some tree, of a setup whose inputs its run alone tells.
func whole(tree string) environment.Recipe {
	r := recipe("sh", "setup.sh")
	r.Files = map[string]string{environment.WholeTree: tree}
	return r
}

func TestAnEnvironmentServesTheCommitsThatHaveWhatItsSetupRead(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	made := func(r environment.Recipe, read *environment.Read, content string) *environment.Environment {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "out"), content)
		e, made, err := newStore(t, caches).Make(t.Context(), r, unasked, func(ctx context.Context, m *environment.Making) error {
			if read != nil {
				m.DidRead(read)
			}
			return take(dir, "out")(ctx, m)
		})
		require.NoError(t, err)
		require.True(t, made)
		return e
	}
	made(whole("unknown"), nil, "0")
	read := &environment.Read{Files: map[string]string{"setup.sh": "1", "src": "1"}, Outline: "o"}
	e := made(whole("t1"), read, "1")
	again := made(whole("t2"), read, "1")
	require.Equal(t, e.Digest, again.Digest, "what it read is the same, so that receipts can be compared")

	for name, c := range map[string]struct {
		change func(*environment.Recipe, *environment.Tree)
		same   bool
	}{
		"another file":        {func(_ *environment.Recipe, t *environment.Tree) { t.Blobs["README"] = "2" }, true},
		"a file that it read": {func(_ *environment.Recipe, t *environment.Tree) { t.Blobs["src"] = "2" }, false},
		"such a file is gone": {func(_ *environment.Recipe, t *environment.Tree) { delete(t.Blobs, "src") }, false},
		"what is seen of all": {func(_ *environment.Recipe, t *environment.Tree) { t.Outline = "p" }, false},
		"another program": {func(r *environment.Recipe, _ *environment.Tree) {
			r.Programs = map[string]string{"node": "2"}
		}, false},
		"another command": {func(r *environment.Recipe, _ *environment.Tree) { r.Command = []string{"sh", "other.sh"} }, false},
		"a key":           {func(r *environment.Recipe, _ *environment.Tree) { r.Files = map[string]string{"src": "1"} }, false},
	} {
		tree := &environment.Tree{ID: "t3", Outline: "o", Blobs: map[string]string{"setup.sh": "1", "src": "1", "README": "1"}}
		r := whole("t3")
		c.change(&r, tree)
		found, err := newStore(t, caches).Same(r, tree)
		if !c.same {
			require.ErrorIs(t, err, environment.ErrNone, name)
			continue
		}
		require.NoError(t, err, name)
		require.Contains(t, []string{e.ID, again.ID}, found.ID, name)
	}

	// One that was changed since is none.
	for _, id := range []string{e.ID, again.ID} {
		write(t, filepath.Join(environment.Below(caches), id, "tree/out"), "longer")
	}
	_, err := newStore(t, caches).Same(whole("t3"), &environment.Tree{Outline: "o", Blobs: read.Files})
	require.ErrorIs(t, err, environment.ErrNone)
}

// Versions that no lock file names are those of one run of the setup: receipts of another one are not compared.
func TestWithoutALockFileWhatWasWrittenIsInTheDigest(t *testing.T) {
	t.Parallel()
	digest := func(content string, unlocked bool) string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "node_modules/dep/index.js"), content)
		e, _, err := newStore(t, t.TempDir()).Make(t.Context(), recipe("npm", "install"), unasked,
			func(ctx context.Context, m *environment.Making) error {
				if unlocked {
					m.Unlocked()
				}
				return take(dir, "node_modules")(ctx, m)
			})
		require.NoError(t, err)
		return e.Digest
	}
	first := digest("1", true)
	require.Equal(t, first, digest("1", true))
	require.NotEqual(t, first, digest("2", true))
	require.Equal(t, digest("1", false), digest("2", false))
}

func tried(e *environment.Environment, places []string) bool {
	_, tried := e.Remade(places)
	return tried
}

// What a later run finds out about an environment is kept with it, and changes its name in receipts where more is proven.
func TestWhetherDerivedFilesAreMadeAgainIsKept(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	s := newStore(t, caches)
	e, _, err := s.Make(t.Context(), recipe("npm", "ci"), unasked, take(tree(t), left...))
	require.NoError(t, err)
	dist := []string{"generated.txt"}
	require.False(t, tried(e, dist))
	name := func(s *environment.Store, e *environment.Environment) string {
		digest, err := s.Digest(e, dist, "", "level", "")
		require.NoError(t, err)
		return digest
	}
	before := name(s, e)
	require.NoError(t, e.KeepRemade(dist, "no"))
	require.Equal(t, before, name(s, e))
	both := []string{"gen", "generated.txt"}
	require.NoError(t, e.KeepRemade(both, "no gen"))
	require.NoError(t, e.KeepRemade(dist, ""))

	other := newStore(t, caches)
	e, err = other.Open(e.ID)
	require.NoError(t, err)
	require.True(t, e.Remakes(dist), "what other places lack says nothing about these")
	require.False(t, e.Remakes(both))
	require.True(t, tried(e, both))
	require.False(t, tried(e, []string{"gen"}))
	require.NotEqual(t, before, name(other, e))

	require.NoError(t, os.WriteFile(filepath.Join(e.Dir, "remade.json"), []byte(`{"places`), 0o600))
	e, err = newStore(t, caches).Open(e.ID)
	require.NoError(t, err)
	require.False(t, tried(e, dist), "what is damaged is found out again")
}

// An environment of a program that did not know what a setup reads is used as it was: by its own recipe, and for no other commit.
func TestAnOlderEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	const id = "152569535d9e8c8534f2e44acea26636"
	dir := filepath.Join(environment.Below(caches), id)
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/older")))
	file, then := filepath.Join(dir, "tree/dist/a.js"), time.Unix(1e9, 0) // as its list of the content has it
	require.NoError(t, errors.Join(os.Chmod(file, 0o644), os.Chmod(filepath.Dir(file), 0o755), os.Chtimes(file, then, then)))
	require.NoError(t, errors.Join(os.Mkdir(filepath.Join(dir, "tools"), 0o700), os.Mkdir(filepath.Join(dir, "stores"), 0o700)))
	e, made, err := newStore(t, caches).Make(t.Context(), whole("t1"), unasked, func(context.Context, *environment.Making) error {
		return errors.New("it is there")
	})
	require.NoError(t, err)
	require.False(t, made)
	require.Equal(t, []string{"dist"}, e.Files)
	require.False(t, tried(e, []string{"dist"}))
	require.False(t, e.Fits(&environment.Tree{}))
	_, err = newStore(t, caches).Same(whole("t2"), &environment.Tree{})
	require.ErrorIs(t, err, environment.ErrNone)
}
