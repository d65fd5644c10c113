package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However a command fills the disk, it is killed, also where it ignores what it is told.
func TestSlowWhatIsWrittenInAllIsBounded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"one file that grows": `while :; do head -c 1M /dev/zero >> big || exit; sleep 0.05; done`,
		"many small files":    `i=0; while :; do head -c 1M /dev/zero | split -b 16K -a 4 - $i-; i=$((i + 1)); sleep 0.05; done`,
		"empty files":         `i=0; while :; do mkdir $i; (cd $i; seq 1000 | xargs touch); i=$((i + 1)); sleep 0.05; done`,
		"one that ignores SIGTERM": `trap '' TERM; setsid sh -c 'trap "" TERM; while :; do head -c 1M /dev/zero >> big; sleep 0.05; done' & ` +
			`while :; do wait; done`,
		"a directory that is closed": `mkdir shut; exec >> shut/big; chmod 0 shut; while :; do head -c 1M /dev/zero; sleep 0.05; done`,
		"a directory that is deep": `i=0; while [ $i -lt 400 ]; do mkdir d; cd d; i=$((i + 1)); done; ` +
			`while :; do head -c 1M /dev/zero >> big; sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRungs(t, func(t *testing.T, p place) {
				t.Helper()
				c := p.shell(script)
				c.Place.Disk, c.Timeout = NewDisk(6<<20), 2*time.Minute
				out := p.run(t, c)
				require.NotNil(t, out.OverDisk, out.Text())
				require.Equal(t, "killed", out.Signal)
				require.False(t, out.TimedOut)
				require.False(t, out.Success())
				require.Greater(t, out.OverDisk.Wrote, out.OverDisk.Most)
				require.Contains(t, out.Exceeded(), "and may write 6 MiB")
			}, full, oneWorld)
		})
	}
}

// A command below the bound is not disturbed, whatever its attempt found there; the commands of an attempt count together.
func TestTheCommandsOfAnAttemptCountTogether(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		old := filepath.Join(p.tree, "old")
		require.NoError(t, os.WriteFile(old, make([]byte, 80<<20), 0o600))
		c := p.shell(`head -c 40M /dev/zero > $(cat name); ln $(cat name) link; truncate -s 1G holes; [ $(cat name) = a ] && sleep 1.5 || sleep 60`)
		c.Place.Disk = NewDisk(64 << 20)
		c.Place.Disk.since = time.Now()
		for i, name := range []string{"a", "b"} {
			require.NoError(t, os.WriteFile(filepath.Join(p.tree, "name"), []byte(name), 0o600))
			require.NoError(t, os.RemoveAll(filepath.Join(p.tree, "link")))
			out := p.run(t, c)
			require.Equal(t, i == 0, out.Success(), "%s: %v", name, out)
			require.Equal(t, i == 1, out.OverDisk != nil)
		}
		c = p.shell(`rm a; sleep 1.5; head -c 2M /dev/zero > c; sleep 1.5`)
		out := p.run(t, c)
		require.True(t, out.Success(), "what was removed counts no more: %v", out)
	}, full)
}

// What is written over a layer lies outside the tree, and counts.
func TestWhatIsWrittenOverLayersIsBounded(t *testing.T) {
	t.Parallel()
	if Views() != nil {
		t.Skip("there are no views")
	}
	p := newPlace(t)
	layer, scratch := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(p.tree, "layer"), 0o700))
	place := Place{Tree: p.tree, Layers: []Layer{{Path: "layer", Lower: layer}}}
	keeper, err := StartKeeper(t.Context(), KeeperConfig{Place: place, Scratch: scratch})
	require.NoError(t, err)
	defer keeper.Close()
	place.Keeper, place.Disk = keeper, NewDisk(64<<20)
	out := p.run(t, Command{
		Args: []string{"sh", "-c", `while :; do head -c 1M /dev/zero >> layer/big; sleep 0.05; done`},
		Dir:  p.tree, Env: p.env, Place: place, Timeout: time.Minute,
	})
	require.NotNil(t, out.OverDisk, out.Text())
}

// A file without a name is nowhere to be found. The space comes back when its processes have ended.
func TestWhatHasNoNameIsNotCounted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`exec 8> gone; rm gone; head -c 80M /dev/zero >&8; sleep 1.5; rm -rf none`)
	c.Place.Disk = NewDisk(64 << 20)
	out := p.run(t, c)
	require.True(t, out.Success(), out.Text())
}
