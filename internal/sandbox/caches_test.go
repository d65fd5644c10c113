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
	var roots []string
	for _, who := range []Audience{
		Agents, Gates, Apart("a", true, false), Apart("a", false, true), Apart("a", true, true), Apart("b", true, false),
	} {
		home := t.TempDir()
		cache, err := caches.For(who, Place{Home: home}, t.TempDir())
		require.NoError(t, err)
		require.Len(t, cache.Writable, 1)
		require.False(t, cache.Downloads.Fill)
		require.DirExists(t, cache.Env["GOCACHE"])
		for _, name := range []string{"GOCACHE", "XDG_CACHE_HOME"} {
			require.True(t, strings.HasPrefix(cache.Env[name], cache.Writable[0]+"/"), name)
		}
		seen := Place{Home: home}.Seen().Home
		for _, name := range []string{"GOPATH", "CARGO_HOME", "npm_config_cache", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
			require.True(t, strings.HasPrefix(cache.Env[name], seen+"/"), name)
		}
		require.Equal(t, "local", cache.Env["GOTOOLCHAIN"])
		require.Equal(t, "off", cache.Env["GOENV"])
		_, err = Env(Settings{Vars: cache.Env})
		require.NoError(t, err)
		require.NotContains(t, roots, cache.Writable[0])
		roots = append(roots, cache.Writable[0])
	}
	setup, err := caches.For(Setup, Place{Home: t.TempDir()}, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, roots[1], setup.Writable[0])
	require.True(t, setup.Downloads.Fill)
}
