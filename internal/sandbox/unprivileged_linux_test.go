package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// somebody is a user with no rights and no name.
const somebody = 12345

// Most people are not root. The tests that matter most run once more in a process of somebody else.
func TestAsSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	dir, err := os.MkdirTemp("", "somebody-") //nolint:usetesting // somebody must be able to reach it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, somebody, somebody))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run", "^("+strings.Join([]string{
		"TestEscapes", "TestAttacksWorkUnconfined", "TestNothingSurvives", "TestNothingSurvivesTheParent", "TestHiddenIsNotRead",
		"TestHomeIsNotThere", "TestMemoryIsBounded", "TestNetworkIsAskedFor", "TestWorksForGit", "TestWorksForMake",
		"TestWorksWithTerminals", "TestProbeSaysWhatIsTrue", "TestDownloadsAreWrittenBySetupAlone", "TestALinkInDownloadsLeadsNowhere",
		"TestOthersReadWhatSetupDownloaded",
	}, "|")+")$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "GEMINI_API_KEY=planted-key")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	if Probe().Strict() == nil {
		require.Contains(t, string(out), "PASS: TestEscapes/full")
		require.Contains(t, string(out), "PASS: TestDownloadsAreWrittenBySetupAlone")
	}
}
