package conductor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// begun conducts the run without a worker until its first task is on the queue.
func (r *rig) begun(resume bool) (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	c, err := conductor.New(ctx, r.config())
	require.NoError(r.t, err)
	if !resume {
		require.NoError(r.t, c.Start(ctx, r.spec))
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	require.Eventually(r.t, func() bool {
		queued, err := r.bus.Queued(ctx, bus.TaskFilter(r.spec.Run))
		return err == nil && slices.Contains(queued, bus.TaskSubject("mod", r.spec.Run, "one--1"))
	}, 20*time.Second, 5*time.Millisecond)
	return func() { cancel(); <-ended }
}

// A worker continues with what it had on a server whose log was lost: nothing that it appends is stored any more.
func TestAConductorClaimsTheAttemptsOfACopiedLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	ctx := t.Context()
	stop := r.begun(false)
	at := &wire.Assignment{Run: "r1", Task: spec.Task{ID: "one"}, Attempt: 1, Role: spec.Role{Name: "mod"}}
	ids := journal.Stamp{Worker: "old", Clock: time.Now, IDs: r.newID}
	had, err := journal.Open(ctx, r.bus, r.bus, at, ids)
	require.NoError(t, err)
	_, err = had.Append(ctx, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1}))
	require.NoError(t, err)
	future := &wire.Assignment{Run: "r1", Task: spec.Task{ID: "--batch-1"}, Attempt: 1, Role: spec.Role{Name: spec.RoleTester}}
	lost, err := journal.Open(ctx, r.bus, r.bus, future, ids) // dispatched after the backup
	require.NoError(t, err)
	stop()

	restored, err := r.bus.Append(ctx, bus.RestoredSubject, []byte("{}"), 0)
	require.NoError(t, err)
	require.NoError(t, r.bus.Purge(ctx, bus.TaskFilter("r1"))) // a copy has no queue
	stop = r.begun(true)
	_, err = had.Append(ctx, wire.Draft(contextscope.KindProgress, wire.Progress{Doing: "what was lost"}))
	require.ErrorIs(t, err, bus.ErrFenced)
	stop()

	c, err := conductor.New(ctx, r.config())
	require.NoError(t, err)
	defer r.worker(ctx)()
	require.NoError(t, c.Run(ctx))
	require.Equal(t, run.Done, c.State().Status, c.State().Reason)
	require.Equal(t, []string{"one"}, r.landed())
	_, err = lost.Append(ctx, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1}))
	require.ErrorIs(t, err, bus.ErrFenced)
	first := map[string]contextscope.Event{}
	for b, err := range (eventlog.Log{Bus: r.bus, Run: at.Run}).Read(ctx, restored) {
		require.NoError(t, err)
		for _, e := range b.Events {
			require.NotEqual(t, contextscope.KindUnreadable, e.Kind)
			if _, had := first[e.Agent]; e.Agent != "" && !had {
				first[e.Agent] = e
				require.Equal(t, contextscope.KindStarted, e.Kind)
				require.Len(t, b.Events, 2, "the claim of %s", e.Agent)
				require.Equal(t, contextscope.KindControl, b.Events[1].Kind)
			}
		}
	}
	require.Contains(t, first, "--batch-1/1")
}

// A worker that has the setup before looks for a newer one before it throws away what another key has signed: it has to be there.
func TestASetupIsNamedBeforeItsQueueIsFilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	r.begun(false)()
	cfg := r.config()
	cfg.Setup = "setup-2"
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var named bus.Message
	for m, err := range r.bus.Tail(ctx, bus.ConductorSubject("r1", string(contextscope.KindRun)), 1) {
		require.NoError(t, err)
		if strings.Contains(string(m.Data), "setup-2") {
			named = m
			break
		}
	}
	js, err := jetstream.New(r.client())
	require.NoError(t, err)
	var queued *jetstream.RawStreamMsg
	require.Eventually(t, func() bool {
		tasks, err := js.Stream(ctx, "TASKS")
		if err == nil {
			queued, err = tasks.GetLastMsgForSubject(ctx, bus.TaskSubject("mod", "r1", "one--1"))
		}
		return err == nil && !queued.Time.Before(named.Time)
	}, 10*time.Second, 10*time.Millisecond)
	cancel()
	chantest.Next(t, ended)
}

// Two machines whose clocks are an hour apart: what a person asked was left undone, as if they had stopped waiting.
func TestAClockThatIsAheadLeavesNoRequestUndone(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	cfg := r.config()
	cfg.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	require.Eventually(t, func() bool {
		_, err := askFor(ctx, r.bus, "r1", act.StopLine{Reason: "a look"}, "")
		if !errors.Is(err, bus.ErrNoListener) {
			require.NoError(t, err)
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	cancel()
	chantest.Next(t, ended)
}
