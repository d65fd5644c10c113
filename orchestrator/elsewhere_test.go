package orchestrator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
)

// The machine that ran the setup is gone. Another one, of another person with other settings, makes its own environment and proves.
func TestAWorkerMakesItsOwnEnvironment(t *testing.T) {
	if testing.Short() {
		t.Skip("a worker that is lost costs 15 seconds")
	}
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	project := "setup: {command: [sh, -c, 'echo made > \"$DIVISI_TOOLS/made\"']}\n" +
		"gates:\n  - {name: test, command: [sh, -c, 'cat \"$DIVISI_TOOLS/made\" && grep -iq note notes.txt']}\n"
	require.NoError(t, os.WriteFile(filepath.Join(repo, ".divisi", "divisi.yaml"), []byte(project), 0o600))
	gitIn(t, repo, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-qam", "Set up")
	h := hostAt(t, filepath.Join(dir, "host"), url)
	id := submitted(t, half{
		State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Review: true,
		Role: "[sed, -i, 's/.*/A NOTE/', '{files}']",
	})
	worker := func(name string) *process {
		home := filepath.Join(dir, name+"-home")
		require.NoError(t, os.Mkdir(home, 0o700))
		return spawn(t, half{Work: true, Name: name, State: filepath.Join(dir, name), NATS: url}, func(cmd *exec.Cmd) {
			cmd.Env = append(cmd.Env, "HOME="+home, "PIP_INDEX_URL=https://"+name+".test/simple")
		})
	}
	one := worker("one")
	r, err := orchestrator.On(orchestrator.Server{URL: url}).Open(t.Context(), id)
	require.NoError(t, err)
	q := open(t, r, "capitals")
	one.kill()
	two := worker("two")
	_, err = r.Act(t.Context(), act.Decide{Decision: q.ID, Attempt: q.Attempt, Option: q.Options[0].Name})
	require.NoError(t, err)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", end.State, end.Reason)
	require.NoError(t, r.Close())
	two.ended()
	h.stopped()
}
