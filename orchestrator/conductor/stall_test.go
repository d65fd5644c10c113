package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestASetupThatFailsStopsARunWithoutGatesToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Project.Gates, s.Project.Setup.Command = nil, []string{"sh", "-c", "echo no compiler; exit 3"}
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b"})
	})
	defer r.worker(t.Context())()
	for range 2 {
		st, err := r.conduct(t.Context(), r.config())
		require.ErrorIs(t, err, phase.ErrPreflight)
		require.Equal(t, run.Stopped, st.Status)
		require.Empty(t, st.Plans.All, "nothing was begun")
	}
}

func TestWhatFailedBeforeAResumeDoesNotStopItAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Plan = planOf(spec.Task{ID: "a", Role: "reader", Brief: "b"}, spec.Task{ID: "b", Role: "reader", Brief: "b"},
			spec.Task{ID: "c", Role: "reader", Brief: "b"})
	})
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		switch {
		case a.Role.Name == spec.RoleTester:
			return r.passes(a)
		case a.Attempt == 1:
			return failed(wire.FaultBudget, "too much")
		default:
			return done()
		}
	})()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.True(t, st.StoppedByBudget())
	require.Eventually(t, func() bool {
		st, err := eventlog.Fold(t.Context(), r.bus, "r1")
		require.NoError(t, err)
		all, _ := st.Queue.AtWork()
		return all == 0
	}, time.Minute, 5*time.Millisecond, "the others fail in the same way while the run stops")
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, "one resume is enough: %s", st.Reason)
}

func TestAnUnsoundPatchIsAFailedAttemptAndNoFailedRun(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("ab", 20)
	for name, patch := range map[string]func(r *rig) spec.Patch{
		"its pack is not there": func(*rig) spec.Patch { return spec.Patch{Commit: commit, Tree: commit, Pack: "none"} },
		"its pack has no name":  func(*rig) spec.Patch { return spec.Patch{Commit: commit, Tree: commit} },
		"its pack lacks a piece": func(r *rig) spec.Patch {
			manifest := &nats.Msg{Subject: "obj.n.torn", Data: []byte(`{"size":1,"pieces":["x"]}`), Header: nats.Header{"Divisi-Manifest": {"1"}}}
			_, err := r.client().RequestMsgWithContext(t.Context(), manifest)
			require.NoError(t, err)
			return spec.Patch{Commit: commit, Tree: commit, Pack: "torn"}
		},
		"its pack is no pack": func(r *rig) spec.Patch {
			require.NoError(t, r.bus.Put(t.Context(), "bad", []byte("PACK of lies")))
			return spec.Patch{Commit: commit, Tree: commit, Pack: "bad"}
		},
		"its commit is not in its pack": func(r *rig) spec.Patch {
			empty := sh(t, r.checkout.Top, "git pack-objects --stdout -q < /dev/null")
			require.NoError(t, r.bus.Put(t.Context(), "empty", []byte(empty)))
			return spec.Patch{Commit: commit, Tree: commit, Pack: "empty"}
		},
		"its base is another": func(r *rig) spec.Patch {
			return spec.Patch{Commit: r.spec.Base, Base: commit, Tree: commit}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(1), func(s *run.Spec) {
				s.Roles["mod"] = command("mod", "true")
				s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Attempts: 2})
			})
			defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
				if a.Role.Name == spec.RoleTester {
					return r.passes(a)
				}
				p := patch(r)
				if p.Base == "" {
					p.Base = a.Head
				}
				result := done()
				result.Patch = &p
				return result
			})()
			st, err := r.conduct(t.Context(), r.config())
			require.NoError(t, err)
			require.Equal(t, run.Parked, st.Status, st.Reason)
			require.Equal(t, wire.FaultWriteSet, st.Tasks.ByID["one"].Faults[0].Fault.Class)
			require.Len(t, st.Tasks.ByID["one"].Faults, 2)
			if name == "its pack is no pack" {
				second := st.Tasks.ByID["one"].Faults[1].Fault
				require.Equal(t, st.Tasks.ByID["one"].Faults[0].Fault.Message, second.Message, "it was not taken in the first time")
			}
		})
	}
}

func TestTheTimeOfTheGatesIsNotTheTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		mod := command("mod", "echo new > f00.txt")
		mod.Limits.Time = spec.Duration(time.Second)
		s.Roles["mod"] = mod
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -q new f00.txt; then sleep 1.5; fi"}
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"one"}, r.landed())
}

func TestFinalGatesThatCouldNotBeRunAreTriedAgainByAResume(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "true")
		s.Project.Gates = append(s.Project.Gates, spec.Gate{Name: "whole", Command: []string{"true"}, Format: "text"})
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Gates: []string{"ok"}})
	})
	var broken atomic.Bool
	broken.Store(true)
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		switch {
		case a.Task.ID == "--final" && broken.Load():
			return failed("internal", "no space left on device")
		case a.Role.Name == spec.RoleTester:
			return r.passes(a)
		default:
			result := done()
			result.Patch = r.patch(a.Head, "f00.txt", "new")
			return result
		}
	})()
	st, err := r.conduct(t.Context(), r.config())
	require.ErrorContains(t, err, "the final gates could not be run")
	require.Equal(t, 3, st.Works["--final"].Last)
	broken.Store(false)
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status)
	require.Equal(t, []string{"one"}, r.landed())
}

func TestAMasterThatNeverComesToAnEndIsGivenUpAndWhatItHasIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(*run.Spec) {})
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		switch a.Role.Name {
		case spec.RoleTester:
			return r.passes(a)
		case spec.RoleMaster:
			result := done()
			result.Plan = planOf(spec.Task{ID: fmt.Sprintf("t%d", a.Attempt), Role: "reader", Brief: "b"})
			return result
		default:
			return done()
		}
	})()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status)
	require.Contains(t, st.Reason, "without coming to an end")
	require.Len(t, st.Tasks.ByID, 50)
}

func TestATaskMayWaitForATemplateOfAnEarlierDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(*run.Spec) {})
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		result := done()
		switch {
		case a.Role.Name == spec.RoleTester:
			return r.passes(a)
		case a.Task.ID == run.MasterTask && a.Attempt == 1:
			result.Plan = planOf(spec.Task{ID: "look", Role: "reader", Brief: "b", Shard: &spec.Shard{By: "file"}})
		case a.Task.ID == run.MasterTask && a.Attempt == 2:
			result.Plan = planOf(spec.Task{ID: "sum", Role: "reader", Brief: "b", DependsOn: []string{"look"}})
		case a.Task.ID == run.MasterTask:
			result.Final = true
		case a.Task.ID == "sum":
			result.Handoff.Summary = fmt.Sprint(len(a.Inputs))
		}
		return result
	})()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status, "its tasks read only: "+st.Reason)
	require.Equal(t, "3", st.Tasks.ByID["sum"].Result.Handoff.Summary, "every shard's handoff")
}

func TestNoTaskMayBeCalledMaster(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "true")
		s.Plan = planOf(spec.Task{ID: "master", Role: "mod", Brief: "b"})
	})
	st := r.planned()
	_, problems, err := plan.Prepare(t.Context(), *r.spec.Plan, &st.Agenda, st.Works, r.tree(r.spec.Base, ""))
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.Equal(t, "tasks[0].id", problems[0].Path)
}

func TestARequestAtTheVeryEndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b"})
	})
	defer r.worker(t.Context())()
	cfg := r.config()
	publish, heard, answered := cfg.Publish, make(chan struct{}), make(chan error, 1)
	stop, err := r.bus.Subscribe(t.Context(), "ctl.r1.conductor.*", func(bus.Message, func([]byte) error) { close(heard) })
	require.NoError(t, err)
	defer stop()
	cfg.Publish = func(ctx context.Context, commit, base, had string) (string, error) {
		go func() { answered <- cancelRun(t.Context(), r.bus, "too late") }()
		<-heard
		return publish(ctx, commit, base, had)
	}
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status)
	require.ErrorContains(t, chantest.Next(t, answered), "stopping")
}

func TestARunThatIsCancelledTakesItsQuestionBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { s.AutoApprove = false })
	defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		if a.Role.Name == spec.RoleTester {
			return r.passes(a)
		}
		result := done()
		result.Plan = planOf(spec.Task{ID: "one", Role: "generator", Brief: "b"})
		return result
	})()
	cfg := r.config()
	taken := make(chan struct{})
	answered := make(chan error, 1)
	cfg.Approve = func(ctx context.Context, _ conductor.Proposal) (conductor.Answer, error) {
		defer close(taken)
		require.Equal(t, "approval of the plan", r.nextWait(), "the log tells what the run waits for")
		go func() { answered <- cancelRun(t.Context(), r.bus, "") }()
		<-ctx.Done()
		return conductor.Answer{}, ctx.Err()
	}
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Cancelled, st.Status)
	require.NoError(t, chantest.Next(t, answered))
	select {
	case <-taken:
	default:
		require.Fail(t, "a person is still being asked")
	}
	require.Empty(t, st.Wait.For, "a run that has ended waits for nothing")
	require.Positive(t, st.Wait.Until(time.Now()))
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Cancelled, st.Status, "cancelled is for good")
}

// nextWait follows the log up to the first event by which the run waits for a person.
func (r *rig) nextWait() string {
	for m, err := range r.bus.Tail(r.t.Context(), bus.RunFilter("r1"), 1) {
		require.NoError(r.t, err)
		for _, e := range wire.DecodeEvents(m) {
			var d run.Data
			if e.Kind == contextscope.KindRun && json.Unmarshal(e.Data, &d) == nil && d.Wait != nil && *d.Wait != "" {
				return *d.Wait
			}
		}
	}
	return ""
}

func TestWaitIsNotTheRunsOwnTime(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var w run.Wait
	require.Zero(t, w.Until(at(5)))
	w.Set("an answer", at(10))
	require.Equal(t, 3*time.Second, w.Until(at(13)))
	w.Set("an answer to another", at(15))
	w.Set("", at(20))
	w.Set("", at(99))
	require.Equal(t, 10*time.Second, w.Until(at(200)))
}

func TestManyTasksThatWantTheSameLineAllLand(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about size, and slow under the race detector")
	}
	t.Parallel()
	const n = 13 // more than the conflicts that park a task
	r := newRig(t, map[string]string{"list.txt": "begin\nend\n"}, func(s *run.Spec) {
		s.Parallel = n
		s.Roles["add"] = command("add", `sleep 0.1; sed -i "s/^end/$DIVISI_TASK\nend/" list.txt`)
		var tasks []spec.Task
		for i := range n {
			tasks = append(tasks, spec.Task{ID: fmt.Sprintf("t%02d", i), Role: "add", Brief: "b"})
		}
		s.Plan = planOf(tasks...)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, r.landed(), n)
	attempts := 0
	for _, v := range st.Tasks.ByID {
		attempts += v.Attempt
	}
	require.LessOrEqual(t, attempts, 3*n+3)
}

// What a program asks for in the place of a person is in the log with its name.
func TestTheLogNamesTheProgramThatEndsARun(t *testing.T) {
	t.Parallel()
	for a, want := range map[act.Args]string{
		act.Cancel{}: "cancelled by user:ada--mcp-vim", act.Pause{}: "; asked by user:ada--mcp-vim",
	} {
		t.Run(a.Act(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(1), func(s *run.Spec) { s.AutoApprove = false })
			defer r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
				if a.Role.Name == spec.RoleTester {
					return r.passes(a)
				}
				result := done()
				result.Plan = planOf(spec.Task{ID: "one", Role: "generator", Brief: "b"})
				return result
			})()
			cfg := r.config()
			answered := make(chan error, 1)
			cfg.Approve = func(ctx context.Context, _ conductor.Proposal) (conductor.Answer, error) {
				go func() {
					by := wire.Person(wire.Through("ada", "vim"))
					_, err := askFor(t.Context(), r.bus, "r1", a, by)
					answered <- err
				}()
				<-ctx.Done()
				return conductor.Answer{}, ctx.Err()
			}
			_, err := r.conduct(t.Context(), cfg)
			require.NoError(t, err)
			require.NoError(t, chantest.Next(t, answered))
			log := ""
			for _, m := range r.messages() {
				log += string(m.Data) + "\n"
			}
			require.Contains(t, log, want)
		})
	}
}

// cancelRun asks the conductor as the command line does.
func cancelRun(ctx context.Context, b *bus.Bus, reason string) error {
	_, err := askFor(ctx, b, "r1", act.Cancel{Reason: reason}, "")
	return err
}

// planned is the run before its first event.
func (r *rig) planned() *run.State {
	st := run.NewState()
	st.Spec = r.spec
	return st
}
