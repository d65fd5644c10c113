package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/sample"
)

// useSample replaces the rig's repository by the sample one.
func (r *rig) useSample() {
	dir := filepath.Join(r.dir, "harbour")
	require.NoError(r.t, sample.Make(r.t.Context(), r.git, dir))
	var err error
	r.checkout, err = r.git.Inspect(r.t.Context(), dir)
	require.NoError(r.t, err)
	r.mirror, err = r.git.CreateMirror(r.t.Context(), filepath.Join(r.dir, "sample.git"), r.checkout, r.checkout.Head)
	require.NoError(r.t, err)
	r.spec.Repo, r.spec.Base = r.checkout.Top, r.checkout.Head
}

// useModel connects the rig to a strict Gemini server that answers from a script.
func (r *rig) useModel(opt geminitest.Options) *geminitest.Server {
	server := geminitest.Start(r.t, opt)
	gemini, err := model.NewGemini(r.t.Context(), model.Options{APIKey: "test", BaseURL: server.URL})
	require.NoError(r.t, err)
	r.t.Cleanup(gemini.Close)
	r.model = model.New(gemini, model.Policy{})
	return server
}

func TestSlowAGoalFromReadersToLanded(t *testing.T) {
	t.Parallel()
	script, err := geminitest.Load("testdata/goal.yaml")
	require.NoError(t, err)
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Goal, s.Parallel = "Give every type a String method", 6
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -rn Labl --include=*.go .; then echo 'error: x.Labl undefined'; exit 1; fi"}
		s.AllowUnread = true // grep compiles nothing
	})
	r.useSample()
	server := r.useModel(geminitest.Options{Script: script, KeepBodies: true})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.ElementsMatch(t, []string{"g-ferries", "g-berths", "g-cargo", "g-moorings", "readme-a", "readme-b"}, r.landed())
	require.Equal(t, 2, st.Tasks.ByID["g-cargo"].Attempt)
	require.Equal(t, 3, st.Tasks.ByID["readme-a"].Attempt+st.Tasks.ByID["readme-b"].Attempt, "one of the two was regenerated on the new head")
	readme := sh(t, r.checkout.Top, "git show divisi/r1:README.md | head -1")
	require.Contains(t, readme, "ferries")
	require.Contains(t, readme, "berths")
	require.Positive(t, st.Usage.Total())

	bodies := map[string]string{}
	for _, e := range server.Requests() {
		bodies[e.Task] += string(e.Body)
	}
	require.Contains(t, bodies["g-cargo"], "x.Labl undefined", "the second attempt saw the error")
	for _, said := range []string{"I send two readers out first", "[survey-types/1]"} {
		require.Contains(t, bodies["g-ferries"], said, "full inherits the master's and the reader's turns")
		require.NotContains(t, bodies["g-berths"], said, "none inherits neither")
	}
	require.Contains(t, bodies["g-berths"], "Do not change any other method.")
}

func TestADispatchWithFaultsIsMendedByTheMaster(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) { s.Goal = "mend" })
	r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
		dispatch := func(role, file string) geminitest.Answer {
			return geminitest.Answer{Calls: []geminitest.Call{{Name: "dispatch", Args: map[string]any{"tasks": []any{map[string]any{
				"id": "one", "role": role, "brief": "write", "files": []any{file},
			}}}}}}
		}
		switch {
		case q.Task == "master" && q.Attempt == 1 && q.Turn == 1:
			return dispatch("generater", "../f00.txt")
		case q.Task == "master" && q.Attempt == 1:
			if !strings.Contains(q.Text(), "generator") {
				return geminitest.Answer{Text: "nothing told me the nearest role"}
			}
			return dispatch("generator", "f00.txt")
		case q.Task == "one" && q.Turn == 1:
			return geminitest.Answer{Calls: []geminitest.Call{{Name: "write_file", Args: map[string]any{"path": "f00.txt", "content": "new\n"}}}}
		default:
			return geminitest.Answer{Calls: []geminitest.Call{{Name: "submit_result", Args: map[string]any{"summary": "done"}}}}
		}
	}})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"one"}, r.landed())
	events, err := assign.Session(t.Context(), r.bus, "r1", spec.RoleMaster, "master", 1)
	require.NoError(t, err)
	var refused string
	for _, e := range events {
		if e.Kind == contextscope.KindTool {
			raw, err := json.Marshal(e.Content)
			require.NoError(t, err)
			refused += string(raw)
		}
	}
	require.Contains(t, refused, "nothing was dispatched")
	require.Contains(t, refused, "tasks[0].files[0]", "all faults at once")
}

func TestAWrongKeyStopsTheRunAndResumeGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Plan = planOf(spec.Task{ID: "one", Role: "generator", Brief: "b", Files: []string{"f00.txt"}})
	})
	r.useModel(geminitest.Options{Keys: []string{"another"}, Lenient: true, Handle: func(geminitest.Request) geminitest.Answer {
		return geminitest.Answer{Text: "never"}
	}})
	c, err := conductor.New(t.Context(), r.config())
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	stop := r.worker(t.Context())
	err = c.Run(t.Context())
	stop()
	require.ErrorIs(t, err, recovery.ErrAuth)
	require.Equal(t, run.Stopped, c.State().Status)
}

func TestTheBudgetIsAHardStopThatCanBeResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.Parallel = 1
		s.Budget = spec.Tokens(25_000)
		s.Plan = planOf(spec.Task{ID: "t", Role: "generator", Brief: "File: {{}}", Shard: &spec.Shard{By: "file"}})
	})
	server := r.useModel(geminitest.Options{Handle: func(q geminitest.Request) geminitest.Answer {
		file := "f0" + string(q.Task[len(q.Task)-1]-1) + ".txt"
		usage := &geminitest.Usage{Prompt: 5000, Output: 1000}
		if q.Turn == 1 {
			return geminitest.Answer{Usage: usage, Calls: []geminitest.Call{{Name: "write_file", Args: map[string]any{"path": file, "content": "new\n"}}}}
		}
		return geminitest.Answer{Usage: usage, Calls: []geminitest.Call{{Name: "submit_result", Args: map[string]any{"summary": "done"}}}}
	}})
	st := r.run(t.Context())
	require.Equal(t, run.Stopped, st.Status)
	require.True(t, st.StoppedByBudget(), st.Reason)
	// The fifth answer spends the budget. On a busy machine the turn after it may have begun, and is cut off.
	require.LessOrEqual(t, len(server.Requests()), 6)
	require.Zero(t, r.publishes.Load())

	more := spec.Tokens(1_000_000)
	cfg := r.config()
	cfg.Budget = &more
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	stop := r.worker(t.Context())
	defer stop()
	require.NoError(t, c.Run(t.Context()))
	require.Equal(t, run.Done, c.State().Status, c.State().Reason)
	require.Equal(t, []string{"t-001", "t-002", "t-003"}, r.landed())
	paid := map[string]int{}
	for _, q := range server.Requests() {
		paid[fmt.Sprint(q.Task, " ", q.Turn)]++
	}
	require.LessOrEqual(t, paid["t-003 2"], 2)
	paid["t-003 2"] = 1
	require.Equal(t, map[string]int{"t-001 1": 1, "t-001 2": 1, "t-002 1": 1, "t-002 2": 1, "t-003 1": 1, "t-003 2": 1}, paid,
		"no answer was paid twice")
}

// What a person sends back never starts, the master reads why, and what waits for an answer is asked about again after a stop.
func TestAPlanIsSentBackWithWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		s.AutoApprove = false
		addRoles(s, agentRole("hand", spec.ToolWriteFile))
	})
	said := r.play(parts{
		"master/1": {dispatches(map[string]any{"id": "do", "role": "hand", "brief": "old", "files": []any{"f00.txt"}})},
		"master/2": {dispatches(map[string]any{"id": "do", "role": "hand", "brief": "new", "files": []any{"f01.txt"}})},
		"do":       {writes("f01.txt", "new\n"), submits("done")},
		"master/3": {submits("done")},
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cfg, briefs := r.config(), []string{}
	cfg.Approve = func(ctx context.Context, p conductor.Proposal) (conductor.Answer, error) {
		briefs = append(briefs, p.Plan.Tasks[0].Brief)
		if len(briefs) == 1 {
			return conductor.Answer{Comment: "Leave f00 alone"}, nil
		}
		stop()
		<-ctx.Done()
		return conductor.Answer{}, ctx.Err()
	}
	end := r.worker(t.Context())
	defer end()
	st, err := r.conduct(ctx, cfg)
	require.NoError(t, err)
	require.Equal(t, run.Stopped, st.Status)
	require.Contains(t, said.at("master/2/1"), "Leave f00 alone")
	require.Zero(t, said.count("do/1/1"))

	cfg = r.config()
	cfg.Approve = func(_ context.Context, p conductor.Proposal) (conductor.Answer, error) {
		briefs = append(briefs, p.Plan.Tasks[0].Brief)
		return conductor.Answer{Yes: true}, nil
	}
	st, err = r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"old", "new", "new"}, briefs)
	require.Equal(t, []string{"do"}, r.landed())
	require.Equal(t, 1, said.count("master/2/1"), "the master plans anew once")
}
