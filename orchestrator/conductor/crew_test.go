package conductor_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func recruit(t *testing.T, name string, agents int) wire.Enlistment {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	return wire.Enlistment{
		Worker: name, Version: "test", Protocol: wire.Protocol, Key: public, Places: wire.Places{Agents: agents, Gates: 1},
	}
}

// says repeats what a worker says of itself until stop.
func (r *rig) says(p wire.Presence) (stop func()) {
	data, err := json.Marshal(p)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			_ = r.bus.Publish(ctx, bus.WorkerPresence(p.Worker), data) // repeated
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// A run dispatches as much as its crew can do, gives the attempts of a lost worker to another one, and asks a person while no
// worker is there.
func TestACrewIsCountedOnUntilItIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(6))
	cfg := r.quick()
	cfg.Elsewhere, cfg.Interactive, cfg.Patience.Present = true, true, 3*time.Second
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()

	one := recruit(t, "w1", 2)
	require.NoError(t, c.Enlist(t.Context(), one))
	twin := recruit(t, "w1", 2)
	require.ErrorContains(t, c.Enlist(t.Context(), twin), "knows a worker w1 with another key")
	twin = one
	twin.Worker = "w7"
	require.ErrorContains(t, c.Enlist(t.Context(), twin),
		"the run knows the key of worker w7 as that of worker w1: give one of them another state directory")
	newer := recruit(t, "w9", 2)
	newer.Protocol++
	require.ErrorContains(t, c.Enlist(t.Context(), newer), fmt.Sprintf("worker w9 is incompatible: it speaks version %d", wire.Protocol+1))
	gone := r.says(wire.Presence{
		Worker: "w9", Version: "v9", Protocol: newer.Protocol, Key: newer.Key, State: wire.WorkerReady, Places: newer.Places,
		Runs: map[string]wire.Service{"r1": {Serves: []string{"reader", "tester"}}},
	})
	idle := &rough{r: r, what: func(*wire.Assignment) string { return "started nothing" }, wait: time.Minute, name: "w1"}
	stop := idle.start(t.Context())

	dispatched, lost := map[string]bool{}, false
	st := run.NewState()
	for b, err := range (eventlog.Log{Bus: r.bus, Run: "r1"}).Tail(t.Context(), 0) {
		require.NoError(t, err)
		for i := range b.Events {
			e := b.Events[i]
			require.NoError(t, st.Apply(&e))
			if e.Kind == contextscope.KindTask && strings.Contains(string(e.Data), `"running"`) {
				dispatched[e.Task] = true
			}
		}
		lost = lost || slices.ContainsFunc(st.Notices, func(n string) bool { return strings.HasPrefix(n, "worker w1 was lost: ") })
		if lost && len(st.Unserved) > 0 {
			break
		}
	}
	require.Len(t, dispatched, 2)
	require.Contains(t, st.Notices, "worker w1 was lost: no sign of life for 3s; 2 of its attempts continue elsewhere")
	open := decision.Open(st)
	require.Len(t, open, 1)
	require.Contains(t, open[0].Text, fmt.Sprintf("a worker for the role reader: no worker takes the tasks of role reader: worker w9 is "+
		"incompatible: it speaks version %d of the protocol (Divisi v9), and run r1 version %d. Install Divisi ",
		wire.Protocol+1, wire.Protocol))
	stop()
	gone()

	two := recruit(t, "w2", 6)
	defer r.says(wire.Presence{
		Worker: "w2", Protocol: two.Protocol, Key: two.Key, State: wire.WorkerReady, Places: two.Places,
		Runs: map[string]wire.Service{"r1": {Serves: []string{"reader", "tester"}}},
	})()
	require.NoError(t, c.Enlist(t.Context(), two))
	w := &rough{r: r, what: func(*wire.Assignment) string { return "started result ack" }, name: "w2", had: 1}
	defer w.start(t.Context())()
	require.NoError(t, chantest.Next(t, ended))
	require.Equal(t, run.Done, c.State().Status)
}

// A worker that says each time that it has other places, and is another process, has no events appended without end; another one
// enlists all the same.
func TestAWorkerThatEnlistsWithoutEndWritesNoLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(1))
	cfg := r.quick()
	cfg.Elsewhere = true
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	e, refused := recruit(t, "w1", 1), 0
	for i := range 200 {
		e.Agents, e.Since = 1+i%2, time.Unix(int64(i), 0)
		if err := c.Enlist(t.Context(), e); err != nil {
			require.ErrorContains(t, err, "it is asked to wait")
			refused++
		}
	}
	require.Equal(t, 140, refused)
	require.NoError(t, c.Enlist(t.Context(), recruit(t, "w2", 1)))
	end()
	require.NoError(t, chantest.Next(t, ended))
	require.Less(t, c.State().Pos, uint64(200))
}

// What workers report without end is not kept: 300 messages as large as the server takes, and 20,000 small ones, about attempts that
// no conductor has put on the queue.
func TestReportsOfNoAttemptAreNotKept(t *testing.T) { //nolint:paralleltest // it measures the memory of all tests
	r := newRig(t, files(1), manyReaders(1))
	cfg := r.quick()
	cfg.Elsewhere = true
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	require.NoError(t, c.Enlist(t.Context(), recruit(t, "w1", 2)))
	before := heap()
	for i := range 300 {
		require.NoError(t, r.bus.Publish(t.Context(), bus.ActiveSubject("r1"), fmt.Appendf(make([]byte, 0, bus.MaxData), "%0*d", bus.MaxData, i)))
	}
	for i := range 20_000 {
		require.NoError(t, r.bus.Publish(t.Context(), bus.ActiveSubject("r1"), fmt.Appendf(nil, "%02000d", i)))
	}
	require.Eventually(t, func() bool { return heap()-before < 20<<20 }, time.Minute, 50*time.Millisecond)
	t.Logf("the heap has grown by %d KiB", (heap()-before)>>10)
	end()
	require.NoError(t, chantest.Next(t, ended))
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A worker in quarantine is out at once: what it had goes on elsewhere, and although it still says that it serves the roles, a
// person is told that another one is needed.
func TestAWorkerInQuarantineServesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(2))
	cfg := r.quick()
	cfg.Elsewhere, cfg.Patience.Present = true, 3*time.Second
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	serve := map[string]wire.Service{"r1": {Serves: []string{"reader", "tester"}}}
	one := recruit(t, "w1", 2)
	require.NoError(t, c.Enlist(t.Context(), one))
	defer r.says(wire.Presence{Worker: "w1", Protocol: one.Protocol, Key: one.Key, State: wire.WorkerReady, Places: one.Places, Runs: serve})()
	idle := &rough{r: r, what: func(*wire.Assignment) string { return "started nothing" }, wait: time.Minute, name: "w1"}
	stop := idle.start(t.Context())
	asked, st := false, run.NewState()
	for b, err := range (eventlog.Log{Bus: r.bus, Run: "r1"}).Tail(t.Context(), 0) {
		require.NoError(t, err)
		for i := range b.Events {
			require.NoError(t, st.Apply(&b.Events[i]))
		}
		if a := st.Works["t0000"].At(1); !asked && a != nil && a.Started {
			outcome, err := askFor(t.Context(), r.bus, "r1", act.Quarantine{Worker: "w1"}, wire.Person("ann"))
			require.NoError(t, err)
			require.Equal(t, "no landed change has the proof of worker w1 alone", outcome)
			asked = true
		}
		if len(st.Unserved) > 0 {
			break
		}
	}
	require.True(t, asked)
	require.NotContains(t, st.Crew, "w1")
	open := decision.Open(st)
	require.Len(t, open, 1)
	require.Equal(t, run.DecideWorker, open[0].Kind)
	stop()
	two := recruit(t, "w2", 6)
	defer r.says(wire.Presence{Worker: "w2", Protocol: two.Protocol, Key: two.Key, State: wire.WorkerReady, Places: two.Places, Runs: serve})()
	require.NoError(t, c.Enlist(t.Context(), two))
	w := &rough{r: r, what: func(*wire.Assignment) string { return "started result ack" }, name: "w2", had: 1}
	defer w.start(t.Context())()
	require.NoError(t, chantest.Next(t, ended))
	require.Equal(t, run.Done, c.State().Status)
}

// A worker that was killed and is back before it counts as lost has forgotten what it was at: that is dispatched at once.
func TestAWorkerThatBeganAgainHasNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(2))
	cfg := r.quick()
	cfg.Elsewhere, cfg.Patience.Present = true, time.Hour
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	one := recruit(t, "w1", 2)
	one.Since = time.Unix(100, 0)
	require.NoError(t, c.Enlist(t.Context(), one))
	idle := &rough{r: r, what: func(*wire.Assignment) string { return "started nothing" }, wait: time.Minute, name: "w1"}
	stop := idle.start(t.Context())
	started := 0
	for b, err := range (eventlog.Log{Bus: r.bus, Run: "r1"}).Tail(t.Context(), 0) {
		require.NoError(t, err)
		for i := range b.Events {
			if b.Events[i].Kind == contextscope.KindStarted {
				started++
			}
		}
		if started == 2 {
			break
		}
	}
	stop()
	require.NoError(t, c.Enlist(t.Context(), one), "the same process may enlist again")
	one.Since = time.Unix(99, 0) // its clock was put back meanwhile
	require.NoError(t, c.Enlist(t.Context(), one))
	again := &rough{r: r, what: func(*wire.Assignment) string { return "started result ack" }, name: "w1", had: 1}
	defer again.start(t.Context())()
	require.NoError(t, chantest.Next(t, ended))
	require.Equal(t, run.Done, c.State().Status)
	// The conductor may not have read of both of them by then.
	began := func(n string) bool {
		return strings.HasPrefix(n, "worker w1 began again; ") && strings.HasSuffix(n, " of its attempts continue elsewhere")
	}
	require.Len(t, slices.DeleteFunc(slices.Clone(c.State().Notices), func(n string) bool { return !began(n) }), 1)
}
