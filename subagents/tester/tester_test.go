package tester

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/egress"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/environment"
	"divisi/subagents/wire"
)

// The key of a setup stands for what it depends on, and for nothing that differs between two runs.
func TestTheKeyOfASetup(t *testing.T) {
	t.Parallel()
	type given struct {
		run, home, path, command, tree, user string
		loopback                             bool
		key                                  []string
		files                                map[string]string
	}
	key := func(g given) string {
		store := environment.NewStore(t.TempDir(), os.RemoveAll, time.Now)
		x := &Executor{
			Environments: store, Tree: g.tree, Environ: []string{"HOME=" + g.user},
			Assignment: &wire.Assignment{Setup: []string{g.command}, Project: spec.Project{
				Loopback: g.loopback, Setup: spec.Setup{Command: []string{g.command}, Key: g.key},
			}},
			Blobs:   func(context.Context) (map[string]string, error) { return g.files, nil },
			Outline: func(context.Context) (string, error) { return "", nil },
		}
		place := sandbox.Place{Tree: g.home + "/tree", Home: g.home, Temp: g.home + "-tmp"}
		place.Downloads.Lent = g.user + "/go/pkg/mod"
		seen := place.Seen()
		recipe, _, err := x.recipe(t.Context(), Ground{
			Place: place, Env: []string{
				"DIVISI_RUN=" + g.run, "HOME=" + seen.Home, "DIVISI_TASK=" + g.run, "PATH=" + g.path,
				"GOPROXY=file://" + g.user + "/go/pkg/mod/cache/download,https://proxy.test", "RUSTUP_HOME=" + g.user + "/.rustup",
				"GOCACHE=" + g.home + "/builds",
			},
		})
		require.NoError(t, err)
		return recipe.Key()
	}
	search := t.TempDir()
	npm := filepath.Join(search, "npm")
	require.NoError(t, os.WriteFile(npm, []byte("#!/bin/sh"), 0o755))
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "npm"), []byte("#!/bin/sh"), 0o755))
	base := func(change func(*given)) given {
		g := given{
			path: search, run: "r1", home: "/s/r1/home", command: "npm", key: []string{"lock"}, tree: "t1", user: "/home/a",
			files: map[string]string{"lock": "1", "other": "1"},
		}
		change(&g)
		return g
	}
	same := key(base(func(*given) {}))
	require.Equal(t, same, key(base(func(g *given) { g.run, g.home = "r2", "/s/r2/home" })))
	require.Equal(t, same, key(base(func(g *given) { g.user, g.home, g.path = "/home/b", "/var/b/home", elsewhere })))
	require.Equal(t, same, key(base(func(g *given) { g.files["other"], g.tree = "2", "t2" })))
	for name, change := range map[string]func(*given){
		"content": func(g *given) { g.files["lock"] = "2" }, "file": func(g *given) { g.key = []string{"lock", "other"} },
		"command": func(g *given) { g.command = "yarn" }, "loopback": func(g *given) { g.loopback = true },
		"environment": func(g *given) { g.path = "/usr/bin" }, "gone": func(g *given) { delete(g.files, "lock") },
		"no key":  func(g *given) { g.key = nil },
		"program": func(*given) { require.NoError(t, os.WriteFile(npm, []byte("#!/bin/sh -e"), 0o755)) },
	} {
		require.NotEqual(t, same, key(base(change)), name)
		require.NoError(t, os.WriteFile(npm, []byte("#!/bin/sh"), 0o755))
	}
	whole := base(func(g *given) { g.key = nil })
	other := base(func(g *given) { g.key, g.tree = nil, "t2" })
	require.NotEqual(t, key(whole), key(other), "without a key it depends on all files")
}

// What loopback opens is offered for the hosts that it opens, and for no other.
func TestASetupIsToldWhatLoopbackOpens(t *testing.T) {
	t.Parallel()
	own := &egress.RefusedError{Host: "127.0.0.1", Why: "an address of this machine"}
	cloud := &egress.RefusedError{Host: "169.254.169.254", Why: "a metadata address"}
	require.Empty(t, unlikeYours(&sandbox.Output{}, nil))
	require.Equal(t, `; its proxy refused ["169.254.169.254"]`, unlikeYours(&sandbox.Output{Refused: []*egress.RefusedError{cloud}}, nil))
	require.Contains(t, unlikeYours(&sandbox.Output{Refused: []*egress.RefusedError{cloud, own}}, nil), `allows ["127.0.0.1"], `)
}
