package conductor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// rough is a worker that can be interrupted at every delivery. what reports how: true means that it carries the attempt out.
type rough struct {
	r    *rig
	what func(a *wire.Assignment) string
	// wait is after how long without an answer a delivery is repeated; zero means 150 ms.
	wait time.Duration
	// name is the worker's; "" means local. had is how many deliveries another worker had before.
	name string
	had  int
}

func (w *rough) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for role := range w.r.spec.Roles {
		q, err := w.r.bus.Queue(ctx, role, bus.QueueOptions{
			Run: w.r.spec.Run, AckWait: cmp.Or(w.wait, 150*time.Millisecond), MaxDeliver: -1,
		})
		require.NoError(w.r.t, err)
		all.Go(func() {
			for {
				d, err := q.Next(ctx)
				if err != nil {
					return
				}
				if err := w.deliver(ctx, d); err != nil && ctx.Err() == nil {
					w.r.log.Info().Err(err).Msg("a delivery went wrong")
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// deliver does what is to happen to one delivery.
func (w *rough) deliver(ctx context.Context, d *bus.Delivery) error {
	var queued wire.Assignment
	if err := json.Unmarshal(d.Data, &queued); err != nil {
		return err
	}
	a, err := wire.Unseal(ctx, w.r.bus, queued.Object)
	if err != nil {
		return err
	}
	what := w.what(a)
	if strings.Contains(what, "started") || strings.Contains(what, "machine") {
		if err := w.append(ctx, a, contextscope.KindStarted, wire.Started{Delivery: d.Number + w.had}); err != nil {
			return err
		}
	}
	if strings.Contains(what, "machine") {
		if err := w.append(ctx, a, contextscope.KindControl, wire.Nudge{Reason: wire.ReasonMachine, Class: "no memory"}); err != nil {
			return err
		}
	}
	if strings.Contains(what, "result") {
		result := done()
		result.Task, result.Attempt, result.Delivery = a.Task.ID, a.Attempt, d.Number+w.had
		if err := w.append(ctx, a, contextscope.KindResult, result); err != nil {
			return err
		}
	}
	switch what[strings.LastIndexByte(what, ' ')+1:] {
	case "ack":
		return d.Ack(ctx)
	case "term":
		return d.Term(ctx, "a test")
	case "nak":
		return d.Nak(ctx)
	case "purge":
		return w.r.bus.Purge(ctx, d.Subject)
	}
	return nil
}

func (w *rough) append(ctx context.Context, a *wire.Assignment, kind contextscope.Kind, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	subject, at := bus.AttemptSubject(a.Run, cmp.Or(w.name, "local"), a.Role.Name, a.Task.ID, a.Attempt), uint64(0)
	last, err := w.r.bus.Last(ctx, subject)
	if err != nil {
		return err
	}
	if last != nil {
		at = last.Pos
	}
	message, err := wire.EncodeEvents([]contextscope.Event{{
		V: contextscope.EventVersion, ID: w.r.newID(), Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt, Agent: a.Agent(),
		Role: a.Role.Name, Author: a.Agent(), Time: time.Now(), Kind: kind, Data: raw, Seq: 1,
	}})
	if err != nil {
		return err
	}
	_, err = w.r.bus.Append(ctx, subject, message, at)
	return err
}

// quick is a configuration that notices within tenths of a second what it else notices within seconds.
func (r *rig) quick() conductor.Config {
	cfg := r.config()
	cfg.Patience = conductor.Patience{Sweep: 100 * time.Millisecond, Lost: time.Second, Retry: 50 * time.Millisecond, Most: time.Hour}
	return cfg
}

func manyReaders(n int) func(*run.Spec) {
	return func(s *run.Spec) {
		s.Parallel = n
		s.Project.Gates, s.AllowUnverified = nil, true
		tasks := make([]spec.Task, n)
		for i := range tasks {
			tasks[i] = spec.Task{ID: fmt.Sprintf("t%04d", i), Role: spec.RoleReader, Brief: "b"}
		}
		s.Plan = planOf(tasks...)
	}
}

// Whatever becomes of its deliveries, and whenever its conductor is replaced, a task is queued, running or settled: it ends.
func TestNoSequenceOfInterruptedDeliveriesLosesATask(t *testing.T) {
	t.Parallel()
	harms := []string{
		"nothing", "started nothing", "ack", "started ack", "term", "started term", "nak", "purge", "started purge",
		"machine term", "machine nothing", "result nothing", "started result term", "result nak", "result purge",
	}
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dice, mu := rand.New(rand.NewPCG(seed, 0)), sync.Mutex{}
			r := newRig(t, files(1), manyReaders(16))
			left, log := map[string]int{}, []string{}
			w := &rough{r: r, what: func(a *wire.Assignment) string {
				mu.Lock()
				defer mu.Unlock()
				n, ok := left[a.Agent()]
				if !ok {
					n = dice.IntN(6)
				}
				if left[a.Agent()] = n - 1; n <= 0 {
					return "started result ack"
				}
				harm := harms[dice.IntN(len(harms))]
				log = append(log, a.Agent()+" "+harm)
				return harm
			}}
			defer w.start(t.Context())()
			st := r.replaced(t, dice.IntN(1500))
			queued, err := r.bus.Queued(t.Context(), bus.TaskFilter("r1"))
			require.NoError(t, err)
			for id, task := range st.Tasks.ByID {
				if a := st.Works[id]; !task.Ended() && a != nil {
					log = append(log, fmt.Sprintf("%s is %s: %+v %d", id, task.State, a.Attempts[a.Last], left[id+"/1"]))
				}
			}
			log = append(log, queued...)
			require.Equal(t, run.Done, st.Status, "%s\n%s", st.Reason, strings.Join(log, "\n"))
			require.Equal(t, 16, st.Tasks.Counts()[run.TaskDone])
		})
	}
}

// replaced conducts a run to its end, with another conductor after some milliseconds.
func (r *rig) replaced(t *testing.T, after int) *run.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(after)*time.Millisecond)
	defer cancel()
	if _, err := r.conduct(ctx, r.quick()); err != nil {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	st, err := r.conduct(ctx, r.quick())
	require.NoError(t, err)
	return st
}

func TestARunWaitsForWhatItsMachineLacksAndGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(3))
	const paused = "paused: no memory; tried again every 50ms"
	w := &rough{r: r, what: func(*wire.Assignment) string {
		if slices.Contains(r.reasons(), paused) {
			return "started result ack"
		}
		return "machine term"
	}}
	defer w.start(t.Context())()
	st, err := r.conduct(t.Context(), r.quick())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status)
	for _, task := range st.Tasks.ByID {
		require.Equal(t, 1, task.Attempt, "a fault of the machine costs no attempt")
		require.Empty(t, task.Faults)
	}
	require.Contains(t, r.reasons(), paused)
}

// reasons lists what the conductor has recorded about the run itself; an entry without a reason is empty.
func (r *rig) reasons() []string {
	var reasons []string
	for m, err := range r.bus.Read(r.t.Context(), bus.ConductorFilter("r1"), 0) {
		require.NoError(r.t, err)
		for _, e := range wire.DecodeEvents(m) {
			var d run.Data
			if e.Kind == contextscope.KindRun && json.Unmarshal(e.Data, &d) == nil {
				reasons = append(reasons, d.Reason)
			}
		}
	}
	return reasons
}

// recovered reports whether the conductor has recorded that the run continued after a wait for its machine.
func (r *rig) recovered() bool {
	reasons := r.reasons()
	at := slices.IndexFunc(reasons, func(s string) bool { return strings.HasPrefix(s, run.ReasonHalt) })
	return at >= 0 && slices.Contains(reasons[at:], "")
}

func TestARunThatWaitsTooLongForItsMachineIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(2))
	var healed atomic.Bool
	w := &rough{r: r, what: func(*wire.Assignment) string {
		if healed.Load() {
			return "started result ack"
		}
		return "machine term"
	}}
	defer w.start(t.Context())()
	cfg := r.quick()
	cfg.Patience.Most = 300 * time.Millisecond
	st, err := r.conduct(t.Context(), cfg)
	require.ErrorIs(t, err, conductor.ErrMachine)
	require.Equal(t, run.Stopped, st.Status)
	healed.Store(true)
	st, err = r.conduct(t.Context(), r.quick())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status)
}

// What the machine lacked is there again, and the attempt that was dispatched again takes its time.
func TestSlowARunWhoseMachineHasRecoveredIsNotStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(1))
	var later, asked atomic.Int64
	var over atomic.Bool
	w := &rough{r: r, wait: time.Minute, what: func(_ *wire.Assignment) string {
		if later.Load() == 0 {
			later.Store(1)
			return "machine term"
		}
		for !r.recovered() {
			runtime.Gosched()
		}
		later.Store(int64(time.Hour))
		for at := asked.Load(); asked.Load() < at+20 && !over.Load(); {
			runtime.Gosched()
		}
		return "started result ack"
	}}
	defer w.start(t.Context())()
	cfg := r.quick()
	cfg.Patience.Most = time.Minute
	cfg.Patience.Lost = 2 * time.Hour
	cfg.Clock = func() time.Time {
		asked.Add(1)
		return time.Now().Add(time.Duration(later.Load()))
	}
	st, err := r.conduct(t.Context(), cfg)
	over.Store(true)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status)
}

// The disk of the repository is full when the branch is to be put there: the run ended as failed. It waits and reports why.
func TestWhatTheConductorCannotDoWaitsForTheMachine(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	cfg := r.config()
	cfg.Patience.Retry = 10 * time.Millisecond
	publish, tries := cfg.Publish, 0
	cfg.Publish = func(ctx context.Context, commit, base, had string) (string, error) {
		if tries++; tries < 3 {
			return "", &fs.PathError{Op: "write", Path: r.dir, Err: syscall.ENOSPC}
		}
		return publish(ctx, commit, base, had)
	}
	c, err := conductor.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	stop := r.worker(t.Context())
	defer stop()
	require.NoError(t, c.Run(t.Context()))
	require.Equal(t, run.Done, c.State().Status)
	require.Equal(t, 3, tries)
	paused := 0
	for b, err := range (eventlog.Log{Bus: r.bus, Run: "r1"}).Read(t.Context(), 0) {
		require.NoError(t, err)
		for i := range b.Events {
			if strings.Contains(string(b.Events[i].Data), run.ReasonHalt+"no space left on device at "+r.dir) {
				paused++
			}
		}
	}
	require.Positive(t, paused)
}

// Without a worker a run tells once that it waits for one, and ends when there is one.
func TestARunWithoutAWorkerTellsThatItWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), manyReaders(2))
	c, err := conductor.New(t.Context(), r.quick())
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), r.spec))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	said := func(e contextscope.Event) bool { return strings.Contains(string(e.Data), "waiting for a worker: ") }
	for b, err := range (eventlog.Log{Bus: r.bus, Run: "r1"}).Tail(t.Context(), 0) {
		require.NoError(t, err)
		if slices.ContainsFunc(b.Events, said) {
			break
		}
	}
	w := &rough{r: r, what: func(*wire.Assignment) string { return "started result ack" }}
	defer w.start(t.Context())()
	require.NoError(t, chantest.Next(t, ended))
	require.Equal(t, run.Done, c.State().Status)
	require.Equal(t, []string{"waiting for a worker: no process works on 2 attempts of the queue"}, c.State().Notices)
}

// A conductor that has taken a run over records that it was asked to stop, also while it begins.
func TestAStopWhileAConductorBeginsIsRecorded(t *testing.T) {
	t.Parallel()
	taken := 0
	for k := range int64(10) {
		r := newRig(t, files(1), manyReaders(1))
		ctx, cancel := context.WithCancel(t.Context())
		cfg := r.config()
		clock, calls := cfg.Clock, atomic.Int64{}
		cfg.Clock = func() time.Time {
			if calls.Add(1) == k+1 {
				cancel()
			}
			return clock()
		}
		c, err := conductor.New(t.Context(), cfg)
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context(), r.spec))
		calls.Store(0)
		stop := r.worker(t.Context())
		err = c.Run(ctx)
		stop()
		asked := ctx.Err() != nil
		cancel()
		if st := c.State(); st.Epoch > 0 && asked {
			require.NoError(t, err, "call %d", k)
			require.Equal(t, run.Stopped, st.Status, "call %d", k)
			taken++
		}
	}
	require.Positive(t, taken)
}
