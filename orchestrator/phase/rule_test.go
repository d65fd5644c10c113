package phase_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func newLog(t *testing.T, at run.Status, change func(s *run.Spec)) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	if change != nil {
		change(&s)
	}
	return runtest.New(t, s, at)
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	install := func(s *run.Spec) { s.Project.Setup.Command = []string{"npm", "ci"} }
	for name, c := range map[string]struct {
		at      run.Status
		change  func(s *run.Spec)
		results []spec.Result
		want    []string
	}{
		"a new run":         {run.Created, nil, nil, []string{"run preflight"}},
		"a running one":     {run.Running, install, nil, []string{}},
		"nothing to set up": {run.Preflight, nil, nil, []string{"run running"}},
		"with a master":     {run.Preflight, func(s *run.Spec) { s.Plan = nil }, nil, []string{"run planning"}},
		"setup":             {run.Preflight, install, nil, []string{"assign --setup/1 to tester on b"}},
		"it has run":        {run.Preflight, install, []spec.Result{{Status: spec.StatusDone}}, []string{"run running"}},
		"no gates at all": {
			run.Preflight, func(s *run.Spec) { s.Project.Gates = nil }, nil,
			[]string{"run", "fail: changes cannot be verified: the repository has no gates"},
		},
		"no gates, and allowed": {
			run.Preflight, func(s *run.Spec) { s.Project.Gates, s.AllowUnverified = nil, true }, nil, []string{"run running"},
		},
		"the machine failed": {
			run.Preflight, install,
			[]spec.Result{runtest.Failed(wire.FaultInternal, "disk")},
			[]string{"assign --setup/2 to tester on b"},
		},
		"setup failed": {
			run.Preflight, install,
			[]spec.Result{runtest.Failed(wire.FaultSetup, "npm ci")},
			[]string{"fail: the repository is not ready for a run: npm ci"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, c.at, c.change)
			for i, r := range c.results {
				l.Gates(run.SetupTask, i+1, "b")
				require.Empty(t, phase.Preflight(l.State), "outstanding")
				l.Ended(run.SetupTask, i+1, r)
			}
			require.Equal(t, c.want, runtest.Describe(phase.Preflight(l.State)))
		})
	}
}

func green() spec.Result {
	return spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}}
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	late := spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", ExitCode: 1, TimedOut: true, Verdict: spec.VerdictFail}}}
	lacking := spec.Receipt{
		Gate: "test", Command: []string{"go", "test", "./..."}, Kind: spec.KindTests, ExitCode: 1, Tests: 3, Passed: 3, Hidden: []string{"package: a"},
		Signatures: []string{"package: a"}, Verdict: spec.VerdictFail, Tail: "a.go:3:8: module lookup disabled by GOPROXY=off",
	}
	for name, c := range map[string]struct {
		at      run.Status
		change  func(s *run.Spec)
		results []spec.Result
		want    []string
	}{
		"not before setup":   {run.Preflight, nil, nil, []string{}},
		"while tasks run":    {run.Running, func(s *run.Spec) { s.FreshBaseline = true }, nil, []string{"assign --baseline/1 to tester on b"}},
		"while a plan grows": {run.Planning, func(s *run.Spec) { s.FreshBaseline = true }, nil, []string{"assign --baseline/1 to tester on b"}},
		"from earlier runs":  {run.Running, nil, nil, []string{"phase.recall"}},
		"green":              {run.Running, nil, []spec.Result{green()}, []string{"run", "phase.keep"}},
		"modules are missing": { // once a person has brought them, the gates find more
			run.Running, nil,
			[]spec.Result{{Status: spec.StatusFailed, Receipts: []spec.Receipt{lacking}}},
			[]string{"run no gate proves a change of package a: on the base commit it did not run in test; " +
				"a patch that changes one of these is asked about, and lands unverified"},
		},
		"incomparable": {
			run.Running, nil,
			[]spec.Result{late},
			[]string{
				"run gate test cannot be compared: on the base commit it timed out: killed after 0s",
				"fail: changes cannot be verified: no comparison with the base commit for: test",
			},
		},
		"incomparable and allowed": {
			run.Running, func(s *run.Spec) { s.AllowUnverified = true },
			[]spec.Result{late},
			[]string{"run gate test cannot be compared: on the base commit it timed out: killed after 0s"},
		},
		"the machine failed": {
			run.Running, nil,
			[]spec.Result{runtest.Failed(wire.FaultInternal, "disk")},
			[]string{"assign --baseline/2 to tester on b"},
		},
		"a gate cannot be run": {
			run.Running, nil,
			[]spec.Result{runtest.Failed(wire.FaultSetup, "no mocha")},
			[]string{"fail: the repository is not ready for a run: no mocha"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, c.at, c.change)
			for i, r := range c.results {
				l.Gates(run.BaselineTask, i+1, "b")
				require.Empty(t, phase.Baseline(l.State), "outstanding")
				l.Ended(run.BaselineTask, i+1, r)
			}
			actions := phase.Baseline(l.State)
			require.Equal(t, c.want, runtest.Describe(actions))
			if l.Do(actions); l.Baselined() {
				fails := slices.DeleteFunc(slices.Clone(c.want), func(a string) bool { return !strings.HasPrefix(a, "fail") })
				require.Equal(t, fails, runtest.Describe(phase.Baseline(l.State)), "it is known")
			}
		})
	}
}

func TestABaselineOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, nil)
	recall, ok := phase.Baseline(l.State)[0].(phase.Recall)
	require.True(t, ok)
	require.Equal(t, []string{"assign --baseline/1 to tester on b"}, runtest.Describe(recall.Then(nil)))
	kept := &run.KeptBaseline{Run: "r0", Commit: "c", Made: l.Time.Add(-3 * time.Hour)}
	require.Equal(t, []string{"assign --baseline/1 to tester on b"}, runtest.Describe(recall.Then(kept)), "it lacks a gate")
	kept.Receipts = green().Receipts
	l.Do(recall.Then(kept))
	require.True(t, l.Baselined())
	require.Equal(t, []string{"the gates did not run on the base commit: run r0 did so 3 hours ago, on commit c; " +
		"a fresh baseline runs them again"}, l.Notices)
	require.Empty(t, phase.Baseline(l.State))
}

// No task is to blame for the baseline, and every assignment holds it.
func TestTheBaselineKeepsNoPaths(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, nil)
	l.Gates(run.BaselineTask, 1, "b")
	receipt := spec.Receipt{Gate: "test", Kind: spec.KindFindings, ExitCode: 1, Signatures: []string{"a/x.go: bad"}, Verdict: spec.VerdictFail}
	red := receipt
	red.Paths, red.Imports = map[string][]string{"a/x.go: bad": {"a/x.go"}}, map[string][]string{"a": {"b"}}
	red.Positions, red.Follows = red.Paths, map[string]string{"a/x.go: bad": "a/y.go: bad"}
	l.Ended(run.BaselineTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{red}})
	require.Equal(t, run.SetRun(run.Data{Baseline: []spec.Receipt{receipt}}), phase.Baseline(l.State)[0])
}

func TestFinish(t *testing.T) {
	t.Parallel()
	passed := []spec.Receipt{{Gate: "test", Tree: "tree", Verdict: spec.VerdictPass}}
	for name, c := range map[string]struct {
		log  func(l *runtest.Log)
		want []string
	}{
		"the final phase": {func(*runtest.Log) {}, []string{"run final"}},
		"nothing landed":  {func(l *runtest.Log) { l.Append("", run.Data{State: run.Final}) }, []string{"run"}},
		"the gates on the head": {
			func(l *runtest.Log) { landed(l); l.Append("", run.Data{State: run.Final}) }, []string{"assign --final/1 to tester on l"},
		},
		"red once": {
			func(l *runtest.Log) {
				landed(l)
				l.Append("", run.Data{State: run.Final})
				l.Gates(run.FinalTask, 1, "l")
				l.Ended(run.FinalTask, 1, runtest.Failed(wire.FaultGate, "red"))
			},
			[]string{"assign --final/2 to tester on l"},
		},
		"green": {
			func(l *runtest.Log) { landed(l); l.Append("", run.Data{State: run.Final, Final: passed}) },
			[]string{"end as done: 1 landed"},
		},
		"red": {
			func(l *runtest.Log) {
				landed(l)
				l.Append("", run.Data{State: run.Final, Final: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictFail}}})
			},
			[]string{"end as parked: the final gates are redder than the baseline"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, run.Running, nil)
			l.Append("", run.Data{Baseline: passed})
			l.Plan(spec.Task{ID: "t", Role: "generator"})
			require.False(t, phase.Over(l.State), "a task has not ended")
			l.Append("t", run.TaskData{State: run.TaskDone})
			require.True(t, phase.Over(l.State))
			c.log(l)
			require.Equal(t, c.want, runtest.Describe(phase.Finish(l.State, "other")))
		})
	}
}

// landed lands the task t as commit l.
func landed(l *runtest.Log) {
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l", Tasks: []run.Landed{{Task: "t", Commit: "l"}}})
}

func TestBudgetAndQuestions(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, func(s *run.Spec) { s.Budget = spec.Tokens(10) })
	l.Plan(spec.Task{ID: "t", Role: "generator"})
	l.Dispatched("t", "generator", 1, "b")
	require.Empty(t, phase.KeepBudget(false)(l.State))
	l.Agent("t", 1, contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 10})
	require.Equal(t, []string{"run stopped the budget is spent: 10 of 10 tokens"}, runtest.Describe(phase.KeepBudget(false)(l.State)))
	require.Empty(t, decision.Stuck(l.State), "an agent is active")
	l.Agent("t", 1, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestAsk, Question: "Which?"})
	require.Equal(t, []string{
		"run stopped waits for an answer to t/1: Which?",
	}, runtest.Describe(decision.Stuck(l.State)))
	require.Equal(t, []string{"run waits for an answer to t/1: Which?"}, runtest.Describe(decision.AnnounceWait(l.State)))
	l.Append("t", wire.Answer{Request: "q", Text: "That."})
	require.Empty(t, decision.AnnounceWait(l.State))
	l.Append("t", run.TaskData{State: run.TaskDone})
	require.Empty(t, phase.KeepBudget(false)(l.State), "nothing that is left to do costs tokens")
}

// What a program has used without a price ends a budget in money, which then only one in tokens replaces.
func TestUseWithoutAPriceEndsABudgetInMoney(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, func(s *run.Spec) {
		s.Budget = spec.Budget{Amount: int64(spec.Dollar), Money: true}
		s.Roles["codex"] = spec.Role{Name: "codex", Executor: spec.ExecutorCommand, Usage: spec.AgentCodex}
	})
	l.Plan(spec.Task{ID: "t", Role: "codex"}, spec.Task{ID: "u", Role: "codex"}, spec.Task{ID: "v", Role: "generator"})
	l.Dispatched("t", "codex", 1, "b")
	l.Agent("t", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("t", 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 10}, Booked: 1})
	l.Dispatched("v", "generator", 1, "b")
	l.Agent("v", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("v", 1, contextscope.KindUsage, wire.Spent{Call: "c", Booked: 1})
	l.Agent("v", 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 10}})
	l.Append("v", run.TaskData{State: run.TaskDone})
	require.False(t, phase.Spent(&l.Agenda, &l.Agents), "a model's calls are booked by themselves")
	l.Agent("t", 1, contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 51_000_000}, Model: "gpt-7"})
	require.True(t, phase.Spent(&l.Agenda, &l.Agents), "no other one begins")
	l.Ended("t", 1, spec.Result{Status: spec.StatusDone})
	l.Append("t", run.TaskData{State: run.TaskDone})
	why := "what the program of t/1 has used of gpt-7 has no price that is known: the run can go on with a budget in tokens"
	require.Equal(t, []string{"run stopped the budget is in money: " + why}, runtest.Describe(phase.KeepBudget(false)(l.State)))
	require.Equal(t, spec.Tokens(102_000_040), l.Raised())
	l.Append("", run.Data{State: run.Stopped, Reason: l.OverBudget(why)})
	require.True(t, l.StoppedByBudget())
	more := spec.Tokens(200_000_000)
	l.Append("", run.Data{Budget: &more})
	require.False(t, phase.Spent(&l.Agenda, &l.Agents))
}

func TestWhatIsAcceptedLandsWhenTheBudgetIsSpent(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, func(s *run.Spec) {
		s.Budget = spec.Tokens(10)
		s.Roles["gemini"] = spec.Role{Name: "gemini", Executor: spec.ExecutorCommand, Usage: spec.AgentGemini}
	})
	l.Plan(spec.Task{ID: "t", Role: "gemini"}, spec.Task{ID: "u", Role: "gemini"}, spec.Task{ID: "v", Role: "generator"})
	l.Dispatched("t", "gemini", 1, "b")
	l.Agent("t", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	l.Agent("t", 1, contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 10})
	require.True(t, phase.Spent(&l.Agenda, &l.Agents), "no other one begins")
	require.Empty(t, phase.KeepBudget(false)(l.State), "its result is to come")
	l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
	stop := []string{"run stopped the budget is spent: 10 of 10 tokens"}
	require.Equal(t, stop, runtest.Describe(phase.KeepBudget(false)(l.State)), "the rules before this one have settled it")
	l.Append("t", run.TaskData{State: run.TaskAccepted})
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingTesting, Tasks: []run.Landed{{Task: "t", Attempt: 1}},
		Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: "tester"},
	})
	require.Empty(t, phase.KeepBudget(false)(l.State), "its gates run")
	l.Dispatched("v", "generator", 1, "b")
	require.Equal(t, stop, runtest.Describe(phase.KeepBudget(false)(l.State)), "the next call of a model would cost more")
	l.Append("v", run.TaskData{State: run.TaskDone})
	l.Ended("v", 1, spec.Result{Status: spec.StatusDone})
	require.Empty(t, phase.KeepBudget(false)(l.State))
	l.Ended("--batch-1", 1, green())
	require.Equal(t, stop, runtest.Describe(phase.KeepBudget(false)(l.State)))
}

// A gate of tests that is green without one proves nothing: the start says so, and stops where there is no other gate.
func TestGreenWithoutATest(t *testing.T) {
	t.Parallel()
	for _, more := range [][]spec.Receipt{nil, {{Gate: "build", Verdict: spec.VerdictPass}}} {
		l := newLog(t, run.Running, nil)
		l.Spec.Project.Gates = []spec.Gate{{Name: "test", Command: []string{"node", "--test"}}}
		for _, r := range more {
			l.Spec.Project.Gates = append(l.Spec.Project.Gates, spec.Gate{Name: r.Gate, Command: []string{"make"}})
		}
		l.Gates(run.BaselineTask, 1, "b")
		receipts := append([]spec.Receipt{{Gate: "test", Kind: spec.KindTests, Verdict: spec.VerdictPass}}, more...)
		l.Ended(run.BaselineTask, 1, spec.Result{Status: spec.StatusDone, Receipts: receipts})
		actions := phase.Baseline(l.State)
		d := actions[0].(run.Append).Data.(run.Data)
		require.Equal(t, []string{"gate test runs tests and is green without one: it proves nothing"}, d.Notices)
		if len(more) > 0 {
			require.Empty(t, d.Unverified)
			require.Len(t, actions, 1)
			continue
		}
		require.Equal(t, "no test ran on the base commit in: test", d.Unverified)
		require.Len(t, actions, 2, "the run stops")
	}
}

// Gates that meet another environment than on the base commit have the base tested again, once for each conductor.
func TestABaselineOfAnotherEnvironmentIsMadeAgain(t *testing.T) {
	t.Parallel()
	receipts := []spec.Receipt{{Gate: "g", Verdict: spec.VerdictPass}}
	outdated := spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: wire.FaultOutdated}}
	for _, kept := range []bool{false, true} {
		l := newLog(t, run.Running, nil)
		l.Spec.Project.Gates = []spec.Gate{{Name: "g"}}
		l.Append("", run.Data{Epoch: 1})
		if !kept {
			l.Gates(run.BaselineTask, 1, "b")
			l.Ended(run.BaselineTask, 1, spec.Result{Status: spec.StatusDone, Receipts: receipts})
		}
		l.Append("", run.Data{Baseline: receipts})
		l.Gates(run.FinalTask, 1, "b")
		l.Ended(run.FinalTask, 1, outdated)
		require.Equal(t, kept, l.Proofs.Outdated, "in the same epoch it cannot be made better")
		l.Append("", run.Data{Epoch: 2, State: run.Final})
		l.Gates(run.FinalTask, 2, "b")
		l.Ended(run.FinalTask, 2, outdated)
		require.True(t, l.Proofs.Outdated)
		require.False(t, l.Baselined())
		actions := phase.Baseline(l.State)
		require.Len(t, actions, 1)
		again := actions[0].(run.Assign).Dispatch
		require.Equal(t, run.BaselineTask, again.Task)
		l.Do(actions)
		require.Empty(t, phase.Baseline(l.State), "it runs")
		l.Ended(run.BaselineTask, again.Attempt, spec.Result{Status: spec.StatusDone, Receipts: receipts})
		l.Do(phase.Baseline(l.State))
		require.True(t, l.Baselined())
		l.Gates(run.FinalTask, 3, "b")
		l.Ended(run.FinalTask, 3, outdated)
		require.True(t, l.Baselined(), "the machine keeps changing: the run ends with that")
	}
}

// A gate can depend on more than its paths: the end runs all gates, whatever what landed touches.
func TestTheEndRunsGatesThatNoBatchStarted(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, func(s *run.Spec) {
		s.Project.Gates = []spec.Gate{{Name: "a", Paths: []string{"a/**"}}, {Name: "b", Paths: []string{"b/**"}}}
	})
	pass := func(gate, tree string) spec.Receipt {
		return spec.Receipt{Gate: gate, Tree: tree, Verdict: spec.VerdictPass}
	}
	l.Append("", run.Data{Baseline: []spec.Receipt{pass("a", "base"), pass("b", "base")}})
	l.Plan(spec.Task{ID: "t", Role: "generator"})
	l.Dispatched("t", "generator", 1, "b")
	l.Ended("t", 1, runtest.Patched("c-t", "tree-t", "b"))
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingLanded, Old: "b", Head: "l", Tree: "merged",
		Tasks: []run.Landed{{Task: "t", Attempt: 1, Commit: "l", Files: 1}}, Receipts: []spec.Receipt{pass("a", "merged")},
	})
	l.Append("", run.Data{State: run.Final})
	assign, ok := phase.Finish(l.State, "merged")[0].(run.Assign)
	require.True(t, ok)
	require.Equal(t, []string{"b"}, assign.Dispatch.Gates)
}
