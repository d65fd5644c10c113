package twin

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/trust"
	"divisi/orchestrator/run"
)

// What has landed is compared, and a command to which no person has agreed does not run.
func TestProveRunsWhatIsAgreed(t *testing.T) {
	t.Parallel()
	repo, head := checkout(t)
	s := run.NewState()
	s.Spec.Run, s.Spec.Repo, s.Head = "r1", repo, head
	p := spec.Project{Gates: []spec.Gate{script("same", "cat a.txt"), script("other", "exit 1")}}
	s.Spec.Project, s.Final = p, []spec.Receipt{{Gate: "same"}, {Gate: "other"}, {Gate: "added"}}
	s.Spec.Project.Gates = append(s.Spec.Project.Gates, script("added", "touch "+repo+"/evil"))
	mirror := t.TempDir()
	out, err := exec.Command("git", "clone", "-q", "--bare", repo, mirror).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.Command("git", "-C", mirror, "update-ref", run.IntegrationRef("r1"), head).CombinedOutput()
	require.NoError(t, err, string(out))
	found, err := Prove(s, t.TempDir(), mirror, trust.Unconfined(&p), func(string) {})(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"same"}, found.Equal)
	require.Len(t, found.Differences, 2)
	require.Equal(t, "added: not run outside the sandbox, because no person has agreed to its command", found.Differences[1].What)
	require.Contains(t, found.Differences[0].What, "other: green in the sandbox, red (exit code 1) in your shell")
	require.NoFileExists(t, repo+"/evil")

	found, err = Prove(s, t.TempDir(), mirror, nil, func(string) {})(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Differences, 3)
	require.Empty(t, found.Equal)
}
