package acceptance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// doubted is a run whose task has a patch that may weaken tests.
func doubted(t *testing.T) *runtest.Log {
	t.Helper()
	l := newLog(t, nil)
	suspect(l, "c", "tree")
	return l
}

// suspect has the newest attempt of the task end with a patch that may weaken tests.
func suspect(l *runtest.Log, commit, tree string) {
	l.Ended("t", l.Tasks.ByID["t"].Attempt, runtest.Patched(commit, tree, "b"))
	l.Do(imported(l, acceptance.Verdict{Decision: acceptance.Ask, Findings: []acceptance.Finding{
		{Check: "tests", Decision: acceptance.Ask, Path: "p/x_test.go", Kind: "fewer", Text: "fewer assertions", Open: true},
	}}))
}

// imported are the actions that follow from the verdict on the patch.
func imported(l *runtest.Log, v acceptance.Verdict) []run.Action {
	return acceptance.Settle(l.State)[0].(acceptance.Import).Then(v)
}

// tells has an experiment end with a receipt.
func tells(l *runtest.Log, number int, r spec.Receipt) {
	r.Gate, r.Tree, r.Since, r.Duration = spec.WeakerGate, "tree", "b", time.Minute
	result := spec.Result{Status: spec.StatusDone}
	if r.Verdict == spec.VerdictFail {
		result = runtest.Failed(wire.FaultGate, "red")
	}
	result.Receipts = []spec.Receipt{r}
	l.Ended("t--red", number, result)
}

var found = spec.Receipt{Verdict: spec.VerdictFail, Signatures: []string{"a mutant lives"}, Tail: "one\ntwo\n", Idle: 1}

func TestAnExperimentDecidesAboutTests(t *testing.T) {
	t.Parallel()
	l := doubted(t)
	require.Equal(t, run.TaskVerifying, l.Tasks.ByID["t"].State)
	require.Equal(t, []string{"p/x_test.go"}, l.Tasks.ByID["t"].Trial.Files)
	require.Empty(t, acceptance.SettleVerify(l.State))
	actions := acceptance.Try(l.State)
	require.Equal(t, []string{"assign t--red/1 to tester on c"}, runtest.Describe(actions))
	l.Do(actions)
	require.Empty(t, acceptance.Try(l.State), "it is being made")

	tells(l, 1, spec.Receipt{Verdict: spec.VerdictPass, Passed: 5})
	require.Equal(t, []string{"task t accepted"}, runtest.Describe(acceptance.Try(l.State)))
	l.Do(acceptance.Try(l.State))
	require.Nil(t, l.Tasks.ByID["t"].Trial)
	require.Empty(t, acceptance.Try(l.State))

	l = doubted(t)
	l.Do(acceptance.Try(l.State))
	tells(l, 1, found)
	l.Do(acceptance.Try(l.State))
	require.Equal(t, []string{"a mutant lives", "p/x_test.go: fewer assertions", "one", "two"}, l.Tasks.ByID["t"].Doubt().Evidence)
	require.Equal(t, []string{"tests: fewer", "weaker", run.NoticedNone}, l.Tasks.ByID["t"].Doubt().Kinds)
}

// That the brief asks for what a test expects now tells nothing of assertions that are gone.
func TestANamedExpectationReleasesNoAssertion(t *testing.T) {
	t.Parallel()
	l := doubted(t)
	l.Do(acceptance.Try(l.State))
	tells(l, 1, spec.Receipt{Verdict: spec.VerdictPass})
	l.Do(acceptance.Try(l.State))
	require.Equal(t, []string{"p/x_test.go: fewer assertions"}, l.Tasks.ByID["t"].Doubt().Evidence)
}

// What an experiment cannot answer is asked about at once.
func TestWhatNoExperimentAnswersIsHeld(t *testing.T) {
	t.Parallel()
	l := newLog(t, nil)
	l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
	l.Do(imported(l, acceptance.Verdict{Decision: acceptance.Ask, Findings: []acceptance.Finding{
		{Check: "tests", Decision: acceptance.Ask, Path: "p/x_test.go", Text: "fewer assertions", Open: true},
		{Check: "tests", Decision: acceptance.Ask, Path: "p/x_test.go", Text: "more skips"},
	}}))
	require.Equal(t, run.TaskHeld, l.Tasks.ByID["t"].State)
}

// An experiment that left no receipt is made again, three times in all. Then the rules decide.
func TestAnExperimentThatCannotBeMade(t *testing.T) {
	t.Parallel()
	l := doubted(t)
	for n := 1; n <= 3; n++ {
		require.Equal(t, "assign", runtest.Describe(acceptance.Try(l.State))[0][:6])
		l.Do(acceptance.Try(l.State))
		l.Ended("t--red", n, runtest.Failed(wire.FaultInternal, "the machine is away"))
	}
	l.Do(acceptance.Try(l.State))
	require.Equal(t, []string{"p/x_test.go: fewer assertions", "no experiment: the machine is away"},
		l.Tasks.ByID["t"].Doubt().Evidence)
}

// The same tests are not tried twice, and none beyond the share of the time of gates.
func TestExperimentsAreBounded(t *testing.T) {
	t.Parallel()
	l := doubted(t)
	l.Do(acceptance.Try(l.State))
	tells(l, 1, found)
	l.Do(acceptance.Try(l.State))
	require.Equal(t, time.Minute, l.TrialTime())
	l.Append("t", run.TaskData{State: run.TaskPending, Reason: "again"})
	l.Dispatched("t", "generator", 2, "b")
	suspect(l, "other", "tree")
	l.Do(acceptance.Try(l.State))
	require.Equal(t, run.TaskHeld, l.Tasks.ByID["t"].State)
	require.Equal(t, "a mutant lives", l.Tasks.ByID["t"].Doubt().Evidence[0])

	l = doubted(t)
	l.Do(acceptance.Try(l.State))
	tells(l, 1, found)
	l.Do(acceptance.Try(l.State))
	l.Gates(run.FlakesTask, 1, "b")
	l.Ended(run.FlakesTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{
		{Gate: spec.WeakerGate, Tree: "z", Verdict: spec.VerdictPass, Duration: time.Minute},
	}})
	require.LessOrEqual(t, l.TrialTime(), time.Duration(0))
	l.Append("t", run.TaskData{State: run.TaskPending, Reason: "again"})
	l.Dispatched("t", "generator", 2, "b")
	suspect(l, "c", "new tree")
	require.Empty(t, acceptance.Try(l.State), "gates can make room")
	l.Do(acceptance.Release(l.State))
	require.Equal(t, []string{
		"p/x_test.go: fewer assertions", "no experiment: experiments have taken their share of the time of the gates",
	}, l.Tasks.ByID["t"].Doubt().Evidence)
}

// A run makes the first experiments at any rate, and then as many as a quarter of the time of its gates has room for.
func TestExperimentsTakeAQuarterOfTheGates(t *testing.T) {
	t.Parallel()
	l := newLog(t, nil)
	took := func(gate string, n int, took time.Duration) {
		work := run.GateTask + gate
		l.Gates(work, n, "b")
		l.Ended(work, n, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{
			{Gate: gate, Tree: "z", Verdict: spec.VerdictPass, Duration: took},
		}})
	}
	for n, left := range []time.Duration{110 * time.Second, 100 * time.Second, 90 * time.Second, -40 * time.Second} {
		took(spec.WeakerGate, n+1, 10*time.Second)
		require.Equal(t, left, l.TrialTime())
	}
	took("check", 1, 6*time.Minute)
	require.Equal(t, 50*time.Second, l.TrialTime())
	took(spec.WeakerGate, 5, 45*time.Second)
	require.Zero(t, l.TrialTime(), "those so far took 17 s on average")
}

// A patch that waits in the queue because of an experiment is tried again when the worker that made it is put into quarantine; one
// that has landed is listed.
func TestAnExperimentOfAWorkerInQuarantine(t *testing.T) {
	t.Parallel()
	released := func() *runtest.Log {
		l := doubted(t)
		l.Do(acceptance.Try(l.State))
		tells(l, 1, spec.Receipt{Verdict: spec.VerdictPass, Passed: 5, Worker: "liar"})
		l.Do(acceptance.Try(l.State))
		require.Equal(t, run.TaskAccepted, l.Tasks.ByID["t"].State)
		tasks, _ := l.Untried()
		require.Empty(t, tasks)
		return l
	}
	l := released()
	l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "other", By: "user:ada"}})
	require.Empty(t, acceptance.Try(l.State))
	l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "liar", By: "user:ada"}})
	l.Do(acceptance.Try(l.State))
	require.Equal(t, []string{"assign t--red/2 to tester on c"}, runtest.Describe(acceptance.Try(l.State)))

	l = released()
	l.Append("t", run.TaskData{State: run.TaskLanded})
	l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "liar", By: "user:ada"}})
	require.Empty(t, acceptance.Try(l.State))
	tasks, why := l.Untried()
	require.Len(t, tasks, 1)
	require.Equal(t, "the experiment was of worker liar, whose receipts do not count any more", why["t"])
}

// What was not tried, and what nothing was found about, lands by the rules alone, and is listed.
func TestWhatIsNotTriedIsListed(t *testing.T) {
	t.Parallel()
	l := newLog(t, nil)
	l.Gates(run.FlakesTask, 1, "b")
	l.Ended(run.FlakesTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{
		{Gate: spec.WeakerGate, Tree: "z", Verdict: spec.VerdictPass, Duration: 2 * time.Minute},
	}})
	l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
	l.Do(imported(l, acceptance.Verdict{Decision: acceptance.Pass, Tests: []string{"p/x_test.go"}}))
	l.Do(acceptance.Release(l.State))
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["t"].State)
	tasks, why := l.Untried()
	require.Len(t, tasks, 1)
	require.Equal(t, "experiments had taken their share of the time of the gates", why["t"])
	l.Dispatched("t", "generator", 2, "b")
	tasks, _ = l.Untried()
	require.Empty(t, tasks, "it is another patch")
}

// Shards of a template wait for room while others are at work. What was tried of one holds for those that change tests in the same
// way; of the others those that nothing speaks against land by halves, and the rules decide about the rest.
func TestShardsThatChangeTestsAlike(t *testing.T) {
	t.Parallel()
	const shards = 300
	open := []acceptance.Finding{{Check: "tests", Kind: "fewer", Path: "p/x_test.go", Text: "fewer assertions", Decision: acceptance.Ask, Open: true}}
	for name, c := range map[string]struct {
		// form is how a shard changes tests, tells what the experiment with the first one tells.
		form  func(n int) string
		found []acceptance.Finding
		tells spec.Receipt
		// held and questions are what is asked about, rounds how often shards are released.
		held, questions, rounds int
	}{
		"good ones alike": {func(int) string { return "a" }, open, spec.Receipt{Verdict: spec.VerdictPass, Passed: 5}, 0, 0, 1},
		"weaker alike":    {func(int) string { return "a" }, open, found, shards, 2, 1},
		"each another":    {func(n int) string { return fmt.Sprint(n) }, open, spec.Receipt{Verdict: spec.VerdictPass, Passed: 5}, shards - 1, 1, 1},
		"none suspicious": {func(n int) string { return fmt.Sprint(n) }, nil, spec.Receipt{Verdict: spec.VerdictPass, Passed: 5}, 0, 0, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, nil)
			var tasks []spec.Task
			for n := range shards {
				tasks = append(tasks, spec.Task{ID: fmt.Sprintf("s%03d", n), Role: "generator", ShardOf: "s"})
			}
			l.Plan(tasks...)
			for n, task := range tasks {
				l.Dispatched(task.ID, "generator", 1, "b")
				l.Ended(task.ID, 1, runtest.Patched(fmt.Sprint("c", n), "tree"+fmt.Sprint(n), "b"))
				v := acceptance.Verdict{Decision: acceptance.Pass, Findings: c.found, Tests: []string{"p/x_test.go"}, Form: c.form(n)}
				if len(c.found) > 0 {
					v.Decision = acceptance.Ask
				}
				l.Do(imported(l, v))
			}
			l.Do(acceptance.Try(l.State))
			r := c.tells
			r.Gate, r.Tree, r.Since, r.Duration = spec.WeakerGate, "tree0", "b", 3*time.Minute
			result := spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}}
			if r.Verdict == spec.VerdictFail {
				result.Status, result.Error = spec.StatusFailed, &spec.Fault{Class: wire.FaultGate, Message: "red"}
			}
			l.Ended("s000--red", 1, result)
			l.Do(acceptance.Try(l.State))
			require.Empty(t, acceptance.Try(l.State), "there is no time")
			require.Empty(t, acceptance.Release(l.State), "t is at work")
			l.Ended("t", 1, spec.Result{Status: spec.StatusDone})
			rounds := 0
			for actions := acceptance.Release(l.State); len(actions) > 0; actions = acceptance.Release(l.State) {
				l.Do(actions)
				rounds++
			}
			kinds, held := map[string]bool{}, 0
			for t := range l.Tasks.In(run.TaskHeld) {
				kinds[fmt.Sprint(t.Doubt().Kinds)] = true
				held++
			}
			require.Equal(t, []int{c.held, c.questions, c.rounds}, []int{held, len(kinds), rounds})
		})
	}
}
