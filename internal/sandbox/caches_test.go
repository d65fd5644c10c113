package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlagsAreMerged(t *testing.T) {
	t.Parallel()
	for theirs, want := range map[string]string{
		"":                             "-trimpath -modcacherw -buildvcs=false",
		"-mod=vendor -tags=a,b":        "-trimpath -modcacherw -buildvcs=false -mod=vendor -tags=a,b",
		"-buildvcs=true --trimpath":    "-modcacherw -buildvcs=true --trimpath",
		"'-ldflags=-X main.a=b' -race": "-trimpath -modcacherw -buildvcs=false '-ldflags=-X main.a=b' -race",
	} {
		require.Equal(t, want, Toolchain{Flags: theirs}.flags(true))
	}
}

func TestModulesComeFromTheUsersCacheFirst(t *testing.T) {
	t.Parallel()
	for want, tool := range map[string]Toolchain{
		"file:///m%20c/cache/download,https://a.example|https://b.example,direct": {
			Proxy: "https://a.example|https://b.example,direct",
		},
		"file:///m%20c/cache/download,https://a.example|direct": {
			Proxy: "https://a.example|https://me:pw@b.example,direct",
		},
		"file:///m%20c/cache/download,off": {
			Proxy:   "https://a.example",
			NoProxy: "corp.example",
		},
		"file:///m%20c/cache/download": {Proxy: "https://me@b.example"},
	} {
		tool.ModCache = "/m c"
		require.Equal(t, want, tool.proxy())
		require.NotContains(t, tool.proxy(), "pw")
	}
}

func TestAudiencesShareNothing(t *testing.T) {
	t.Parallel()
	caches := Caches{
		Dir: t.TempDir(),
		Go:  Toolchain{Root: "/usr/local/go", ModCache: "/home/u/go/pkg/mod", BuildCache: "/home/u/.cache/go-build"},
	}
	agents, err := caches.For(Agents)
	require.NoError(t, err)
	gates, err := caches.For(Gates)
	require.NoError(t, err)
	for _, cache := range []Cache{agents, gates} {
		require.Len(t, cache.Writable, 1)
		require.DirExists(t, cache.Env["GOCACHE"])
		for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "npm_config_cache", "CARGO_HOME", "XDG_CACHE_HOME"} {
			require.True(t, strings.HasPrefix(cache.Env[name], cache.Writable[0]+"/"), name)
		}
		require.Equal(t, "local", cache.Env["GOTOOLCHAIN"])
		_, err := Env(Settings{Vars: cache.Env})
		require.NoError(t, err)
	}
	require.NotEqual(t, agents.Writable, gates.Writable)
	require.False(t, strings.HasPrefix(gates.Writable[0], agents.Writable[0]))
}

// A real go command, confined, with caches of its own: the user's stay as they are.
func TestGoWorksConfined(t *testing.T) {
	t.Parallel()
	tool, err := AskGo(t.Context())
	require.NoError(t, err)
	if tool.Root == "" {
		t.Skip("no go on PATH")
	}
	p := newPlace(t)
	cache, err := Caches{Dir: t.TempDir(), Go: tool}.For(Gates)
	require.NoError(t, err)
	env, err := Env(Settings{Base: os.Environ(), Path: cache.Path, Home: p.outside, Temp: p.outside, Vars: cache.Env})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.tree, "go.mod"), []byte("module tiny\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.tree, "a.go"), []byte("package tiny\n\nconst A = 1\n"), 0o600))
	out := p.run(t, Command{
		Args: []string{"go", "build", "./..."}, Dir: p.tree, Env: env, Writable: append(cache.Writable, p.tree, p.outside),
	})
	require.True(t, out.Success(), out.Text())
	built, err := filepath.Glob(filepath.Join(cache.Env["GOCACHE"], "*", "*-a"))
	require.NoError(t, err)
	require.NotEmpty(t, built)
	c := Command{Args: []string{"go", "env", "GOFLAGS"}, Dir: p.tree, Env: env}
	require.Equal(t, []string{tool.flags(true)}, lines(p.run(t, c).Text()))
}
