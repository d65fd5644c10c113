package orchestrator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

// open waits until the run asks about a task.
func open(t *testing.T, r *orchestrator.Run, about string) orchestrator.Decision {
	t.Helper()
	for line, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		if !strings.Contains(string(line), `"held"`) {
			continue
		}
		all, err := r.Decisions(t.Context())
		require.NoError(t, err)
		for i := range all {
			if all[i].About == about {
				return all[i]
			}
		}
	}
	require.Fail(t, "the run has ended")
	return orchestrator.Decision{}
}

// A host is killed between two patches, and its disk is lost: another one, which stood by, lands the second on the first.
func TestSlowAnotherHostTakesARunOver(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	require.NoError(t, os.WriteFile(filepath.Join(repo, "more.txt"), []byte("more\n"), 0o600))
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-qm", "Add more")
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	first := hostAt(t, one, url)
	second := hostAt(t, two, url)
	id := submitted(t, half{
		State: laptop, NATS: url, Repo: repo, Plan: "plan.yaml", Review: true, Role: "[sed, -i, 's/.*/A NOTE/', '{files}']", PlanText: `
goal: Write the notes in capitals
tasks:
  - {id: capitals, role: editor, brief: Write the file in capitals., files: [notes.txt]}
  - {id: more, role: editor, brief: Write the other one., files: [more.txt], depends_on: [capitals]}
`,
	})
	require.NotEmpty(t, id)
	work := spawn(t, half{Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: url})
	runs := orchestrator.On(orchestrator.Server{URL: url})
	r, err := runs.Open(t.Context(), id)
	require.NoError(t, err)
	q := open(t, r, "capitals")
	_, err = r.Act(t.Context(), act.Decide{Decision: q.ID, Attempt: q.Attempt, Option: q.Options[0].Name})
	require.NoError(t, err)
	open(t, r, "more")
	first.kill()
	require.NoError(t, os.RemoveAll(one))
	require.NoError(t, r.Close())

	setUp(t, url, id, 2)
	r, err = runs.Open(t.Context(), id)
	require.NoError(t, err)
	q = open(t, r, "more")
	_, err = r.Act(t.Context(), act.Decide{Decision: q.ID, Attempt: q.Attempt, Option: q.Options[0].Name})
	require.NoError(t, err)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", end.State, end.Reason)
	work.ended()

	// A third one gets what has ended too.
	third := hostAt(t, one, url)
	r, err = runs.Open(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Eventually(t, func() bool {
		at, err := exec.CommandContext(t.Context(), "git", "--git-dir", filepath.Join(one, "runs", id, "repo.git"), "rev-parse",
			run.IntegrationRef(id)).Output()
		return err == nil && strings.TrimSpace(string(at)) == end.Head
	}, time.Minute, 50*time.Millisecond)
	second.stopped()
	require.Eventually(t, func() bool {
		ids, err := runs.List(t.Context())
		return err == nil && len(ids) == 1
	}, time.Minute, 50*time.Millisecond)
	r, err = runs.Open(t.Context(), id)
	require.NoError(t, err)
	// Also where the other host was gone before the branch was here.
	require.NoError(t, os.RemoveAll(filepath.Join(one, "runs", id, "repo.git")))
	result, err := orchestrator.PublishTo(t.Context(), r, repo)
	require.NoError(t, err)
	require.Equal(t, "A NOTE\n", gitIn(t, repo, "show", result.Ref+":notes.txt"))
	require.Equal(t, "A NOTE\n", gitIn(t, repo, "show", result.Ref+":more.txt"))
	gitIn(t, repo, "fsck", "--strict")
	require.NoError(t, r.Close())
	third.stopped()
}

// A host is restored from a backup while its old self lives: they have one identity, and took the lease from each other for ever.
func TestAHostEndsWhenAnotherOneHasItsIdentity(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	old := hosts(t, one, url)
	defer old.Stop()
	id, err := os.ReadFile(filepath.Join(one, "host", "id"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(two, "host"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(two, "host", "id"), id, 0o600))
	restored := hosts(t, two, url)
	defer restored.Stop()
	select {
	case err := <-old.Failed():
		require.ErrorIs(t, err, bus.ErrTwin)
		require.ErrorContains(t, err, "another host has the identity of this one, as a copy of "+one+" has, and conducts now: stop one of them")
	case <-time.After(30 * time.Second):
		require.Fail(t, "the old host does not notice")
	}
	runs := orchestrator.On(orchestrator.Server{URL: url})
	_, err = runs.List(t.Context())
	require.NoError(t, err, "the other one conducts")
	require.Empty(t, restored.Failed())
}
