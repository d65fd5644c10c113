package sandbox

import (
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
		own := []string{"/m c/cache/download"}
		require.Equal(t, want, tool.proxy(own))
		require.NotContains(t, tool.proxy(own), "pw")
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
	require.Contains(t, agents.Env["GOPROXY"], gates.Env["GOMODCACHE"], "agents can use what setup downloaded for gates")
	require.NotContains(t, gates.Env["GOPROXY"], agents.Env["GOMODCACHE"])
	require.NotContains(t, strings.Join(gates.Readable, " "), agents.Writable[0])
	require.False(t, strings.HasPrefix(gates.Writable[0], agents.Writable[0]))
}
