package tester

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/egress"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// The key of a setup stands for what it depends on, and for nothing that differs between two runs.
func TestTheKeyOfASetup(t *testing.T) {
	t.Parallel()
	type given struct {
		run, home, tools, path, command string
		loopback                        bool
		key                             []string
		files                           map[string]string
	}
	key := func(g given) string {
		x := &Executor{
			Assignment: &wire.Assignment{Setup: []string{g.command}, Project: spec.Project{
				Loopback: g.loopback, Setup: spec.Setup{Command: []string{g.command}, Key: g.key},
			}},
			Blobs: func(context.Context) (map[string]string, error) { return g.files, nil },
		}
		place := sandbox.Place{Tree: g.home + "/tree", Home: g.home, Temp: g.home + "-tmp", Tools: g.tools}
		seen := place.Seen()
		key, err := x.setupKey(t.Context(), Ground{
			Place: place, Env: []string{"DIVISI_RUN=" + g.run, "HOME=" + seen.Home, "PATH=" + seen.Tools + "/bin:" + g.path},
		})
		require.NoError(t, err)
		return key
	}
	base := func(change func(*given)) given {
		g := given{
			run: "r1", home: "/s/r1/home", tools: "/s/r1/tools", path: "/bin", command: "npm", key: []string{"lock"},
			files: map[string]string{"lock": "1", "other": "1"},
		}
		change(&g)
		return g
	}
	same := key(base(func(*given) {}))
	require.NotEmpty(t, same)
	require.Equal(t, same, key(base(func(g *given) { g.run, g.home, g.tools = "r2", "/s/r2/home", "/s/r2/tools" })))
	require.Equal(t, same, key(base(func(g *given) { g.files["other"] = "2" })))
	require.Empty(t, key(base(func(g *given) { g.key = nil })))
	for name, change := range map[string]func(*given){
		"content": func(g *given) { g.files["lock"] = "2" }, "file": func(g *given) { g.key = []string{"lock", "other"} },
		"command": func(g *given) { g.command = "yarn" }, "loopback": func(g *given) { g.loopback = true },
		"environment": func(g *given) { g.path = "/usr/bin" }, "gone": func(g *given) { delete(g.files, "lock") },
	} {
		require.NotEqual(t, same, key(base(change)), name)
	}
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
