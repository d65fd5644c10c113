package act

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

// What an act makes of a state that has no tasks: the events, in the order in which they are written, and the outcome.
func TestEffects(t *testing.T) {
	t.Parallel()
	const ada, program = "user:ada", "user:ada--mcp-vim"
	stopped := func(s *run.State) { s.Line = "look" }
	for name, c := range map[string]struct {
		a       Args
		by      string
		state   func(*run.State)
		want    []run.Action
		outcome string
		refused string
	}{
		"stop the line": {
			a: StopLine{Reason: "look\nhere " + strings.Repeat("x", maxLineReason)}, by: ada,
			want:    []run.Action{run.SetRun(run.Data{Line: new("look here " + strings.Repeat("x", maxLineReason-10))})},
			outcome: "the line is stopped: nothing is dispatched, and nothing lands; active work continues",
		},
		"stop the line twice":   {a: StopLine{}, by: ada, state: stopped, refused: "the line of run r1 is stopped already: look"},
		"start the line":        {a: StartLine{}, by: ada, state: stopped, want: []run.Action{run.SetRun(run.Data{Line: new("")})}, outcome: "the line goes on"},
		"start one that runs":   {a: StartLine{}, by: ada, refused: "the line of run r1 is not stopped"},
		"pause":                 {a: Pause{}, by: program, want: []run.Action{run.Pause{By: program}}, outcome: "pausing after the current turn of 0 active agents"},
		"cancel":                {a: Cancel{Reason: "why"}, by: ada, want: one(run.SetRun(run.Data{State: run.Cancelled, Reason: "why"}), run.Purge{}), outcome: "the run is cancelled"},
		"cancel an unknown one": {a: Cancel{Task: "a"}, by: ada, refused: `run r1 has no task "a"`},
		"cancel by a program": {
			a: Cancel{}, by: program, outcome: "the run is cancelled", want: one(run.SetRun(run.Data{
				State: run.Cancelled, Reason: "cancelled by a person", Notices: []string{"cancelled by " + program},
			}), run.Purge{}),
		},
		"give nothing":    {a: Give{Task: "a"}, by: ada, refused: "the request has no patch"},
		"drop two":        {a: Drop{Tasks: []string{"a", "b"}, Patch: &spec.Patch{}}, by: ada, refused: "a patch undoes one task, not 2"},
		"skip an unknown": {a: Skip{Tasks: []string{"a"}}, by: ada, refused: `run r1 has no task "a"`},
		"accept nothing":  {a: Accept{Task: "a"}, by: ada, refused: `run r1 has no task "a"`},
		"no such answer":  {a: Decide{Decision: "a@1", Option: "accept"}, by: ada, refused: `run r1 has no decision "a@1"; open are: none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run.NewState()
			s.Spec.Run, s.Status = "r1", run.Running
			if c.state != nil {
				c.state(s)
			}
			actions, out, err := Propose(t.Context(), nil, s, c.a, c.by)
			if c.refused != "" {
				require.EqualError(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, actions)
			require.Equal(t, c.outcome, out.Text)
		})
	}
}

// signed are hands of a run that its person has signed, which have nothing else.
type signed struct{ Hands }

func (signed) Signed() bool { return true }

// What a person has signed stays, also where a task is added for forgotten files alone.
func TestASignedRunKeepsWhatItWasSignedWith(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Run, s.Status = "r1", run.Running
	for name, changed := range map[string]Changed{
		"plan": {Plan: &spec.Plan{}}, "roles": {Roles: map[string]spec.Role{"hand": {}}}, "project": {Project: &spec.Project{}},
	} {
		for _, forgotten := range []bool{false, true} {
			_, _, err := Propose(t.Context(), signed{}, s, Retry{Forgotten: forgotten, Changed: changed}, "user:ada")
			require.ErrorContains(t, err, "which its person has signed", name)
		}
	}
}

// one are actions as an act makes one message of them.
func one(actions ...run.Action) []run.Action { return []run.Action{run.Together{Actions: actions}} }

// A kill in the middle would leave half of an act done, and it could not be done again.
func TestAnActIsOneMessage(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"}, spec.Task{ID: "b", Role: "generator", DependsOn: []string{"a"}})
	l.Append("a", run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: "a", Attempt: 1, Role: "generator", Head: "h"}})
	many := func(a Args) {
		t.Helper()
		actions, _, err := Propose(t.Context(), nil, l.State, a, "user:ada")
		require.NoError(t, err, a.Act())
		require.Len(t, actions, 1, a.Act())
		require.IsType(t, run.Together{}, actions[0])
		require.Greater(t, len(actions[0].(run.Together).Actions), 1) //nolint:forcetypeassert // it is of that type
	}
	many(Cancel{Task: "a"})
	l.Append("a", run.TaskData{State: run.TaskParked, Reason: "red"})
	l.Append("b", run.TaskData{State: run.TaskParked, Reason: "a is parked"})
	many(Skip{Tasks: []string{"a"}})
	many(Retry{})
	many(Give{Task: "a", Patch: &spec.Patch{Base: "h", Commit: "c"}})
}

// A task keeps its own command through roles that have one, and gets no role that runs the command of its task where it has none.
func TestARoleThatRunsTheCommandOfItsTask(t *testing.T) {
	t.Parallel()
	roles := runtest.Roles()
	for name, command := range map[string][]string{"own": nil, "mod": {"mod"}} {
		roles[name] = spec.Role{Name: name, Executor: spec.ExecutorCommand, Command: command, Writes: true}
	}
	l := runtest.New(t, run.Spec{Roles: roles, Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "own", Command: []string{"a"}}, spec.Task{ID: "b", Role: "mod", Command: []string{"mod"}})
	for _, id := range []string{"a", "b"} {
		l.Append(id, run.TaskData{State: run.TaskParked, Reason: "red"})
	}
	for _, role := range []string{"mod", "own"} {
		_, _, err := Propose(t.Context(), nil, l.State, Retry{Tasks: []string{"a"}, Role: role}, "user:ada")
		require.NoError(t, err, role)
		l.Append("a", run.TaskData{State: run.TaskPending, Revision: &run.Revision{By: "user:ada", Role: role}})
		l.Append("a", run.TaskData{State: run.TaskParked, Reason: "red"})
	}
	require.Equal(t, []string{"a"}, l.Tasks.ByID["a"].Task.Command)
	for _, changed := range []map[string]spec.Role{nil, {"file": roles["own"]}} {
		role := "own"
		if changed != nil {
			role = "file"
		}
		again := Retry{Tasks: []string{"b"}, Role: role, Changed: Changed{Roles: changed}}
		_, _, err := Propose(t.Context(), hands{}, l.State, again, "user:ada")
		require.EqualError(t, err, "role "+role+" runs the command of its task, and b has none: write a command into the role, or name "+
			"another role")
	}
}

// hands are those of a run that no person has signed.
type hands struct{ Hands }

func (hands) Signed() bool { return false }
