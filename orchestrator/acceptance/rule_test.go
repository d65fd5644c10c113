package acceptance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newLog is a run with one gate, whose task t has an attempt on commit b.
func newLog(t *testing.T, change func(s *run.Spec)) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	if change != nil {
		change(&s)
	}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	l.Plan(spec.Task{ID: "t", Role: "generator"})
	l.Dispatched("t", "generator", 1, "b")
	return l
}

func TestSettle(t *testing.T) {
	t.Parallel()
	require.Empty(t, acceptance.Settle(newLog(t, nil).State), "outstanding")
	for name, c := range map[string]struct {
		result spec.Result
		want   []string
	}{
		"nothing changed": {spec.Result{Status: spec.StatusDone}, []string{"task t done"}},
		"cancelled":       {spec.Result{Status: spec.StatusCancelled, Error: &spec.Fault{Message: "no"}}, []string{"task t cancelled no"}},
		"failed":          {runtest.Failed(wire.FaultLoop, "circles"), []string{"task t pending circles"}},
		"a patch":         {runtest.Patched("c", "tree", "b"), []string{"acceptance.import"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, nil)
			l.Ended("t", 1, c.result)
			require.Equal(t, c.want, runtest.Describe(acceptance.Settle(l.State)))
		})
	}
}

func verdict(d acceptance.Decision, text string) acceptance.Verdict {
	return acceptance.Verdict{Decision: d, Findings: []acceptance.Finding{{Decision: d, Kind: text, Text: text}}}
}

func TestAPatchThatWasImported(t *testing.T) {
	t.Parallel()
	pass := acceptance.Verdict{Decision: acceptance.Pass}
	passes := func(l *runtest.Log, n int) {
		l.Gates(run.FinalTask, n, "x")
		l.Ended(run.FinalTask, n, spec.Result{
			Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Tree: "tree", Verdict: spec.VerdictPass}},
		})
	}
	fails := func(l *runtest.Log, times int) {
		for n := range times {
			l.Gates(run.FinalTask, n+1, "x")
			red := runtest.Failed(wire.FaultGate, "test is red")
			red.Receipts = []spec.Receipt{{Gate: "test", Tree: "tree", Verdict: spec.VerdictFail, ExitCode: 1}}
			l.Ended(run.FinalTask, n+1, red)
		}
	}
	for name, c := range map[string]struct {
		verdict acceptance.Verdict
		log     func(l *runtest.Log)
		want    []string
	}{
		"waits to land":         {pass, nil, []string{"task t accepted"}},
		"is refused":            {verdict(acceptance.Refuse, "a marker"), nil, []string{"task t pending the patch was refused: a marker"}},
		"weakens tests":         {verdict(acceptance.Ask, "fewer tests"), nil, []string{"task t held fewer tests doubt: fewer tests"}},
		"its tree failed once":  {pass, func(l *runtest.Log) { fails(l, 1) }, []string{"task t accepted"}},
		"its tree failed twice": {pass, func(l *runtest.Log) { fails(l, 2) }, []string{"task t pending test is red"}},
		"a flake":               {pass, func(l *runtest.Log) { fails(l, 2); passes(l, 3) }, []string{"task t accepted"}},
		"a tester with a judge": {
			pass, func(l *runtest.Log) {
				judge := l.Spec.Roles["tester"]
				judge.Executor = spec.ExecutorModel
				l.Spec.Roles["tester"] = judge
			},
			[]string{"assign t--verify/1 to tester on c"},
		},
		"its constraints have the reviewer": {
			pass, func(l *runtest.Log) { l.Tasks.ByID["t"].Task.Constraints = []string{"keep the API"} },
			[]string{"assign t--verify/1 to reviewer on c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, nil)
			l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
			if c.log != nil {
				c.log(l)
			}
			actions := acceptance.Settle(l.State)
			require.Len(t, actions, 1)
			ask, ok := actions[0].(acceptance.Import)
			require.True(t, ok)
			require.NotNil(t, ask.Patch)
			require.Equal(t, c.want, runtest.Describe(ask.Then(c.verdict)))
		})
	}
}

func TestSettleVerify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result spec.Result
		want   []string
	}{
		"pass": {spec.Result{Status: spec.StatusDone}, []string{"task t accepted"}},
		"fail": {runtest.Failed(wire.FaultVerdict, "not what was asked"), []string{"task t pending judge tester refused: not what was asked"}},
		"a constraint is not kept": {
			spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: wire.FaultConstraint, Detail: "Not kept: keep the API\nx"}},
			[]string{
				`task t held its judge reports "Not kept: keep the API" doubt: its judge reports "Not kept: keep the API"; its judge reports "x"`,
			},
		},
		"no work tree can hold it": {runtest.Failed(wire.FaultTree, "its name is too long"), []string{
			"task t pending its name is too long",
		}},
		"its judge failed": {runtest.Failed(wire.FaultInternal, "disk"), []string{"assign t--verify/2 to tester on c"}},
		"the key was refused": {
			runtest.Failed(wire.FaultAuth, "401"),
			[]string{"assign t--verify/2 to tester on c", "fail: the model's service refused the key: 401"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, nil)
			l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
			l.Dispatched("t--verify", "tester", 1, "c")
			require.Empty(t, acceptance.SettleVerify(l.State), "outstanding")
			l.Ended("t--verify", 1, c.result)
			require.Equal(t, c.want, runtest.Describe(acceptance.SettleVerify(l.State)))
		})
	}
}

// A verdict counts at a spent budget, and a judge that costs tokens is not called again: the task waits, and others do not.
func TestAJudgeIsNotCalledAgainAtASpentBudget(t *testing.T) {
	t.Parallel()
	internal := runtest.Failed(wire.FaultInternal, "disk")
	for name, c := range map[string]struct {
		judge  string
		budget int
		result spec.Result
		want   []string
	}{
		"it failed":              {"reviewer", 10, internal, []string{"task u accepted"}},
		"tokens are left":        {"reviewer", 51, internal, []string{"assign t--verify/2 to reviewer on c"}},
		"there is no budget":     {"reviewer", 0, internal, []string{"assign t--verify/2 to reviewer on c"}},
		"a command judges":       {"free", 10, internal, []string{"assign t--verify/2 to free on c"}},
		"the key was refused":    {"reviewer", 10, runtest.Failed(wire.FaultAuth, "401"), []string{"fail: the model's service refused the key: 401"}},
		"it passed":              {"reviewer", 10, spec.Result{Status: spec.StatusDone}, []string{"task t accepted"}},
		"it refused":             {"reviewer", 10, runtest.Failed(wire.FaultVerdict, "no"), []string{"task t pending judge reviewer refused: no"}},
		"its input is too large": {"reviewer", 10, runtest.Failed(wire.FaultTooBig, "x"), []string{"task t held its judge came to no verdict: x doubt: its judge came to no verdict: x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, func(s *run.Spec) {
				s.Budget = spec.Tokens(c.budget)
				s.Roles["free"] = spec.Role{Name: "free", Executor: spec.ExecutorCommand, Command: []string{"x"}}
			})
			l.Plan(spec.Task{ID: "u", Role: "generator"})
			l.Dispatched("u", "generator", 1, "b")
			for _, id := range []string{"t", "u"} {
				l.Ended(id, 1, runtest.Patched("c", "tree", "b"))
			}
			l.Dispatched("t--verify", c.judge, 1, "c")
			l.Dispatched("u--verify", "reviewer", 1, "c")
			l.Agent("t--verify", 1, contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 50})
			l.Ended("t--verify", 1, c.result)
			l.Ended("u--verify", 1, spec.Result{Status: spec.StatusDone})
			require.Equal(t, c.want, runtest.Describe(acceptance.SettleVerify(l.State)))
		})
	}
}

func TestAJudgeWithoutAVerdictAsksAfterThreeTries(t *testing.T) {
	t.Parallel()
	l := newLog(t, nil)
	l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
	for n := 1; n <= 3; n++ {
		l.Dispatched("t--verify", "tester", n, "c")
		l.Ended("t--verify", n, runtest.Failed(wire.FaultInternal, "disk"))
	}
	held := acceptance.SettleVerify(l.State)
	require.Equal(t, []string{"task t held its judge came to no verdict: disk doubt: its judge came to no verdict: disk"}, runtest.Describe(held))
	l.Do(held)
	l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["t"], run.Answer{Option: run.Accept, By: wire.Person("ada")}))
	l.Tasks.ByID["t"].Task.Verify = "reviewer"
	settle(t, l, acceptance.Verdict{})
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["t"].State, "it is not judged again")
}
