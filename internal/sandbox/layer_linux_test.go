package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A layer is seen below the tree, tools and stores at places of their own. Without a keeper all are only read; a setup writes tools
// and stores.
func TestLayersToolsAndStoresAreSeen(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		lower, tools, stores := t.TempDir(), t.TempDir(), t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(lower, "index.js"), []byte("dependency"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(tools, "tool"), []byte("#!/bin/sh\necho ran"), 0o700))
		require.NoError(t, os.MkdirAll(filepath.Join(p.tree, "a/node_modules"), 0o700))
		c := p.shell("cat a/node_modules/index.js; tool; touch a/node_modules/x; touch $DIVISI_TOOLS/y; touch " + seenStores + "/z")
		c.Place = Place{Tree: p.tree, Tools: tools, Stores: stores, Layers: []Layer{{Path: "a/node_modules", Lower: lower}}}
		var err error
		c.Env, err = Env(Settings{Base: os.Environ(), Tools: c.Place.Seen().Tools, Home: p.tree, Temp: p.tree})
		require.NoError(t, err)
		out := p.run(t, c)
		require.Contains(t, out.Text(), "dependency")
		require.Contains(t, out.Text(), "ran\n")
		for _, file := range []string{lower + "/x", tools + "/y", stores + "/z", p.tree + "/a/node_modules/index.js"} {
			require.NoFileExists(t, file)
		}
		c.Place.Fill = true
		p.run(t, c)
		require.NoFileExists(t, lower+"/x")
		require.FileExists(t, tools+"/y")
		require.FileExists(t, stores+"/z")
	}, full, sharedUser)
}

// What a command put in the place of a layer leads to no place outside its tree.
func TestALayerIsSeenThroughNoLink(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		lower := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(lower, "index.js"), nil, 0o600))
		require.NoError(t, os.Symlink(p.outside, filepath.Join(p.tree, "link")))
		require.NoError(t, os.Symlink(p.outside, filepath.Join(p.tree, "top")))
		require.NoError(t, os.WriteFile(filepath.Join(p.tree, "file"), nil, 0o600))
		c := p.shell("find . | sort")
		c.Place = Place{Tree: p.tree, Layers: []Layer{
			{Path: "link/node_modules", Lower: lower}, {Path: "top", Lower: lower}, {Path: "file", Lower: lower}, {Path: "gone/x", Lower: lower},
		}}
		require.Equal(t, []string{".", "./file", "./link", "./top"}, lines(p.run(t, c).Text()))
		left, err := os.ReadDir(p.outside)
		require.NoError(t, err)
		require.Empty(t, left)
	}, full, sharedUser)
}
