package decision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func unreadDoubt(path string, command ...string) run.Doubt {
	return run.Doubt{
		Evidence: []string{"no gate reads " + path},
		Unread:   []spec.Unread{{Path: path, Grade: spec.GradeUnread, Reason: "//go:build windows", Command: command}},
	}
}

// withUnread is started, with two patches whose files no gate reads; for that of c no command is known.
func withUnread(t *testing.T, configure func(*run.Spec)) *runtest.Log {
	t.Helper()
	l := started(t, configure)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Environment: "e"}}})
	holds(l, "b", 1, unreadDoubt("b/x.go", "GOOS=windows", "go", "vet", "./..."))
	holds(l, "c", 1, unreadDoubt("c/x.go"))
	return l
}

func TestUnreadFilesAreOneDecision(t *testing.T) {
	t.Parallel()
	l := withUnread(t, nil)
	d := only(t, l.State, run.DecideUnread)
	require.Equal(t, []string{"b", "c"}, d.Tasks)
	require.Equal(t, []string{
		"no gate reads b/x.go: //go:build windows; a gate that reads it: GOOS=windows go vet ./...", "no gate reads c/x.go: //go:build windows",
	}, d.Evidence)
	require.Equal(t, "a decision about 2 files that no gate reads, of 2 tasks: b/x.go: //go:build windows; a gate that reads it: GOOS=windows go vet ./...", d.Text)
	require.True(t, d.Reserved)
	require.Equal(t, "add to this run, and prove the patches with it: env GOOS=windows go vet ./...", d.Options[1].Does)
	require.Len(t, decision.Patches(l.State), 1, "they are no other decisions")
	for name, refused := range map[string]run.Answer{
		"a program":    {ID: d.ID, Option: run.Accept, By: wire.Person("ada") + "--mcp-x"},
		"another list": {ID: "unread-1@4", Option: run.Accept, By: wire.Person("ada")},
	} {
		_, _, err := decision.Take(l.State, refused)
		require.Error(t, err, name)
	}
	_, err := request.Accept(&l.Agenda, l.Works, "b", run.Answer{By: "master/1"})
	require.ErrorContains(t, err, "no gate reads")
}

func TestAnswersAboutUnreadFiles(t *testing.T) {
	t.Parallel()
	states := func(l *runtest.Log) [2]run.TaskState {
		return [2]run.TaskState{l.Tasks.ByID["b"].State, l.Tasks.ByID["c"].State}
	}
	for name, c := range map[string]struct {
		answer run.Answer
		want   [2]run.TaskState
		open   int
	}{
		"accept":     {run.Answer{Option: run.Accept}, [2]run.TaskState{run.TaskRunning, run.TaskRunning}, 0},
		"accept one": {run.Answer{Option: run.Accept, Of: "b"}, [2]run.TaskState{run.TaskRunning, run.TaskHeld}, 1},
		"skip":       {run.Answer{Option: run.Skip}, [2]run.TaskState{run.TaskSkipped, run.TaskSkipped}, 0},
		"gate":       {run.Answer{Option: run.AddGate}, [2]run.TaskState{run.TaskRunning, run.TaskHeld}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withUnread(t, nil)
			c.answer.ID, c.answer.By = only(t, l.State, run.DecideUnread).ID, wire.Person("ada")
			taken, _, err := decision.Take(l.State, c.answer)
			require.NoError(t, err)
			l.Do(taken)
			require.Equal(t, [2]run.TaskState{run.TaskHeld, run.TaskHeld}, states(l), "a kill may come here")
			l.Do(decision.Carry(l.State, time.Time{}))
			require.Equal(t, c.want, states(l))
			require.Empty(t, l.Decisions.Waiting())
			require.Len(t, l.Tasks.HeldUnread(), c.open)
			if c.open > 0 {
				d := only(t, l.State, run.DecideUnread)
				require.Equal(t, []string{"c"}, d.Tasks, "the others are asked about")
				require.Len(t, d.Options, 2)
			}
			require.Equal(t, name != "gate", l.NewGate() == nil)
		})
	}
}

// A kill between the gates and the end of the answer leaves nothing undone.
func TestAKillBehindAnAddedGate(t *testing.T) {
	t.Parallel()
	l := withUnread(t, nil)
	taken, _, err := decision.Take(l.State, run.Answer{ID: only(t, l.State, run.DecideUnread).ID, Option: run.AddGate, By: wire.Person("ada")})
	require.NoError(t, err)
	l.Do(taken)
	l.Do(decision.Carry(l.State, time.Time{})[:1])
	require.NotNil(t, l.NewGate())
	l.Do(decision.Carry(l.State, time.Time{}))
	require.Len(t, l.Spec.Added, 1)
	require.Equal(t, run.TaskRunning, l.Tasks.ByID["b"].State)
	require.Empty(t, l.Decisions.Waiting())
}

func TestThePolicyAboutUnreadFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		configure func(*run.Spec)
		want      run.TaskState
	}{
		"ask":              {nil, run.TaskHeld},
		"accept":           {func(s *run.Spec) { s.OnDoubt = run.OnDoubtAccept }, run.TaskRunning},
		"reject":           {func(s *run.Spec) { s.OnDoubt = run.OnDoubtReject }, run.TaskParked},
		"a resume with it": {func(s *run.Spec) { s.AllowUnread = true }, run.TaskRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withUnread(t, c.configure)
			for range 4 { // the patch of a is decided first
				l.Do(decision.Policy(l.State))
			}
			require.Equal(t, c.want, l.Tasks.ByID["c"].State)
		})
	}
}

func TestAGateThatAPersonAdds(t *testing.T) {
	t.Parallel()
	windows := spec.Gate{Name: "windows", Command: []string{"w"}}
	for name, c := range map[string]struct {
		gate   spec.Gate
		change func(*runtest.Log)
		want   string
	}{
		"a name that is taken":    {windows, func(l *runtest.Log) { l.Spec.Project.Gates = []spec.Gate{windows} }, "take another name"},
		"no name":                 {spec.Gate{Name: "-/", Command: []string{"w"}}, nil, "gate name"},
		"no command":              {spec.Gate{Name: "w"}, nil, "has no command"},
		"before the baseline":     {windows, func(l *runtest.Log) { clear(l.Proofs.Baseline) }, "have not run on the base commit"},
		"gates with the network":  {windows, func(l *runtest.Log) { l.Spec.Roles["tester"] = spec.Role{Name: "tester", Network: true} }, "have the network"},
		"a run that is over":      {windows, func(l *runtest.Log) { l.Append("", run.Data{State: run.Done}) }, "is over"},
		"a run at its final gate": {windows, func(l *runtest.Log) { l.Append("", run.Data{State: run.Final}) }, "final gates"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withUnread(t, nil)
			if c.change != nil {
				c.change(l)
			}
			_, _, err := request.Gate(&l.Agenda, &l.Proofs, c.gate, wire.Person("ada"))
			require.ErrorContains(t, err, c.want)
		})
	}
	l := withUnread(t, nil)
	actions, _, err := request.Gate(&l.Agenda, &l.Proofs, windows, wire.Person("ada"))
	require.NoError(t, err)
	l.Do(actions)
	require.Equal(t, "windows", l.NewGate().Name)
	require.Empty(t, l.Tasks.HeldUnread(), "held patches are tested with it")
}
