package worker

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"
)

// queue puts the short form of a sealed assignment on the queue, under a place of its own.
func (s *site) queue(a *wire.Assignment, place string, key ed25519.PrivateKey) {
	s.t.Helper()
	name, data, err := a.Seal()
	require.NoError(s.t, err)
	require.NoError(s.t, s.bus.Put(s.t.Context(), name, data))
	short := wire.Assignment{Run: a.Run, Task: spec.Task{ID: a.Task.ID}, Attempt: a.Attempt, Object: name}
	require.NoError(s.t, short.Sign(key))
	text, err := json.Marshal(short)
	require.NoError(s.t, err)
	require.NoError(s.t, s.bus.Enqueue(s.t.Context(), bus.TaskSubject(a.Role.Name, a.Run, place), place, text))
}

func (s *site) emptied() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		queued, err := s.bus.Queued(s.t.Context(), bus.TaskFilter("r1"))
		require.NoError(s.t, err)
		return len(queued) == 0
	}, time.Minute, time.Millisecond)
}

// What the conductor of the run has not signed is thrown away, and ends no attempt; what it has signed runs once, however often,
// and how much later, it is put on the queue again.
func TestAWorkerTakesWhatItsConductorSigned(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	_, strange, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s := newSite(t)
	s.conductor = public
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}
	s.work(m, "generator")
	a := s.assignment(writer, "t1")
	s.queue(a, "t1--1", strange)
	s.queue(a, "t1--2", nil)
	s.emptied()
	last, err := s.bus.Last(t.Context(), bus.RunFilter("r1"))
	require.NoError(t, err)
	require.Nil(t, last, "a forged message begins nothing")
	s.queue(a, "t1--3", private)
	require.Equal(t, spec.StatusDone, s.result(a).Status)
	s.emptied()
	last, err = s.bus.Last(t.Context(), bus.RunFilter("r1"))
	require.NoError(t, err)
	s.queue(a, "t1--4", private)
	s.emptied()
	again, err := s.bus.Last(t.Context(), bus.RunFilter("r1"))
	require.NoError(t, err)
	require.Equal(t, last.Pos, again.Pos, "its result is in the log")
	require.Len(t, m.Sent(), 1)
}

// What the owner of the machine does not permit fails its attempt, with why.
func TestAWorkerRefusesWhatItsOwnerDoesNotPermit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.accept = func(a *wire.Assignment) error {
		if a.Role.Network {
			return errors.New("it lacks the network")
		}
		return nil
	}
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}
	s.work(m, "generator")
	for i, network := range []bool{true, false} {
		a := s.assignment(writer, fmt.Sprint("t", i))
		a.Role.Network = network
		s.queue(a, a.Task.ID+"--1", nil)
		r := s.result(a)
		require.Equal(t, network, r.Status == spec.StatusFailed)
		if network {
			require.Equal(t, wire.FaultAssignment, r.Error.Class)
			require.Contains(t, r.Error.Message, "it lacks the network")
		}
	}
	require.Len(t, m.Sent(), 1)
}

// Another host conducts the run by now, and its key is another one: all that it gave out was thrown away as forged, and the run
// stood still.
func TestAWorkerLeavesToTheNextSetupWhatAnotherHostHasSigned(t *testing.T) {
	t.Parallel()
	before, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s := newSite(t)
	s.conductor = before
	looked := make(chan struct{}, 100)
	answers := make(chan error, 1)
	answers <- errors.New("the conductor is away")
	s.outdated = func(context.Context) (bool, error) {
		looked <- struct{}{}
		select {
		case err := <-answers:
			return false, err
		default:
			return true, nil
		}
	}
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}
	old := s.work(m, "generator")
	a := s.assignment(writer, "t1")
	s.queue(a, "t1--1", private)
	for range 3 { // it comes again
		chantest.Next(t, looked)
	}
	queued, err := s.bus.Queued(t.Context(), bus.TaskFilter("r1"))
	require.NoError(t, err)
	require.Len(t, queued, 1)
	old.Stop()
	last, err := s.bus.Last(t.Context(), bus.RunFilter("r1"))
	require.NoError(t, err)
	require.Nil(t, last, "nothing has begun")

	s.conductor, s.outdated = public, func(context.Context) (bool, error) { return false, nil }
	s.work(m, "generator")
	require.Equal(t, spec.StatusDone, s.result(a).Status)
	s.emptied()
	_, strange, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s.queue(s.assignment(writer, "t2"), "t2--1", strange)
	s.emptied() // by the newest setup it is forged
}
