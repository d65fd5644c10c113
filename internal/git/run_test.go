package git

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

// callers are variables of a hook of another repository, and of a shell with settings.
var callers = []string{
	"HOME=/me", "GIT_DIR=/planted", "GIT_INDEX_FILE=/planted", "GIT_WORK_TREE=/planted", "GIT_OBJECT_DIRECTORY=/planted",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES=/planted", "GIT_QUARANTINE_PATH=/planted", "GIT_PREFIX=planted/", "GIT_NAMESPACE=planted",
	"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=/theirs", "GIT_CONFIG_GLOBAL=/settings",
}

func TestTheRepositoryOfTheCallerIsNotOurs(t *testing.T) {
	t.Parallel()
	wanted := []string{"HOME=/me", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=/theirs", "GIT_CONFIG_GLOBAL=/settings"}
	require.Equal(t, append(wanted, "GIT_TERMINAL_PROMPT=0"), ownEnv(callers))
	other := []string{"GIT_CONFIG_PARAMETERS='core.bare=true'", "GIT_SSH_COMMAND=planted", "LD_PRELOAD=planted", "GIT_TRACE=1"}
	require.Equal(t, append(wanted, "LC_ALL=C"), userEnv(append(other, callers...)))
}

// Settings in numbered variables are the person's, as a continuous integration gives them.
func TestNumberedSettingsCount(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	g.userEnv = userEnv([]string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=/theirs"})
	s, err := g.userSettings(t.Context(), nowhere)
	require.NoError(t, err)
	require.Equal(t, []string{"/theirs"}, s.safeDirectories())
}

// The reader of a pack may be busy for longer than a git that has ended waits for its pipes.
func TestAReaderMayBeSlow(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := b.g.exec(t.Context(), call{dir: Dir{GitDir: b.m.Dir()}, stdout: pw, args: []string{"rev-parse", b.base}})
		done <- pw.CloseWithError(err)
	}()
	<-time.After(waitDelay + waitDelay/2)
	out, err := io.ReadAll(pr)
	require.NoError(t, err)
	require.Equal(t, b.base+"\n", string(out))
	require.NoError(t, chantest.Next(t, done))
}
