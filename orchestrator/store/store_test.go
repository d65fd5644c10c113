package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// No bytes of run.json make reading it panic. What is refused is told with the file's name, and what is read can be written
// again.
func FuzzMeta(f *testing.F) {
	for _, seed := range []string{
		`{"repo":"/r","nats":"nats://h:1","record":"d","demo":true}`, `{"repo`, `null`, `[]`, `{"repo":7}`, "", "\x00", `{"lost":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(MetaPath(dir), data, 0o600))
		m, err := ReadMeta(dir)
		if err != nil {
			require.ErrorContains(t, err, MetaPath(dir))
			require.ErrorContains(t, err, "with the server of the run")
			require.Zero(t, m)
			return
		}
		require.False(t, m.Lost)
		require.NoError(t, m.Write(dir))
		again, err := ReadMeta(dir)
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}

func TestADescriptionThatIsMissingIsNoRunThatNeverBegan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := ReadMeta(dir)
	require.ErrorContains(t, err, MetaPath(dir)+" is missing, and there is no store beside it")
	require.ErrorAs(t, err, new(*usage.Error))

	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bus", "jetstream"), 0o700))
	m, err := ReadMeta(dir)
	require.NoError(t, err)
	require.True(t, m.Lost)
	require.NoError(t, m.Write(dir))
	written, err := os.ReadFile(MetaPath(dir))
	require.NoError(t, err)
	require.False(t, bytes.Contains(written, []byte("lost")), "what is written is there")
}

func TestALogWithoutItsFirstEventIsNeverShownAsARun(t *testing.T) {
	t.Parallel()
	g := Dir{Path: "/state"}
	st := run.NewState()
	err := g.Check(st, "r1")
	require.ErrorContains(t, err, "run r1 has no events")
	require.ErrorContains(t, err, "/state/runs/r1/bus")
	require.ErrorAs(t, err, new(*usage.Error))
	st.Unread = []string{"event at 1 could not be read: garbage"}
	require.ErrorContains(t, g.Check(st, "r1"), "event at 1 could not be read: garbage")
	st.Spec.Run = "r1"
	require.NoError(t, g.Check(st, "r1"))
}
