package conductor_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"
)

// mixed are workers of one run with environments of their own, and its conductor.
type mixed struct {
	*rig

	conductor *conductor.Conductor
	// alive ends with the conductor.
	alive  context.Context
	ended  chan error
	cancel context.CancelFunc
	keys   map[string]ed25519.PrivateKey
	// placed is told what a worker was told about an attempt without a baseline; it may be nil.
	placed func(ctx context.Context, worker string, p wire.Placed)
}

// test is a gate of a machine: each test fails where its file has the word bad, and those that the machine lacks always.
func test(lacks string) string {
	return "#!/bin/sh\necho 1..3\nn=0\nfor t in f00 f01 f02; do\n  n=$((n+1))\n" +
		"  if grep -q bad $t.txt || [ $t = '" + lacks + "' ]; then echo not ok $n - $t; red=1; else echo ok $n - $t; fi\ndone\n" +
		"[ -z \"$red\" ]\n"
}

func newMixed(t testing.TB, change func(*run.Spec)) *mixed {
	t.Helper()
	m := &mixed{keys: map[string]ed25519.PrivateKey{}}
	m.rig = newRig(t, files(3), func(s *run.Spec) {
		s.Project.Gates = []spec.Gate{{Name: "test", Command: []string{"python3"}, Format: "tap"}}
		s.Roles["good"], s.Roles["bad"] = command("good", "echo good > $DIVISI_FILES"), command("bad", "echo bad > $DIVISI_FILES")
		s.Roles["late"] = command("late", "echo good > $DIVISI_FILES")
		change(s)
	})
	m.conduct(false)
	return m
}

// conduct begins to conduct the run, or continues with it.
func (m *mixed) conduct(resume bool) {
	m.t.Helper()
	cfg := m.quietly()
	cfg.Elsewhere, cfg.Patience.Present = true, time.Minute
	ctx, cancel := context.WithCancel(m.t.Context())
	m.t.Cleanup(cancel)
	c, err := conductor.New(ctx, cfg)
	require.NoError(m.t, err)
	if !resume {
		require.NoError(m.t, c.Start(ctx, m.spec))
	}
	m.conductor, m.alive, m.cancel, m.ended = c, ctx, cancel, make(chan error, 1)
	go func() { m.ended <- c.Run(ctx) }()
}

// end waits for the end of the run.
func (m *mixed) end() *run.State {
	m.t.Helper()
	err := <-m.ended
	m.cancel() // else a worker that leaves waits for the conductor
	require.NoError(m.t, err)
	return m.conductor.State()
}

// join starts a worker whose python3 is the script, and has the run count on it; without roles it serves all. leave stops it, and
// has the run count on it no more.
func (m *mixed) join(name, script string, roles ...string) (leave func()) {
	m.t.Helper()
	if len(roles) == 0 {
		roles = slices.Collect(maps.Keys(m.spec.Roles))
	}
	dir := filepath.Join(m.dir, "of-"+name)
	for _, d := range []string{"bin", "tmp"} {
		require.NoError(m.t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "bin", "python3"), []byte(script), 0o755))
	m.enlist(name)
	pool, err := workspace.NewPool(m.git, m.mirror, filepath.Join(dir, "slots"), time.Time{})
	require.NoError(m.t, err)
	c, alive := m.conductor, m.alive
	w := worker.NewWorker(worker.Config{
		Bus: m.bus, Name: name, Key: m.keys[name], Mirror: m.mirror, Pool: pool,
		Caches:       sandbox.Caches{Dir: filepath.Join(dir, "caches")},
		Environments: environment.NewStore(filepath.Join(dir, "environments"), workspace.Remove, time.Now),
		Temp:         filepath.Join(dir, "tmp"), AckWait: 2 * time.Second,
		Environ: append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH")),
		Gates:   gate.NewLimiter(2), Places: worker.NewPlaces(4, 1), Roles: roles,
		Run: m.spec.Run, IDs: m.newID, Log: m.log,
		Foreign: func(ctx context.Context, f wire.Foreign) (wire.Part, error) {
			p, err := c.Place(ctx, f)
			if err == nil && m.placed != nil {
				m.placed(ctx, name, p)
			}
			return p.Part, err
		},
	})
	require.NoError(m.t, w.Start(m.t.Context()))
	return func() {
		w.Stop()
		_ = c.Discharge(alive, name, "") // the run may have ended
	}
}

// enlist has the run count on a worker.
func (m *mixed) enlist(name string) {
	m.t.Helper()
	if m.keys[name] == nil {
		_, key, err := ed25519.GenerateKey(nil)
		require.NoError(m.t, err)
		m.keys[name] = key
	}
	require.NoError(m.t, m.conductor.Enlist(m.t.Context(), wire.Enlistment{
		Worker: name, Version: "test", Protocol: wire.Protocol, Key: m.keys[name].Public().(ed25519.PublicKey),
		Places: wire.Places{Agents: 4, Gates: 1},
	}))
}

// until follows the log until the state is as wanted.
func (m *mixed) until(wanted func(*run.State) bool) {
	m.t.Helper()
	st := run.NewState()
	for b, err := range (eventlog.Log{Bus: m.bus, Run: m.spec.Run}).Tail(m.t.Context(), 0) {
		require.NoError(m.t, err)
		for i := range b.Events {
			require.NoError(m.t, st.Apply(&b.Events[i]))
		}
		if wanted(st) {
			return
		}
	}
}

// onBase counts, by environment, how often the gate ran on the base commit.
func (m *mixed) onBase() map[string]int {
	m.t.Helper()
	tree, err := m.mirror.Tree(m.t.Context(), m.spec.Base)
	require.NoError(m.t, err)
	runs := map[string]int{}
	for b, err := range (eventlog.Log{Bus: m.bus, Run: m.spec.Run}).Read(m.t.Context(), 0) {
		require.NoError(m.t, err)
		for _, e := range b.Events {
			var r spec.Receipt
			if e.Kind == contextscope.KindReceipt && json.Unmarshal(e.Data, &r) == nil && r.Tree == tree && e.Task != run.FlakesTask {
				runs[r.Environment]++
			}
		}
	}
	return runs
}

// holdMakers has the workers that are told to make a baseline wait until they are stopped; asked is closed when one was told.
func (m *mixed) holdMakers() (asked <-chan struct{}) {
	told, once := make(chan struct{}), sync.Once{}
	m.placed = func(ctx context.Context, _ string, p wire.Placed) {
		if p.Part == wire.PartMake {
			once.Do(func() { close(told) })
			<-ctx.Done()
		}
	}
	return told
}

func landed(id string) func(*run.State) bool {
	return func(s *run.State) bool { return s.Tasks.ByID[id] != nil && s.Tasks.ByID[id].State == run.TaskLanded }
}

func task(id, role, file string, after ...string) spec.Task {
	return spec.Task{ID: id, Role: role, Brief: "b", Attempts: 1, Files: []string{file}, DependsOn: after}
}

func twoAfterOne() *spec.Plan {
	return planOf(task("one", "good", "f00.txt"), task("two", "bad", "f01.txt", "one"), task("three", "late", "f02.txt", "one"))
}

// Two workers of different environments prove, each against its own baseline: what is red in the second alone is refused there,
// although the base commit is red so in the first.
func TestWorkersOfTwoEnvironmentsProve(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole run of several workers")
	}
	m := newMixed(t, func(s *run.Spec) { s.Plan = twoAfterOne() })
	leave := m.join("a", test("f01"), "tester", "good")
	m.until(landed("one"))
	leave()
	defer m.join("b", test(""))()
	st := m.end()
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.Equal(t, run.TaskParked, st.Tasks.ByID["two"].State)
	require.Contains(t, st.Tasks.ByID["two"].Reason, "f01")
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["three"].State)
	require.Len(t, st.Proofs.Others, 1)
	for environment, other := range st.Proofs.Others {
		require.NotEqual(t, st.Proofs.Reference(), environment)
		require.Empty(t, other.Lacks)
		require.Equal(t, environment, st.Final[0].Environment, "a is gone")
	}
	require.Contains(t, strings.Join(st.Notices, "\n"), "and not in the first one: test: test: f01")
	for environment, n := range m.onBase() {
		require.Equal(t, 1, n, environment)
	}
}

// A worker in whose environment less passes on the base commit lands nothing; what is missing there is named.
func TestAWeakerEnvironmentProvesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole run of several workers")
	}
	m := newMixed(t, func(s *run.Spec) { s.Plan = twoAfterOne() })
	leave := m.join("a", test(""), "tester", "good")
	m.until(landed("one"))
	leave()
	left := make(chan struct{})
	m.placed = func(_ context.Context, _ string, p wire.Placed) {
		if p.Part == wire.PartLeave {
			require.Equal(t, []string{"test: test: f01"}, p.Lacks)
			close(left)
		}
	}
	defer m.join("b", test("f01"))()
	chantest.Next(t, left)
	st, err := m.fold(t.Context())
	require.NoError(t, err)
	require.Len(t, st.Batches.Landed, 1)
	require.Contains(t, strings.Join(st.Notices, "\n"), "proves nothing because of that: test: test: f01")
	defer m.join("a", test(""))()
	st = m.end()
	require.Equal(t, run.TaskParked, st.Tasks.ByID["two"].State)
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["three"].State)
	require.Equal(t, st.Proofs.Reference(), st.Final[0].Environment)
}

// The baseline of another environment is made once, by whichever of its workers is the first, also over a kill of the conductor
// when it was asked for and not made. With a worker of the first environment there, that one has the last word.
func TestABaselineOfAnotherEnvironmentIsMadeOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole run of several workers")
	}
	m := newMixed(t, func(s *run.Spec) {
		s.Project.Prove = spec.ProveEach
		s.Plan = planOf(task("one", "good", "f00.txt"), task("two", "late", "f01.txt", "one"), task("three", "late", "f02.txt", "one"))
	})
	leave := m.join("a", test(""), "tester", "good")
	m.until(landed("one"))
	leave()

	asked := m.holdMakers()
	other := test("") + "# another program\n"
	stop := []func(){m.join("b", other), m.join("c", other)}
	chantest.Next(t, asked)
	m.cancel()
	chantest.Next(t, m.ended)
	for _, f := range stop {
		f()
	}

	waits, once := make(chan struct{}), sync.Once{}
	m.placed = func(ctx context.Context, _ string, p wire.Placed) {
		switch p.Part {
		case wire.PartWait:
			once.Do(func() { close(waits) })
		case wire.PartMake:
			select {
			case <-waits:
			case <-ctx.Done():
			}
		}
	}
	m.conduct(true)
	defer m.join("b", other)()
	defer m.join("c", other)()
	m.until(func(s *run.State) bool { return len(s.Proofs.Others) == 1 })
	defer m.join("a", test(""))()
	st := m.end()
	require.Equal(t, run.Done, st.Status, st.Reason)
	runs := m.onBase()
	require.Len(t, runs, 2)
	for environment, n := range runs {
		require.Equal(t, 1, n, environment)
	}
	require.Equal(t, st.Proofs.Reference(), st.Final[0].Environment)
	require.Len(t, st.Batches.Landed, 3, "%v", st.Notices)
}

// The tests of a change set have to fail without it and to pass with it in one environment: its gates run in the first one while
// that has a worker, although a worker of another one that counts is free.
func TestSlowAChangeSetIsProvenInTheFirstEnvironment(t *testing.T) {
	t.Parallel()
	m := newMixed(t, func(s *run.Spec) {
		s.Roles["set"] = command("set", "echo $DIVISI_TASK > $DIVISI_FILES")
		s.Plan = planOf(task("one", "good", "f00.txt"), task("two", "late", "f01.txt", "one"))
		after := "two"
		for _, set := range []string{"a", "b", "c"} {
			left, right := task(set+"l", "set", "f01.txt", after), task(set+"r", "set", "f02.txt", after)
			left.ChangeSet, right.ChangeSet, after = set, set, set+"l"
			s.Plan.Tasks = append(s.Plan.Tasks, left, right)
		}
	})
	leave := m.join("a", test(""), "tester", "good")
	m.until(landed("one"))
	leave()
	defer m.join("b", test("")+"# another program\n", "tester", "late")()
	m.until(landed("two"))
	defer m.join("a", test(""), "tester", "set")()
	st := m.end()
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, st.Batches.Landed, 5)
	for b, err := range (eventlog.Log{Bus: m.bus, Run: m.spec.Run}).Read(t.Context(), 0) {
		require.NoError(t, err)
		for _, e := range b.Events {
			var r spec.Receipt
			if w := st.Works[e.Task]; e.Kind == contextscope.KindReceipt && w != nil && w.Batch != nil && w.Batch.Set != "" {
				require.NoError(t, json.Unmarshal(e.Data, &r))
				require.Equal(t, st.Proofs.Reference(), r.Environment, e.Task)
			}
		}
	}
}

// A worker that cannot run the gates on the base commit leaves the proofs to others, and reports why: what was to be proven there
// loses nothing by it.
func TestSlowAWorkerThatCannotRunTheGatesLeavesThem(t *testing.T) {
	t.Parallel()
	m := newMixed(t, func(s *run.Spec) { s.Plan = twoAfterOne() })
	leave := m.join("a", test(""), "tester", "good")
	m.until(landed("one"))
	leave()
	left, tries := make(chan string, 9), 0
	m.placed = func(_ context.Context, _ string, p wire.Placed) {
		switch p.Part {
		case wire.PartMake:
			tries++
		case wire.PartLeave:
			left <- strings.Join(p.Lacks, "\n")
		}
	}
	defer m.join("b", "#!/nowhere/python3\n")()
	require.NotEmpty(t, chantest.Next(t, left))
	require.Equal(t, 3, tries, "a service may fail to start once")
	defer m.join("a", test(""))()
	st := m.end()
	require.Empty(t, st.Proofs.Others, "another worker of it may do better")
	require.Contains(t, strings.Join(st.Notices, "\n"), "which proves nothing because of that")
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["three"].State)
	for _, w := range st.Works {
		for _, a := range w.Attempts {
			require.False(t, w.Batch != nil && a.Result != nil && a.Result.Status != spec.StatusDone && len(a.Result.Receipts) == 0, w.ID)
		}
	}
}

// An attempt whose delivery went to another worker does not wait for the delivery before, and one that there is not makes nothing.
func TestAMakerIsReplacedByItsNextDelivery(t *testing.T) {
	t.Parallel()
	m := newMixed(t, func(s *run.Spec) { s.Plan = twoAfterOne() })
	leave := m.join("a", test(""), "tester", "good")
	m.until(landed("one"))
	leave()
	asked := m.holdMakers()
	stop := m.join("b", test("")+"# another program\n")
	chantest.Next(t, asked)
	st, err := m.fold(t.Context())
	require.NoError(t, err)
	f := wire.Foreign{Worker: "b", Environment: "e", Attempt: 1}
	for id, w := range st.Works {
		if a := w.Newest(); w.Batch != nil && a.Result == nil {
			f.Task, f.Attempt = id, a.Attempt
		}
	}
	require.NotEmpty(t, f.Task)
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	require.NoError(t, m.conductor.Enlist(t.Context(), wire.Enlistment{
		Worker: "c", Version: "test", Protocol: wire.Protocol, Key: key.Public().(ed25519.PublicKey), Places: wire.Places{Gates: 1},
	}))
	for _, w := range []string{"b", "c", "b"} {
		f.Worker = w
		p, err := m.conductor.Place(t.Context(), f)
		require.NoError(t, err)
		require.Equal(t, wire.PartMake, p.Part, w)
	}
	f.Attempt = 999
	p, err := m.conductor.Place(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, wire.PartYield, p.Part)
	m.cancel()
	chantest.Next(t, m.ended)
	stop()
	require.Nil(t, m.conductor.State().Works[f.Task].At(999))
}
