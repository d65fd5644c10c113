package publish

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/githubtest"
	"divisi/orchestrator/forge/github"
	"divisi/orchestrator/pull"
	"divisi/orchestrator/run"
)

// bare are the branches of the repository of a hub.
type bare struct{ *githubtest.Hub }

// Head implements Branches.
func (b bare) Head(_ context.Context, branch string) (string, error) { return b.Hub.Head(branch), nil }

// Push implements Branches.
func (b bare) Push(ctx context.Context, branch, commit, _ string) error {
	return exec.CommandContext(ctx, "git", "-C", b.Dir, "update-ref", "refs/heads/"+branch, commit).Run()
}

// Where a forge takes twenty an hour, two hundred pull requests at that pace are refused never.
func TestSlowTwoHundredAtTwentyAnHour(t *testing.T) {
	t.Parallel()
	const secret, many = "ghp_0123456789secret", 200
	clock := githubtest.NewClock(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
	h := githubtest.New(t, githubtest.Options{
		Owner: "acme", Name: "shop", Now: clock.Now, Creations: 20,
		Tokens: map[string]githubtest.Token{secret: {Login: "bot", Push: true}},
	})
	h.Commit("main", "first", map[string]string{"a.txt": "a\n"})
	commit := h.Commit("topic", "change", map[string]string{"a.txt": "b\n"})
	at, err := github.New(github.Options{API: h.API, Owner: "acme", Name: "shop", Token: secret, Clock: clock})
	require.NoError(t, err)
	w, began := newWorld(false), clock.Now()
	p := w.publisher(t)
	p.Forge, p.Branches, p.Now, p.Pace, p.Auto, p.Reviewers = at, bare{h}, clock.Now, pull.Pace{PerHour: 20}, false, nil
	p.Wait = func(ctx context.Context, _ Item, until time.Time) error {
		return clock.Wait(ctx, until.Sub(clock.Now()))
	}
	note := p.Note
	p.Note = func(ctx context.Context, d run.PullData) error {
		w.now = clock.Now() // that of the log
		return note(ctx, d)
	}
	for i := range many {
		it := item(commit)
		it.Head = fmt.Sprintf("divisi/r-%d", i)
		require.NoError(t, p.Put(t.Context(), it))
	}
	require.Len(t, h.Pulls, many)
	require.Zero(t, h.Count("limited"))
	calls := 0
	for _, name := range []string{"GET /pulls", "GET /pulls/{n}", "POST /pulls", "POST /issues/{n}/labels", "PATCH /pulls/{n}"} {
		calls += h.Count(name)
	}
	took := clock.Now().Sub(began)
	t.Logf("%d pull requests in %s: %.1f calls each, %.0f an hour, 0 refused", many, took.Round(time.Minute),
		float64(calls)/many, float64(calls)/took.Hours())
	require.Less(t, took, 10*time.Hour)
}
