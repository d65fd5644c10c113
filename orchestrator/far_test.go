package orchestrator_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
)

// Gates and agents find the same commits and tags on this machine, on a worker elsewhere, and on one that works for a host.
func TestSlowCommitsAndTagsAreOnEveryMachine(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	me := []string{"-c", "user.name=a", "-c", "user.email=a@b.test"}
	gitIn(t, repo, append(me, "tag", "-a", "v1.0", "-m", "one")...)
	gate := `test "$(git describe --tags --abbrev=0)" = v1.0 && test "$(git log --oneline origin/main | wc -l)" -eq 2 && ` +
		`git diff --quiet origin/main...HEAD -- .divisi`
	project := "gates:\n  - {name: history, command: [sh, -c, '" + gate + "']}\n"
	require.NoError(t, os.WriteFile(filepath.Join(repo, ".divisi", "divisi.yaml"), []byte(project), 0o600))
	gitIn(t, repo, append(me, "commit", "-qam", "Look back")...)
	command := "[sh, -c, 'git describe --tags >notes.txt; git log --oneline >>notes.txt; git tag >>notes.txt']"
	want := strings.TrimSpace(gitIn(t, repo, "describe", "--tags")) + "\n" + gitIn(t, repo, "log", "--oneline") + "v1.0\n"

	r, err := orchestrator.Start(t.Context(), orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: laptop}, Repo: repo, Plan: &plan, Roles: []orchestrator.File{role(command)},
		Trust: func(context.Context, []string) (bool, error) { return true, nil },
	})
	require.NoError(t, err)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done 1 landed", end.State+" "+end.Reason)
	require.NoError(t, r.Close())
	require.Equal(t, want, gitIn(t, repo, "show", end.Ref+":notes.txt"))

	h := half{State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: command, Parallel: 1}
	conduct := spawn(t, h)
	id := conduct.line()
	work := spawn(t, half{Work: true, State: filepath.Join(dir, "work"), NATS: url})
	require.Contains(t, conduct.line(), "done refs/heads/divisi/"+id+" 1 landed", "%s", &work.err)
	conduct.ended()
	work.ended()
	require.Equal(t, want, gitIn(t, repo, "show", "divisi/"+id+":notes.txt"))

	hosting := hostAt(t, filepath.Join(dir, "host"), url)
	id = submitted(t, h)
	work = spawn(t, half{Work: true, State: filepath.Join(dir, "other"), NATS: url})
	r, err = orchestrator.On(orchestrator.Server{URL: url}).Open(t.Context(), id)
	require.NoError(t, err)
	end, err = r.Wait(t.Context())
	require.NoError(t, err)
	require.Contains(t, end.State+" "+end.Reason, "done 1 landed")
	require.NoError(t, r.Close())
	work.ended()
	hosting.stopped()
	require.Equal(t, want, gitIn(t, filepath.Join(dir, "host", "runs", id, "repo.git"), "show", end.Ref+":notes.txt"))
}
