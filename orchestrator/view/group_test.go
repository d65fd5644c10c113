package view

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// begun is a run with a plan file and some tasks.
func begun(t *testing.T, roles map[string]spec.Role, tasks ...spec.Task) *runtest.Log {
	l := runtest.New(t, run.Spec{Created: time.Unix(1000, 0), Roles: roles, Plan: &spec.Plan{}}, run.Running)
	l.Plan(tasks...)
	return l
}

// works dispatches a task, and has a worker begin with it; empty words for an agent that reports nothing.
func works(l *runtest.Log, task, role, group, doing string) {
	l.Append(task, run.TaskData{
		State: run.TaskRunning, Dispatch: &run.Dispatch{Task: task, Attempt: 1, Role: role, Group: group},
	})
	l.Agent(task, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	if doing != "" {
		l.Agent(task, 1, contextscope.KindProgress, wire.Progress{Doing: doing})
	}
}

func shards(template, role string, n int) (out []spec.Task) {
	for i := range n {
		out = append(out, spec.Task{ID: fmt.Sprintf("%s-%03d", template, i+1), ShardOf: template, Role: role})
	}
	return out
}

func TestTheAgentsOfATemplateAreOneGroup(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{"gen": {Name: "gen", Executor: spec.ExecutorModel, Writes: true}}
	l := begun(t, roles, append(shards("rename", "gen", 7), spec.Task{ID: "alone", Role: "gen"})...)
	require.Empty(t, Groups(l.State))
	works(l, "alone", "gen", "", "reading a/b.go")
	for i, doing := range []string{"running go test ./a", "thinking", "running go test -json ./b", "writing", "thinking"} {
		works(l, fmt.Sprintf("rename-%03d", i+1), "gen", "", doing)
	}
	l.Append("rename-006", run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: "rename-006", Attempt: 1, Role: "gen"}})
	groups := Groups(l.State)
	require.Len(t, groups, 2)
	require.Equal(t, "rename", groups[0].Name)
	require.Equal(t, "3 waiting for the model, 2 running go test, 1 queued", groups[0].String())
	require.Equal(t, 6, groups[0].Size())
	require.Nil(t, groups[0].One)
	require.Equal(t, "reading a/b.go", groups[1].One.Doing, "a single agent is shown with its file")
	groups[0].Add(&groups[1])
	require.Equal(t, "3 waiting for the model, 2 running go test, 1 reading files, 1 queued", groups[0].String())
	l.Append("", run.Data{State: run.Stopped})
	require.Empty(t, Groups(l.State))
}

// One process works for several tasks, and the first of them reports what it does.
func TestAGroupThatSharesAProcessHasOneStage(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{"mod": {Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"/usr/bin/sed", "-i"}, Join: true}}
	l := begun(t, roles, shards("move", "mod", 3)...)
	for i := range 3 {
		works(l, fmt.Sprintf("move-%03d", i+1), "mod", "move", "")
	}
	require.Equal(t, "3 starting", Groups(l.State)[0].String())
	l.At(l.Time.Add(time.Minute))
	l.Append("", run.Data{})
	require.Equal(t, "3 running sed", Groups(l.State)[0].String(), "they began long ago")
	l.Agent("move-001", 1, contextscope.KindProgress, wire.Progress{Doing: "preparing its work tree"})
	require.Equal(t, "3 preparing its work tree", Groups(l.State)[0].String())
	l.Agent("move-001", 1, contextscope.KindProgress, wire.Progress{Doing: "a line of its output"})
	require.Equal(t, "3 running sed", Groups(l.State)[0].String())
}

func TestStages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doing, program, want string }{
		{"starting", "", "starting"},
		{"waiting for the model", "", "waiting for the model"},
		{"receiving an answer", "", "waiting for the model"},
		{"waiting for gemini: try 2 of 5 at 10:00:00: no", "", "waiting for gemini"},
		{"waiting for a free core", "sed", "waiting for a free core"},
		{"preparing its work tree", "sed", "preparing its work tree"},
		{"running sed -i s/a/b/ x.go", "sed", "running sed"},
		{"running /usr/bin/go test ./...", "", "running go test"},
		{"running the gates build, test", "", "running the gates"},
		{"running ", "", "running a command"},
		{"x.go: changed", "sed", "running sed"},
		{"gate test", "", "gate test"},
		{"gate test: nothing printed for 1m0s; last line: ok", "", "gate test"},
		{"reading a.go", "", "reading files"},
		{"editing a.go and 2 more", "", "editing files"},
		{"searching x: y", "", "searching"},
		{"waits for an answer: Which?", "", "waiting for an answer"},
		{"waits for a reader: look", "", "waiting for other agents"},
		{"asks for scope", "", "waiting for other agents"},
		{"setup: npm ci", "", "setup"},
		{"checking progress", "", "checking progress"},
	} {
		require.Equal(t, c.want, stageOf(c.doing, c.program), c.doing)
	}
}
