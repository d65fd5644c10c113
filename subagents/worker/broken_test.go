package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

func TestAnAttemptWhoseAssignmentCannotBeReadEndsWithAFault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{}, "generator")
	for id, data := range map[string]string{
		"garbage": "{", "object": `{"run":"r1","task":{"id":"object"},"attempt":1,"object":"assignment-that-is-gone"}`,
	} {
		require.NoError(t, s.bus.Enqueue(t.Context(), bus.TaskSubject("generator", "r1", id+"--1"), id, []byte(data)))
		r := s.result(&wire.Assignment{Run: "r1", Task: spec.Task{ID: id}, Attempt: 1, Role: spec.Role{Name: "generator"}})
		require.Equal(t, spec.StatusFailed, r.Status)
		require.Equal(t, wire.FaultAssignment, r.Error.Class)
	}
	s.settled(w)
}

func TestAnAttemptWithoutAPlaceEndsWithAFault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{}, "generator")
	require.NoError(t, os.RemoveAll(w.cfg.Temp))
	require.NoError(t, os.WriteFile(w.cfg.Temp, nil, 0o600))
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, wire.FaultInternal, r.Error.Class)
	require.Contains(t, r.Error.Message, "make a private directory")
	s.settled(w)
}

func TestWhatTheMachineLacksEndsNoAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{}, "generator")
	words := &git.ExitError{Args: []string{"add"}, Stderr: "error: unable to write file x: No space left on device\nfatal: done"}
	for i, tc := range []struct {
		err         error
		what, where string
	}{
		{&fs.PathError{Op: "mkdir", Path: "/full/x", Err: syscall.ENOSPC}, "no space left on device", "/full/x"},
		{&fs.PathError{Op: "write", Path: "/q", Err: syscall.EDQUOT}, "disk quota exceeded", "/q"},
		{fmt.Errorf("reset: %w", words), "no space left on device", w.cfg.Temp},
		{&fs.PathError{Op: "fork/exec", Path: "/bin/sh", Err: syscall.EAGAIN}, "resource temporarily unavailable", ""},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EMFILE}, "too many open files", ""},
		{syscall.ENOMEM, "cannot allocate memory", ""},
	} {
		a := s.assignment(writer, fmt.Sprintf("m%d", i))
		j, err := journal.Open(t.Context(), s.bus, s.bus, a, journal.Stamp{Worker: "other", Clock: w.cfg.Clock, IDs: w.cfg.IDs})
		require.NoError(t, err)
		_, err = w.brokenOff(t.Context(), j, tc.err)
		require.ErrorIs(t, err, errHalted)
		events := j.Events()
		require.Len(t, events, 1)
		require.Equal(t, contextscope.KindControl, events[0].Kind)
		require.NoError(t, decodeAs(&events[0], func(n wire.Nudge) {
			require.Equal(t, wire.Nudge{Reason: wire.ReasonMachine, Class: tc.what, Detail: tc.where}, n)
		}))
	}
	for _, err := range []error{bus.ErrFenced, bus.ErrFull, agent.ErrStopped} {
		_, got := w.brokenOff(t.Context(), nil, err)
		require.ErrorIs(t, got, err)
		require.NotErrorIs(t, got, errHalted)
	}
	stopping, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.brokenOff(stopping, nil, syscall.ENOSPC)
	require.NotErrorIs(t, err, errHalted, "a worker that stops hands its attempts back")
	r, err := w.brokenOff(t.Context(), nil, syscall.EIO)
	require.NoError(t, err)
	require.Equal(t, wire.FaultInternal, r.Error.Class, "a broken disk does not recover by itself")
}

// Where there are other machines an attempt that broke off goes on there: it is the task's fault once three lacked the same for it.
func TestWhatSeveralMachinesLackIsTheFaultOfTheTask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{}, "generator")
	var broke []error
	w.cfg.Broke = func(err error) { broke = append(broke, err) }
	a := s.assignment(writer, "m")
	full, own := &fs.PathError{Op: "mkdir", Path: "/full", Err: syscall.ENOSPC}, errors.New("read its mirror: object is missing")
	for i, c := range []struct {
		worker string
		err    error
		fault  string
	}{
		{"one", full, ""},
		{"one", full, ""}, // it had room before it took it again
		{"two", own, ""},
		{"two", full, ""},
		{"three", own, ""},
		{"three", full, "it failed alike on worker one, three, two, which lacked nothing before: no space left on device at /full"},
	} {
		w.cfg.Name = c.worker
		j, err := journal.Open(t.Context(), s.bus, s.bus, a, journal.Stamp{Worker: c.worker, Clock: w.cfg.Clock, IDs: w.cfg.IDs})
		require.NoError(t, err)
		_, err = j.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: i + 1}))
		require.NoError(t, err)
		r, err := w.brokenOff(t.Context(), j, c.err)
		if c.fault == "" {
			require.ErrorIs(t, err, errHalted)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, wire.FaultMachine, r.Error.Class)
		require.Contains(t, r.Error.Message, c.fault)
	}
	require.Len(t, broke, 5)
}

func TestAnAttemptThatBreaksOffAgainAndAgainEndsWithAFault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.work(&modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("never asked")}}, "generator")
	w.mu.Lock()
	w.broken[bus.TaskSubject("generator", "r1", "t1")] = maxDeliveries
	w.mu.Unlock()
	a := s.assignment(writer, "t1")
	s.enqueue(a)
	require.Equal(t, wire.FaultInternal, s.result(a).Error.Class)
	s.settled(w)
}
