package recovery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func newLog(t *testing.T, parallel int, tasks ...spec.Task) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: parallel}, run.Running)
	l.Plan(tasks...)
	return l
}

func TestFailed(t *testing.T) {
	t.Parallel()
	gate := func(signature string) spec.Fault {
		return spec.Fault{Class: wire.FaultGate, Message: "red", Signatures: []string{signature}}
	}
	conflict := spec.Fault{Class: wire.FaultConflict, Message: "met"}
	for name, c := range map[string]struct {
		had  []spec.Fault
		now  spec.Fault
		want []string
	}{
		"the first failure":            {nil, gate("a"), []string{"task t pending red"}},
		"the last of its attempts":     {[]spec.Fault{gate("a"), gate("b")}, gate("c"), []string{"task t parked failed 3 of 3 attempts: red"}},
		"the same failure three times": {[]spec.Fault{gate("a"), gate("a")}, gate("a"), []string{"task t parked failed in the same way 3 times: red"}},
		"conflicts do not count":       {[]spec.Fault{conflict, conflict, gate("a")}, gate("b"), []string{"task t pending red"}},
		"conflicts have a bound": {
			[]spec.Fault{conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict},
			conflict,
			[]string{"task t parked conflicted with landed changes 11 times"},
		},
		"another attempt would fail too": {nil, spec.Fault{Class: wire.FaultTooBig, Message: "big"}, []string{"task t parked big"}},
		"a spent budget stops the run":   {nil, spec.Fault{Class: wire.FaultBudget, Message: "9"}, []string{"task t pending 9", "run"}},
		"a refused key ends the conductor": {
			nil,
			spec.Fault{Class: wire.FaultAuth, Message: "401"},
			[]string{"task t pending 401", "fail: the model's service refused the key: 401"},
		},
		"so does a use that the machine cannot count": {
			nil,
			spec.Fault{Class: wire.FaultUncounted, Message: "read day.json"},
			[]string{"task t pending read day.json", "fail: the use of the day cannot be counted: read day.json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, 4, spec.Task{ID: "t", Role: "generator"})
			for i := range len(c.had) + 1 {
				l.Dispatched("t", "generator", i+1, "b")
				l.Ended("t", i+1, runtest.Failed("x", fmt.Sprint(i)))
				if i < len(c.had) {
					l.Append("t", run.TaskData{State: run.TaskPending, Fault: &c.had[i]})
				}
			}
			require.Equal(t, c.want, runtest.Describe(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t"], c.now)))
		})
	}
}

// A coding agent whose quota is used up begins again when it is free. One that did not wait for that ends the conductor.
func TestAnAttemptThatDidNotWaitIsNotRepeated(t *testing.T) {
	t.Parallel()
	l := newLog(t, 4, spec.Task{ID: "t", Role: "agent"})
	l.Spec.Roles["agent"] = spec.Role{Name: "agent", Usage: spec.AgentClaude}
	used := spec.Fault{Class: wire.FaultRateLimited, Message: "429"}
	for n, want := range map[int]string{1: "task t pending 429", 2: "fail: the model's service is not available: 429"} {
		for i := range n {
			l.Dispatched("t", "agent", i+1, "b")
			l.Ended("t", i+1, runtest.Failed(used.Class, used.Message))
			a := l.Works["t"].Attempts[i+1]
			a.Quota = time.UnixMilli(a.Seen).Add(time.Hour)
		}
		actions := runtest.Describe(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t"], used))
		require.Equal(t, want, actions[len(actions)-1])
		l = newLog(t, 4, spec.Task{ID: "t", Role: "agent"})
		l.Spec.Roles["agent"] = spec.Role{Name: "agent", Usage: spec.AgentClaude}
	}
}

// The same command on the same files is not run again, where it cannot learn what failed before and chance has no part in it.
func TestACommandIsNotRepeated(t *testing.T) {
	t.Parallel()
	const once = "task t parked its command would do the same again on the same files: red"
	for name, c := range map[string]struct {
		role  spec.Role
		own   []string
		class string
		want  string
	}{
		"its files are arguments":       {spec.Role{Command: []string{"sed", "-i", "s/a/b/", "{files}"}}, nil, wire.FaultGate, once},
		"each file is one":              {spec.Role{Command: []string{"fix", "{file}"}, Each: true}, nil, wire.FaultRemaining, once},
		"the task's command names them": {spec.Role{Command: []string{"codemod"}}, []string{"sed", "-i", "s/a/b/", "a.go"}, wire.FaultRejected, once},
		"it failed":                     {spec.Role{Command: []string{"sed", "{files}"}}, nil, wire.FaultCommand, once},
		"it reads its task":             {spec.Role{Command: []string{"codemod"}}, nil, wire.FaultGate, "task t pending red"},
		"it has the network":            {spec.Role{Command: []string{"ask", "{files}"}, Network: true}, nil, wire.FaultGate, "task t pending red"},
		"it was too slow":               {spec.Role{Command: []string{"sed", "{files}"}}, nil, wire.FaultTime, "task t pending red"},
		"the branch has moved":          {spec.Role{Command: []string{"sed", "{files}"}}, nil, wire.FaultConflict, "task t pending red"},
		"another executor follows": {
			spec.Role{Command: []string{"sed", "{files}"}, Chain: []string{spec.ExecutorModel}}, nil, wire.FaultGate, "task t pending red",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, 4, spec.Task{ID: "t", Role: "mod", Files: []string{"a.go"}, Command: c.own, Attempts: 5})
			c.role.Name, c.role.Executor, c.role.Writes = "mod", spec.ExecutorCommand, true
			l.Spec.Roles["mod"] = c.role
			l.Dispatched("t", "mod", 1, "b")
			l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
			require.Equal(t, []string{c.want}, runtest.Describe(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t"], spec.Fault{Class: c.class, Message: "red"})))
		})
	}
}

// A program that runs out of time has one more try: that tells a slow machine from a program that hangs.
func TestACommandThatRunsOutOfTimeHasTwoTries(t *testing.T) {
	t.Parallel()
	l := newLog(t, 4, spec.Task{ID: "t", Role: "mod", Files: []string{"a.go"}, Attempts: 5})
	l.Spec.Roles["mod"] = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sed", "{files}"}, Writes: true}
	slow := spec.Fault{Class: wire.FaultTime, Message: "no result after 30m0s"}
	for n, want := range []string{
		"task t pending no result after 30m0s",
		"task t parked its command ran out of time twice on the same files: no result after 30m0s",
	} {
		l.Dispatched("t", "mod", n+1, "b")
		l.Ended("t", n+1, runtest.Failed("x", "y"))
		actions := recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t"], slow)
		require.Equal(t, []string{want}, runtest.Describe(actions), n)
		l.Do(actions)
	}
}

func TestTheNextExecutorOfAChainHasItsOwnAttempts(t *testing.T) {
	t.Parallel()
	l := newLog(t, 4, spec.Task{ID: "t", Role: "mod", Attempts: 1})
	l.Spec.Roles["mod"] = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}, Writes: true}
	red := spec.Fault{Class: wire.FaultGate, Message: "red"}
	met := spec.Fault{Class: wire.FaultConflict, Message: "met"}
	for n, c := range []struct {
		fault    spec.Fault
		executor string
		want     string
	}{
		{met, spec.ExecutorCommand, "task t pending met"},
		{red, spec.ExecutorCommand, "task t pending red"},
		{met, spec.ExecutorModel, "task t pending met"},
		{red, spec.ExecutorModel, "task t parked failed 1 of 1 attempts: red"},
	} {
		l.Dispatched("t", "mod", n+1, "b")
		require.Equal(t, c.executor, l.Spec.Made(l.Tasks.ByID["t"], l.Works).Executor, n)
		l.Ended("t", n+1, runtest.Failed("x", "y"))
		actions := recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t"], c.fault)
		require.Equal(t, []string{c.want}, runtest.Describe(actions), n)
		l.Do(actions)
	}
}

// An attempt learns: a failure that comes back calls the next executor or a stronger model, then parks the task.
func TestTheSameFailureTwiceMovesOn(t *testing.T) {
	t.Parallel()
	gate := func(signatures ...string) spec.Fault {
		return spec.Fault{Class: wire.FaultGate, Message: "red", Signatures: signatures}
	}
	said := func(message string) spec.Fault { return spec.Fault{Class: wire.FaultVerdict, Message: message} }
	met := spec.Fault{Class: wire.FaultConflict, Message: "met"}
	command, model := spec.ExecutorCommand, spec.ExecutorModel
	for name, c := range map[string]struct {
		executors []string
		model     string
		attempts  int
		faults    []spec.Fault
		want      []string // what follows each fault
	}{
		"the same twice, and three times": {
			[]string{model},
			"", 5,
			[]spec.Fault{gate("a"), gate("a"), gate("a")},
			[]string{"again", "strong: the same failure twice", "failed in the same way 3 times: red"},
		},
		"signatures in another order, with one between": {
			[]string{model},
			"", 9,
			[]spec.Fault{gate("a", "b"), gate("c"), gate("b", "a"), gate("d"), gate("a", "b")},
			[]string{"again", "again", "strong: the same failure twice", "strong: the same failure twice", "failed in the same way 3 times: red"},
		},
		"no signatures: class and message": {
			[]string{model},
			"", 5,
			[]spec.Fault{said("no"), said("no, really"), said("no"), said("no")},
			[]string{"again", "again", "strong: the same failure twice", "failed in the same way 3 times: no"},
		},
		"five attempts, each with a new failure": {
			[]string{model},
			"", 5,
			[]spec.Fault{gate("a"), gate("b"), gate("c"), gate("d"), gate("e")},
			[]string{"again", "again", "again", "again", "failed 5 of 5 attempts: red"},
		},
		"conflicts are no failures": {
			[]string{model},
			"", 5,
			[]spec.Fault{gate("a"), met, met, gate("a"), met, gate("a")},
			[]string{
				"again", "again", "again", "strong: the same failure twice", "strong: the same failure twice",
				"failed in the same way 3 times: red",
			},
		},
		"a model without a stronger one": {
			[]string{model},
			"cheap", 5,
			[]spec.Fault{gate("a"), gate("a"), gate("a")},
			[]string{"again", "again", "failed in the same way 3 times: red"},
		},
		"two stronger models": {
			[]string{model},
			"small", 9,
			[]spec.Fault{gate("a"), gate("a"), gate("b"), gate("b"), gate("b")},
			[]string{
				"again", "default: the same failure twice", "default: the same failure twice", "strong: the same failure twice",
				"failed in the same way 3 times: red",
			},
		},
		"a command alone": {
			[]string{command},
			"", 5,
			[]spec.Fault{gate("a"), gate("a"), gate("a")},
			[]string{"again", "again", "failed in the same way 3 times: red"},
		},
		"a command has one try in a chain": {
			[]string{command, model},
			"", 5,
			[]spec.Fault{gate("a"), gate("a"), gate("a"), gate("a")},
			[]string{
				"model: the command failed", "model: the command failed", "strong: the same failure twice",
				"failed in the same way 3 times: red",
			},
		},
		"a model before a command": {
			[]string{model, command},
			"", 5,
			[]spec.Fault{gate("a"), gate("a"), gate("a"), gate("a"), gate("a")},
			[]string{
				"again", "command: the same failure twice", "command: the same failure twice", "command: the same failure twice",
				"failed in the same way 3 times: red",
			},
		},
		"a model before a command that uses its attempts up": {
			[]string{model, command},
			"", 2,
			[]spec.Fault{gate("a"), gate("b"), gate("c"), gate("d")},
			[]string{
				"again", "command: failed 2 of 2 attempts", "command: failed 2 of 2 attempts", "failed 2 of 2 attempts: red",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, 4, spec.Task{ID: "t", Role: "r", Attempts: c.attempts})
			l.Spec.Roles["r"] = spec.Role{Name: "r", Executor: c.executors[0], Chain: c.executors[1:], Writes: true, Model: c.model}
			l.Spec.Project.Models = map[string]spec.Model{
				"default": {Name: "d", Stronger: "strong"}, "strong": {Name: "s"}, "cheap": {Name: "c"},
				"small": {Name: "m", Stronger: "default"},
			}
			var got []string
			for i := range c.faults {
				l.Dispatched("t", "r", i+1, "b")
				l.Ended("t", i+1, runtest.Failed("x", "y"))
				actions := recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t"], c.faults[i])
				append1, ok := actions[0].(run.Append)
				require.True(t, ok)
				d, ok := append1.Data.(run.TaskData)
				require.True(t, ok)
				l.Append("t", d)
				switch {
				case d.State == run.TaskParked:
					got = append(got, d.Reason)
				case d.Choice.Uses == "":
					got = append(got, "again")
				default:
					got = append(got, d.Choice.String())
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Shards of a template that miss the same name may be right only together.
func TestShardsThatMissTheSameName(t *testing.T) {
	t.Parallel()
	shard := func(id string) spec.Task {
		return spec.Task{ID: id, ShardOf: "t", Role: "generator", Attempts: 1}
	}
	red := func(file string) spec.Fault {
		return spec.Fault{Class: wire.FaultGate, Message: "red", Signatures: []string{"build: build: " + file + ": undefined: legacy.Load"}}
	}
	l := newLog(t, 4, shard("t-001"), shard("t-002"))
	l.Dispatched("t-001", "generator", 1, "b")
	l.Dispatched("t-002", "generator", 1, "b")
	first := red("a.go")
	require.Equal(t, []string{"task t-001 parked failed 1 of 1 attempts: red"},
		runtest.Describe(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t-001"], first)), "it is the only one")
	l.Append("t-001", run.TaskData{State: run.TaskParked, Fault: &first})
	require.Equal(t, []string{
		`task t-002 parked failed 1 of 1 attempts: red. 2 shards of t do not find "legacy.Load". If it is an import that they lack, mend ` +
			"the role or the brief; if the change is right only as a whole, set together: true on the template; if the old and the new form can stand side by side, add the new one, move its users, then " +
			"remove the old one, as tasks with depends_on",
	}, runtest.Describe(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["t-002"], red("b.go"))))
}
