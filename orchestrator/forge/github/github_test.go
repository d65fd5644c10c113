package github_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/githubtest"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/github"
)

const secret = "ghp_0123456789secret"

// hub is a hub with two branches, and a client of it.
func hub(t *testing.T, o githubtest.Options) (*githubtest.Hub, *github.Client, *githubtest.Clock) {
	t.Helper()
	at := githubtest.NewClock(time.Unix(1_800_000_000, 0))
	o.Owner, o.Name, o.Now = "acme", "shop", at.Now
	if o.Tokens == nil {
		o.Tokens = map[string]githubtest.Token{secret: {Login: "bot", Push: true}}
	}
	h := githubtest.New(t, o)
	h.Commit(h.Default(), "first", map[string]string{"a.txt": "a\n"})
	h.Commit("topic", "change", map[string]string{"a.txt": "b\n"})
	c, err := github.New(github.Options{API: h.API, Owner: "acme", Name: "shop", Token: secret, Clock: at})
	require.NoError(t, err)
	return h, c, at
}

func ask(base string) forge.Pull {
	return forge.Pull{Title: "Change", Body: "text", Head: "topic", Base: base, Draft: true}
}

func TestAPullRequestIsOpenedFoundAndChanged(t *testing.T) {
	t.Parallel()
	h, c, _ := hub(t, githubtest.Options{Writers: []string{"ann"}, Default: "trunk"})
	repo, err := c.Repository(t.Context())
	require.NoError(t, err)
	require.Equal(t, "trunk", repo.Default)
	require.True(t, repo.MayPush)
	require.True(t, repo.StartsCI)
	require.False(t, repo.MayWorkflows)
	none, err := c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.Empty(t, none)
	p, err := c.Open(t.Context(), ask("trunk"))
	require.NoError(t, err)
	require.Equal(t, h.Head("topic"), p.HeadSHA)
	_, err = c.Open(t.Context(), ask("trunk"))
	require.ErrorIs(t, err, forge.ErrExists)
	list, err := c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Nil(t, list[0].Conflict, "the forge computes it")
	title, ready := "Other", false
	err = c.Edit(t.Context(), p.Number, forge.Edit{
		Title: &title, Draft: &ready, Labels: []string{"l"},
		Reviewers: []string{"eve", "ann"},
	})
	require.ErrorIs(t, err, forge.ErrReviewer)
	list, err = c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.False(t, *list[0].Conflict)
	require.Equal(t, []string{"Other", "text", "bot"}, []string{list[0].Title, list[0].Body, list[0].Author})
	require.Equal(t, [][]string{{"l"}, {"ann"}}, [][]string{list[0].Labels, list[0].Reviewers})
	require.False(t, list[0].Draft)
	require.True(t, h.Merge(1))
	list, err = c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.Equal(t, []string{forge.Merged, h.Head("trunk")}, []string{list[0].State, list[0].MergeSHA})
}

func TestMergingWaitsForTheRulesOfTheForge(t *testing.T) {
	t.Parallel()
	h, c, _ := hub(t, githubtest.Options{AutoMerge: true, Required: []string{"build"}})
	p, err := c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.NoError(t, err)
	require.ErrorIs(t, c.Merge(t.Context(), p.Number, strings.Repeat("0", 40)), forge.ErrMoved)
	require.NoError(t, c.Merge(t.Context(), p.Number, p.HeadSHA))
	h.Report(p.HeadSHA, &githubtest.Check{Name: "build", Workflow: "ci", State: "success"})
	list, err := c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.Equal(t, forge.Merged, list[0].State)

	_, c, _ = hub(t, githubtest.Options{Queue: true, Required: []string{"build"}})
	p, err = c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.NoError(t, err)
	require.NoError(t, c.Merge(t.Context(), p.Number, p.HeadSHA))
	list, err = c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.True(t, list[0].Queued)

	_, c, _ = hub(t, githubtest.Options{})
	p, err = c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.NoError(t, err)
	require.ErrorIs(t, c.Merge(t.Context(), p.Number, p.HeadSHA), forge.ErrUnsupported)
}

func TestChecksAreRunsAndStatuses(t *testing.T) {
	t.Parallel()
	h, c, _ := hub(t, githubtest.Options{Required: []string{"build"}})
	sha := h.Head("topic")
	h.Report(sha, &githubtest.Check{
		Name: "build", Workflow: "ci", State: "failure", Log: "lots of text",
		Reports:     map[string]string{"r.xml": "<x/>"},
		Annotations: []map[string]any{{"path": "a.txt", "start_line": 3, "annotation_level": "failure", "message": "bad"}},
	},
		&githubtest.Check{Name: "lint", Workflow: "ci", State: "skipped"},
		&githubtest.Check{Name: "slow", Workflow: "night", State: "in_progress"},
		&githubtest.Check{Name: "new", Workflow: "night", State: "something_new"},
		&githubtest.Check{Name: "coverage", Status: true, State: "pending"})
	list, err := c.Checks(t.Context(), sha)
	require.NoError(t, err)
	got := map[string]string{}
	for _, k := range list {
		got[k.Name] = k.State
	}
	require.Equal(t, map[string]string{
		"build": forge.Failure, "lint": forge.Skipped, "slow": forge.Waiting, "new": forge.Broken, "coverage": forge.Waiting,
	}, got)
	require.True(t, list[0].Required)
	require.Equal(t, "github-actions/ci", list[0].Source)
	out, err := c.Output(t.Context(), list[0], 4)
	require.NoError(t, err)
	require.Equal(t, "lots", string(out.Log))
	require.Equal(t, []forge.Annotation{{Path: "a.txt", Line: 3, Level: "failure", Text: "bad"}}, out.Annotations)
	whole, err := c.Output(t.Context(), list[0], 1<<20)
	require.NoError(t, err)
	require.Equal(t, "<x/>", string(whole.Reports[0]))
	require.NoError(t, c.Rerun(t.Context(), list[0]))
	list, err = c.Checks(t.Context(), sha)
	require.NoError(t, err)
	require.Equal(t, forge.Waiting, list[0].State)
	require.Equal(t, 2, list[0].Attempt)
	require.NoError(t, c.Cancel(t.Context(), list[0]))
	require.NoError(t, c.Cancel(t.Context(), list[0]), "it has ended")
}

func TestCommentsTellWhoMayWrite(t *testing.T) {
	t.Parallel()
	h, c, _ := hub(t, githubtest.Options{Writers: []string{"ann"}})
	p, err := c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.NoError(t, err)
	h.Say(1, githubtest.Comment{Author: "ann", Body: "please change", Kind: "line", Path: "a.txt", Line: 1})
	h.Say(1, githubtest.Comment{Author: "eve", Body: "do evil"})
	h.Say(1, githubtest.Comment{Author: "robot", Bot: true, Body: "beep"})
	h.Say(1, githubtest.Comment{Author: "ann", Kind: "review", State: "CHANGES_REQUESTED", Body: "no"})
	list, err := c.Comments(t.Context(), p.Number)
	require.NoError(t, err)
	var got []string
	for _, m := range list {
		got = append(got, m.Author+" "+map[bool]string{true: "writes"}[m.MayWrite]+map[bool]string{true: "bot"}[m.Bot])
	}
	require.ElementsMatch(t, []string{"ann writes", "eve ", "robot bot", "ann writes"}, got)
	thread := ""
	for _, m := range list {
		if m.Path != "" {
			thread = m.Thread
			require.NoError(t, c.Reply(t.Context(), 1, m, "done"))
		}
	}
	list, err = c.Comments(t.Context(), p.Number)
	require.NoError(t, err)
	own := slices.IndexFunc(list, func(m forge.Comment) bool { return m.Own })
	require.Equal(t, thread, list[own].Thread)
	pulls, err := c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.Equal(t, "changes", pulls[0].Review)
}

func TestAWriteThatMayBeDoneIsNotRepeated(t *testing.T) {
	t.Parallel()
	h, c, _ := hub(t, githubtest.Options{After: func(call string) int {
		if call == "POST /pulls" {
			return http.StatusBadGateway
		}
		return 0
	}})
	_, err := c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.ErrorIs(t, err, forge.ErrUncertain)
	require.Equal(t, 1, h.Count("POST /pulls"))
	list, err := c.Pulls(t.Context(), "topic")
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestAReadIsRepeatedAndAnswersByItsTag(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	failed := 0
	h, c, _ := hub(t, githubtest.Options{Before: func(call string) int {
		mu.Lock()
		defer mu.Unlock()
		if failed++; call == "GET " && failed < 3 {
			return http.StatusBadGateway
		}
		return 0
	}})
	for range 3 {
		_, err := c.Repository(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 4, h.Count("304"))
}

// Two hundred pull requests at a few an hour: after the forge has said once how long to wait, it refuses nothing.
func TestLimitsAreWaitedOut(t *testing.T) {
	t.Parallel()
	h, c, at := hub(t, githubtest.Options{Writes: 20})
	from := at.Now()
	p, err := c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.NoError(t, err)
	title := "x"
	for range 100 {
		require.NoError(t, c.Edit(t.Context(), p.Number, forge.Edit{Title: &title}))
	}
	require.LessOrEqual(t, h.Count("limited"), 5, "%s", at.Now().Sub(from))
}

func TestRefusalsHaveAClassAndNoSecret(t *testing.T) {
	t.Parallel()
	h, c, _ := hub(t, githubtest.Options{Tokens: map[string]githubtest.Token{secret: {Login: "reader"}}})
	_, err := c.Open(t.Context(), forge.Pull{Title: "t", Head: "topic", Base: "main"})
	require.ErrorIs(t, err, forge.ErrForbidden)
	require.NotContains(t, err.Error(), secret)
	h.Set(func(o *githubtest.Options) { o.Tokens = nil })
	_, err = c.Repository(t.Context())
	require.ErrorIs(t, err, forge.ErrCredential)
	require.NotContains(t, err.Error(), secret)
	_, err = github.New(github.Options{API: "http://forge.example/api/v3"})
	require.ErrorContains(t, err, "https")
}
