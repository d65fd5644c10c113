package conductor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
)

func TestCancellingAParentCancelsAllBelowIt(t *testing.T) {
	t.Parallel()
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprintf("background %v", background), func(t *testing.T) {
			t.Parallel()
			cancelsAllBelow(t, background)
		})
	}
}

func cancelsAllBelow(t *testing.T, background bool) {
	t.Helper()
	r := newRig(t, files(1), func(s *run.Spec) {
		addRoles(s, agentRole("a", spec.ToolDelegate), agentRole("b", spec.ToolDelegate), agentRole("c", spec.ToolReadFile))
		s.Plan = planOf(spec.Task{ID: "t", Role: "a", Brief: "b"}, spec.Task{ID: "u", Role: "c", Brief: "b"})
	})
	deepest, release := make(chan struct{}), make(chan struct{})
	said := r.play(parts{
		"t":       {calls(delegates("b", "1", "background", background)), submits("t")},
		"t-b-1-0": {calls(delegates("c", "2")), submits("b")},
	})
	said.hold = func(q geminitest.Request) {
		if q.Task == "t-b-1-0-c-1-0" {
			close(deepest)
			<-release
		}
	}
	defer close(release)
	c, err := conductor.New(t.Context(), r.config())
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	defer r.worker(t.Context())()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	chantest.Next(t, deepest)
	text, err := askFor(t.Context(), r.bus, "r1", act.Cancel{Task: "t", Reason: "wrong"}, "")
	require.NoError(t, err)
	require.Equal(t, "t is cancelled", text)
	require.NoError(t, chantest.Next(t, ended))
	st := c.State()
	require.Equal(t, run.Parked, st.Status, st.Reason)
	for _, id := range []string{"t", "t-b-1-0", "t-b-1-0-c-1-0"} {
		require.Equal(t, run.TaskCancelled, st.Tasks.ByID[id].State, id)
	}
	require.Equal(t, "wrong", st.Tasks.ByID["t"].Reason)
	require.Contains(t, st.Tasks.ByID["t-b-1-0-c-1-0"].Reason, "t-b-1-0/1, which had asked for it, has ended")
	require.Equal(t, run.TaskDone, st.Tasks.ByID["u"].State)
	require.Zero(t, said.count("t/1/3"), "it did not go on")
}

func TestCancellingAChildAnswersItsParent(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		addRoles(s, agentRole("a", spec.ToolDelegate), agentRole("c", spec.ToolReadFile))
		s.Plan = planOf(spec.Task{ID: "t", Role: "a", Brief: "b"})
	})
	begun, release := make(chan struct{}), make(chan struct{})
	said := r.play(parts{"t": {calls(delegates("c", "1")), submits("t")}})
	said.hold = func(q geminitest.Request) {
		if q.Task == "t-c-1-0" {
			close(begun)
			<-release
		}
	}
	defer close(release)
	go func() {
		<-begun
		_, err := askFor(t.Context(), r.bus, "r1", act.Cancel{Task: "t-c-1-0", Reason: "enough"}, "")
		if err != nil {
			panic(err)
		}
	}()
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Contains(t, said.at("t/1/2"), "cancelled: enough")
}

// A worker and a conductor die while an agent waits. Another pair continues: nothing is asked twice, and nothing is paid twice.
func TestAnAgentThatWaitsSurvivesItsWorkerAndItsConductor(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolWriteFile, spec.ToolDelegate), agentRole("scout", spec.ToolReadFile))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b", Files: []string{"f00.txt"}})
	})
	said := r.play(parts{
		"one":           {calls(delegates("scout", "b")), writes("f00.txt", "new\n"), submits("done")},
		"one-scout-1-0": {submits("found it")},
	})
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	release := make(chan struct{})
	said.hold = func(q geminitest.Request) {
		if q.Task == "one-scout-1-0" {
			kill()
			<-release
		}
	}
	stop := r.worker(ctx)
	_, err := r.conduct(ctx, r.config())
	require.NoError(t, err)
	stop()
	close(release)
	said.hold = nil
	defer r.worker(t.Context())()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"one", "one-scout-1-0"}, st.Tasks.Order, "it was asked for once")
	require.Equal(t, 1, said.count("one/1/1"), "the turn that asked was paid once")
	require.Equal(t, 1, kinds(t, r, "lead", "one", 1)[contextscope.KindRequest])
	require.Contains(t, said.at("one/1/2"), "found it")
	require.GreaterOrEqual(t, st.Works["one"].Attempts[1].Delivery, 2)
	require.Equal(t, 1, st.Tasks.ByID["one"].Attempt)
	require.True(t, strings.HasPrefix(st.Requests.Order[0], "one/1/"))
}
