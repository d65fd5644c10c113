package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// common is a place with a layer, a store and their keeper.
type common struct {
	place
	lower, stores string
	layers        Place
}

func newCommon(t *testing.T, p place, loopback bool) *common {
	t.Helper()
	k := &common{place: p, lower: t.TempDir(), stores: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(k.lower, "index.js"), []byte("as installed"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(k.stores, "package"), []byte("as downloaded"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(p.tree, "node_modules"), 0o700))
	k.layers = Place{Tree: p.tree, Stores: k.stores, Layers: []Layer{{Path: "node_modules", Lower: k.lower}}}
	keeper, err := p.level.keeper(t.Context(), KeeperConfig{Place: k.layers, Scratch: t.TempDir(), Loopback: loopback})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, keeper.Close()) })
	k.layers.Keeper = keeper
	return k
}

func (k *common) sh(t *testing.T, script string) *Output {
	t.Helper()
	c := k.shell(script)
	c.Place = k.layers
	return k.run(t, c)
}

// What a command writes over a layer or a store, the next one of its attempt finds, and nothing else does.
func TestCommandsOfAnAttemptShareTheirViews(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k, other := newCommon(t, p, false), newCommon(t, newPlace(t), false)
		out := k.sh(t, "echo changed > node_modules/index.js; echo new > node_modules/new; echo more > "+seenStores+"/more; rm "+seenStores+"/package")
		require.True(t, out.Success(), out.Text())
		require.Equal(t, "changed\nnew\nmore\n", k.sh(t, "cat node_modules/index.js node_modules/new "+seenStores+"/*").Text())
		require.Equal(t, "as installed", other.sh(t, "cat node_modules/*").Text())
		for dir, want := range map[string]int{k.lower: 1, k.stores: 1, filepath.Join(k.tree, "node_modules"): 0} {
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, want)
		}
		data, err := os.ReadFile(filepath.Join(k.lower, "index.js"))
		require.NoError(t, err)
		require.Equal(t, "as installed", string(data))
	}, full, sharedUser)
}

// Commands meet on the loopback of a keeper that has one, and on no other.
func TestCommandsMeetOnTheLoopbackOfTheirKeeper(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		k, other := newCommon(t, p, true), newCommon(t, newPlace(t), true)
		c := k.shell("python3 -c '" + serve + "' & while ! test -e ready; do sleep 0.01; done; exec cat; wait")
		c.Place = k.layers
		s, err := Start(t.Context(), c)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		ask := `while ! test -e ready; do sleep 0.01; done; python3 -c 'import socket; s = socket.create_connection(("127.0.0.1", 5432), 5); print(s.recv(9).decode())'`
		require.Equal(t, "a service\n", k.sh(t, ask).Text())
		c.Network = true
		_, err = p.level.run(t.Context(), c)
		require.ErrorIs(t, err, ErrInvalid)
		require.Contains(t, other.sh(t, "touch ready;"+ask).Text(), "refused")
	}, full)
}

const serve = `import socket; s = socket.create_server(("127.0.0.1", 5432)); open("ready", "w")
while True: s.accept()[0].sendall(b"a service")`

func TestViewsAreTriedOut(t *testing.T) {
	t.Parallel()
	for name, level := range rungs() {
		require.Equal(t, level.have(Namespaces), level.tryViews() == nil, name)
	}
}
