package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stranger is a user with no rights and no name.
const stranger = 12345

// Most people are not root. The tests that matter most run once more in a process of another user.
func TestAsSomebodyElse(t *testing.T) {
	if testing.Short() {
		t.Skip("many of the other tests again")
	}
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "stranger-") //nolint:usetesting // stranger must be able to reach it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, stranger, stranger))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run", "^("+strings.Join([]string{
		"TestEscapes", "TestAttacksWorkUnconfined", "TestSlowNothingSurvives", "TestNothingSurvivesTheParent", "TestHiddenIsNotRead",
		"TestHomeIsNotThere", "TestSlowMemoryIsBounded", "TestNetworkIsAskedFor", "TestWorksForGit", "TestWorksForMake",
		"TestWorksWithTerminals", "TestProbeSaysWhatIsTrue", "TestDownloadsAreWrittenBySetupAlone", "TestALinkInDownloadsLeadsNowhere",
		"TestOthersReadWhatSetupDownloaded", "TestCommandsOfAnAttemptShareTheirViews", "TestCommandsMeetOnTheLoopbackOfTheirKeeper",
		"TestViewsAreTriedOut", "TestLayersUnderAttack", "TestAKeeperOutlivesItsCommands", "TestLayersToolsAndStoresAreSeen", "TestALayerIsSeenThroughNoLink",
	}, "|")+")$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "GEMINI_API_KEY=planted-key")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	if Probe().Strict() == nil {
		require.Contains(t, string(out), "PASS: TestEscapes/full")
		require.Contains(t, string(out), "PASS: TestDownloadsAreWrittenBySetupAlone")
	}
}
