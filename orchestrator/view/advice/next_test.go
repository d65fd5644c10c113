package advice

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// tried adds a task whose only attempt ended, with a patch or without.
func tried(s *run.State, id, role string, patch bool) {
	waits(s, id, role)
	r := &spec.Result{Status: spec.StatusFailed}
	if patch {
		r.Patch = &spec.Patch{}
	}
	s.Works[id] = &run.Work{ID: id, Role: role, Last: 1, Attempts: map[int]*run.Attempt{1: {Attempt: 1, Result: r}}}
}

// waits adds a parked task that was not tried.
func waits(s *run.State, id, role string) {
	s.Tasks.Order = append(s.Tasks.Order, id)
	s.Tasks.ByID[id] = &run.Task{Task: spec.Task{ID: id, Role: role}, State: run.TaskParked}
}

func TestTheEndNamesTheWayOn(t *testing.T) {
	t.Parallel()
	published := func(s *run.State) { s.Head, s.Ref = "b2", "refs/heads/divisi/r" }
	for name, c := range map[string]struct {
		status run.Status
		reason string
		state  func(*run.State)
		want   []string
	}{
		"done": {run.Done, "", published, []string{
			"divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r",
		}},
		"done without a change": {run.Done, "", nil, []string{"divisi show r"}},
		"no patch": {run.Parked, "", func(s *run.State) { tried(s, "a", "model", false) }, []string{
			"divisi log r/a", `divisi retry r a --brief "BRIEF"`, "divisi skip r a", "divisi show r",
		}},
		"a patch of a command, and what landed": {run.Parked, "", func(s *run.State) { published(s); tried(s, "a", "command", true) }, []string{
			"divisi log r/a", "divisi diff r/a", "divisi retry r a --role ROLE", "divisi retry r a", "divisi take r/a DIR",
			"divisi skip r a", "divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r",
		}},
		"a patch that the policy rejected": {run.Parked, "", func(s *run.State) {
			tried(s, "a", "command", true)
			doubt := run.Doubt{Attempt: 1, Answer: &run.Answer{Option: run.Reject, By: run.ByPolicy}}
			s.Tasks.ByID["a"].Attempt, s.Tasks.ByID["a"].Doubts = 1, []run.Doubt{doubt}
		}, []string{
			"divisi log r/a", "divisi diff r/a", "divisi retry r a --on-doubt accept", "divisi take r/a DIR", "divisi skip r a", "divisi show r",
		}},
		"a patch with files that no gate reads": {run.Parked, "", func(s *run.State) {
			tried(s, "a", "command", true)
			s.Tasks.ByID["a"].Attempt = 1
			s.Tasks.ByID["a"].Doubts = []run.Doubt{{Attempt: 1, Unread: []spec.Unread{{Path: "a"}}}}
		}, []string{
			"divisi log r/a", "divisi diff r/a", "divisi retry r a --on-doubt ask", "divisi retry r a --allow-unread",
			"divisi take r/a DIR", "divisi skip r a", "divisi show r",
		}},
		"a coding agent that could not work": {run.Parked, "", func(s *run.State) {
			tried(s, "a", "agent", false)
			s.Works["a"].Newest().Result.Error = &spec.Fault{Class: wire.FaultCommand}
		}, []string{"divisi log r/a", "divisi retry r a", "divisi skip r a", "divisi show r"}},
		"an agent that ran out of time": {run.Parked, "", func(s *run.State) {
			tried(s, "a", "agent", false)
			s.Works["a"].Newest().Result.Error = &spec.Fault{Class: wire.FaultTime}
		}, []string{"divisi log r/a", "divisi retry r a", "divisi skip r a", "divisi show r"}},
		"a coding agent whose work was rejected": {run.Parked, "", func(s *run.State) { tried(s, "a", "agent", true) }, []string{
			"divisi log r/a", "divisi diff r/a", `divisi retry r a --brief "BRIEF"`, "divisi take r/a DIR", "divisi skip r a", "divisi show r",
		}},
		"one that was tried, and one that waits for it": {run.Parked, "", func(s *run.State) { waits(s, "b", "model"); tried(s, "a", "model", false) }, []string{
			"divisi log r/a", `divisi retry r a --brief "BRIEF"`, "divisi skip r a", "divisi retry r", "divisi show r",
		}},
		"none was tried": {run.Parked, "", func(s *run.State) { waits(s, "a", "model") }, []string{
			"divisi retry r a", "divisi skip r a", "divisi show r",
		}},
		"a goal without a plan": {run.Parked, "", func(s *run.State) { s.Works[run.MasterTask] = &run.Work{} }, []string{
			"divisi debug context r/master", `divisi run "GOAL" --repo /repo`, "divisi show r",
		}},
		"a shard of a line of a terminal, which gates refused": {run.Parked, "", func(s *run.State) {
			published(s)
			tried(s, "each-1", "each", true)
			waits(s, "each-2", "each")
			s.Tasks.ByID["each-1"].Faults = []run.AttemptFault{{Fault: spec.Fault{Class: wire.FaultGate}}}
		}, []string{
			"divisi log r/each-1", "divisi diff r/each-1", "divisi take r/each-1 DIR", "divisi skip r each-1",
			"divisi each --by file --together --repo /repo -- sed -i s/a/b/ {files}",
			"divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r",
		}},
		"red gates": {run.Parked, "", published, []string{
			"divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r",
		}},
		"budget": {run.Stopped, run.ReasonBudget, func(s *run.State) { s.Budget = spec.Tokens(700) }, []string{"divisi resume r --budget 1400", "divisi show r"}},
		"a budget in money for a model without a price": {run.Stopped, run.ReasonBudget, func(s *run.State) {
			s.Budget, s.Exhausted.Why = spec.Budget{Amount: 1, Money: true}, "model m "+spec.NoPrice
		}, []string{"divisi resume r --budget 1000000", "divisi show r"}},
		"decision":  {run.Stopped, run.ReasonWaits + "a plan", nil, []string{"divisi decide r", "divisi resume r", "divisi show r"}},
		"preflight": {run.Stopped, "failed: " + run.ReasonPreflight + ": x", nil, []string{"divisi resume r", "divisi show r"}},
		"unproven": {run.Stopped, "failed", func(s *run.State) { s.Spec.AllowUnverified, s.Head = false, "b2" }, []string{
			"divisi init --repo /repo --print", "divisi publish r", "divisi show r", "divisi resume r --allow-unverified",
		}},
		"unproven by found gates": {run.Stopped, "failed", func(s *run.State) { s.Spec.AllowUnverified, s.Spec.Detected = false, true }, []string{
			"divisi init --repo /repo", "divisi show r", "divisi resume r --allow-unverified",
		}},
		"stopped":   {run.Stopped, "", func(s *run.State) { s.Head = "b2" }, []string{"divisi resume r", "divisi publish r", "divisi show r"}},
		"cancelled": {run.Cancelled, "", func(s *run.State) { s.Head = "b2" }, []string{"divisi publish r", "divisi show r"}},
		"killed":    {run.Running, "", nil, []string{"divisi resume r", "divisi show r"}},
	} {
		s := run.NewState()
		s.Spec = run.Spec{Run: "r", Repo: "/repo", Base: "b1", AllowUnverified: true, Roles: map[string]spec.Role{
			"model": {Executor: spec.ExecutorModel}, "command": {Executor: spec.ExecutorCommand},
			"agent": {Executor: spec.ExecutorCommand, Usage: spec.AgentGemini},
			"each": {
				Executor: spec.ExecutorCommand, Command: []string{"sed", "-i", "s/a/b/", spec.ArgFiles},
				Description: spec.MadeBy + "divisi each --by file -- sed -i s/a/b/ {files}",
			},
		}}
		s.Head, s.Status, s.Reason = "b1", c.status, c.reason
		if c.state != nil {
			c.state(s)
		}
		require.Equal(t, c.want, commands(Next(s)), name)
		for _, w := range Next(s) {
			command := strings.Fields(w.Command)[1]
			require.Equal(t, command == "merge" || command == "publish" || command == "-C", w.For == ForLanded, w.Command)
		}
	}
}

func commands(ways []Way) (out []string) {
	for _, w := range ways {
		out = append(out, w.Command)
	}
	return out
}

func TestManyParkedTasksAreCounted(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Run, s.Status = "r", run.Parked
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		tried(s, id, "model", false)
	}
	ways := Next(s)
	require.NotContains(t, commands(ways), "divisi log r/d")
	require.Contains(t, ways, Way{Command: "divisi retry r", Why: "try all 5 parked tasks again, also the 2 more that are not listed"})
}

func TestALiveRunIsAnsweredOrFollowed(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Run, s.Status = "r", run.Running
	require.Equal(t, []string{"divisi watch r", "divisi pause r"}, commands(Live(s)))
	s.Wait.For = "an answer"
	require.Equal(t, []string{"divisi decide r", "divisi watch r"}, commands(Live(s)))
	s.Line = "a bad plan"
	require.Equal(t, []string{"divisi line start r"}, commands(Live(s)))
}

func TestABranchOnAnotherMachineIsFetchedFirst(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Run, s.Status, s.Ref = "r", run.Done, "refs/heads/divisi/r"
	require.Equal(t, []string{"divisi publish r", "divisi show r"}, commands(Unfetched("r", Next(s))))
}

func TestThreeWaysAreShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ways, want []string }{
		"few": {[]string{"divisi resume r", "divisi show r"}, []string{"divisi resume r", "divisi show r"}},
		"parked tasks, and what landed": {
			[]string{
				"divisi log r/a", "divisi diff r/a", `divisi retry r a --brief "BRIEF"`, "divisi take r/a DIR", "divisi skip r a",
				"divisi log r/b", `divisi retry r b --brief "BRIEF"`, "divisi skip r b",
				"divisi retry r", "divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r",
			},
			[]string{"divisi log r/a", "divisi retry r", "divisi merge r --repo /repo"},
		},
		"one parked task": {
			[]string{"divisi log r/a", "divisi diff r/a", "divisi retry r a --role ROLE", "divisi take r/a DIR", "divisi skip r a", "divisi show r"},
			[]string{"divisi log r/a", "divisi retry r a --role ROLE", "divisi diff r/a"},
		},
		"a decision before it goes on": {
			[]string{"divisi decide r", "divisi resume r", "divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r"},
			[]string{"divisi decide r", "divisi resume r", "divisi merge r --repo /repo"},
		},
		"notes before the whole report": {
			[]string{"divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi show r", "divisi memory proposals --repo /repo"},
			[]string{"divisi merge r --repo /repo", "git -C /repo diff --stat b1 divisi/r", "divisi memory proposals --repo /repo"},
		},
	} {
		var ways []Way
		for _, command := range c.ways {
			ways = append(ways, Way{Command: command})
		}
		require.Equal(t, c.want, commands(Shortlist(ways)), name)
	}
}
