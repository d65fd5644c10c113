package phase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// tested is a receipt of a gate whose tests ran, and some failed.
func tested(failed ...string) spec.Receipt {
	r := spec.Receipt{Gate: "test", Kind: spec.KindTests, Tests: 9, Passed: 9 - len(failed), Verdict: spec.VerdictPass}
	if len(failed) > 0 {
		r.ExitCode, r.Verdict, r.Signatures = 1, spec.VerdictFail, failed
	}
	return r
}

// underTest folds that a batch is tested.
func underTest(l *runtest.Log) {
	l.Append("", run.LandingData{
		Batch: 1, State: run.LandingTesting, Old: "b", Head: "h", Tree: "t", Tasks: []run.Landed{{Task: "a", Attempt: 1}},
		Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: "tester", Head: "h", Gates: []string{"test"}},
	})
}

func TestASecondRunOnTheBase(t *testing.T) {
	t.Parallel()
	begun := func(l *runtest.Log) { l.Gates(run.FlakesTask, 1, "b") }
	ended := func(r spec.Receipt) func(l *runtest.Log) {
		return func(l *runtest.Log) {
			begun(l)
			result := runtest.Failed(wire.FaultGate, "red")
			result.Receipts = []spec.Receipt{r}
			l.Ended(run.FlakesTask, 1, result)
		}
	}
	hiding := tested("test: x")
	hiding.Hidden = []string{"package: a"}
	giveUp := []string{"run", "take back --flakes", "tell --flakes"}
	for name, c := range map[string]struct {
		at     run.Status
		before spec.Receipt
		change func(s *run.Spec)
		log    func(l *runtest.Log)
		want   []string
	}{
		"it begins":                   {before: tested(), want: []string{"assign --flakes/1 to tester on b"}},
		"on a base with known red":    {before: tested("test: x"), want: []string{"assign --flakes/1 to tester on b"}},
		"no gate names tests":         {before: spec.Receipt{Gate: "test", Verdict: spec.VerdictPass}},
		"no test ran":                 {before: spec.Receipt{Gate: "test", Kind: spec.KindTests, Verdict: spec.VerdictPass}},
		"no tasks are left":           {before: tested(), log: func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskDone}) }},
		"a master plans":              {at: run.Planning, before: tested(), want: []string{"assign --flakes/1 to tester on b"}},
		"the end":                     {at: run.Final, before: tested()},
		"a patch is in the queue":     {before: tested(), log: func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskAccepted}) }},
		"the permit is taken":         {before: tested(), log: underTest},
		"another permit is free":      {before: tested(), change: func(s *run.Spec) { s.Project.GatePermits = 2 }, log: underTest, want: []string{"assign --flakes/1 to tester on b"}},
		"an earlier run has compared": {before: tested(), log: func(l *runtest.Log) { l.Append("", run.Data{Flaky: map[string][]string{}}) }},
		"the machine lacks room":      {before: tested(), log: func(l *runtest.Log) { l.Append("", run.Data{State: run.Running, Reason: run.ReasonHalt + "disk"}) }},
		"outstanding":                 {before: tested(), log: begun},
		"outstanding in a resumed run": {before: tested(), log: func(l *runtest.Log) {
			begun(l)
			l.Append("", run.Data{State: run.Stopped})
			l.Append("", run.Data{State: run.Running, Epoch: 2})
		}},
		"a batch takes the permit": {before: tested(), log: func(l *runtest.Log) { begun(l); underTest(l) }, want: giveUp},
		"the last task ends":       {before: tested(), log: func(l *runtest.Log) { begun(l); l.Append("a", run.TaskData{State: run.TaskDone}) }, want: giveUp},
		"the final gates":          {before: tested(), log: func(l *runtest.Log) { begun(l); l.Append("", run.Data{State: run.Final}) }, want: giveUp},
		"given up":                 {before: tested(), log: func(l *runtest.Log) { begun(l); l.Append("", run.Data{Void: run.FlakesTask}) }},
		"the same twice":           {before: tested("test: x"), log: ended(tested("test: x")), want: []string{"run", "phase.keep"}},
		"a test fails now":         {before: tested(), log: ended(tested("test: x")), want: flaky("test: x")},
		"a test passes now":        {before: tested("test: x", "test: y"), log: ended(tested("test: y")), want: flaky("test: x")},
		"each has another":         {before: tested("test: y"), log: ended(tested("test: x")), want: flaky("test: x, test: test: y")},
		"it hides more":            {before: tested(), log: ended(hiding)},
		"the baseline hides more":  {before: hiding, log: ended(tested("test: y"))},
		"it ran no test":           {before: tested(), log: ended(spec.Receipt{Gate: "test", Kind: spec.KindTests, ExitCode: 1})},
		"it left nothing":          {before: tested(), log: func(l *runtest.Log) { begun(l); l.Ended(run.FlakesTask, 1, runtest.Failed(wire.FaultInternal, "disk")) }},
		"it is noted once":         {before: tested(), log: func(l *runtest.Log) { ended(tested("test: x"))(l); l.Do(phase.SettleFlakes(l.State)) }},
		"late, after it was voided": {before: tested(), log: func(l *runtest.Log) {
			begun(l)
			l.Append("", run.Data{Void: run.FlakesTask})
			l.Ended(run.FlakesTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{tested("test: x")}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.at == "" {
				c.at = run.Running
			}
			l := newLog(t, c.at, c.change)
			l.Append("", run.Data{Baseline: []spec.Receipt{c.before}})
			l.Plan(spec.Task{ID: "a", Role: "generator"})
			if c.log != nil {
				c.log(l)
			}
			require.Equal(t, append([]string{}, c.want...), runtest.Describe(append(phase.SettleFlakes(l.State), phase.Flakes(l.State)...)))
		})
	}
}

func flaky(names string) []string {
	return []string{"run flaky on the base commit, red in one of two runs: test: " + names +
		"; where nothing else is red, a batch is tested once more", "phase.keep"}
}

// The second run counts as no work: neither the end of the run nor an agent waits for it.
func TestNothingWaitsForTheSecondRun(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, nil)
	l.Append("", run.Data{Baseline: []spec.Receipt{tested()}})
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Gates(run.FlakesTask, 1, "b")
	all, byRole := l.Queue.AtWork()
	require.Zero(t, all)
	require.Empty(t, byRole)
	l.Append("a", run.TaskData{State: run.TaskDone})
	require.True(t, phase.Over(l.State))
}
