package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// crashPlan has something of everything: a dependency, shards, a write set that two share, an attempt that fails, and a change
// set with one that does.
func crashPlan(s *run.Spec) {
	s.Roles["mod"] = command("mod", "for f in $DIVISI_FILES; do echo $DIVISI_TASK >> $f; done")
	s.Roles["twice"] = command("twice",
		`if grep -q '"class":"gate"'; then echo good > $DIVISI_FILES; else echo bad > $DIVISI_FILES; fi`)
	s.Project.Gates[0].Command = []string{"sh", "-c", "! grep -n bad f04.txt f05.txt f06.txt | sed 's/$/ error: it is bad/' | grep ."}
	s.Plan = planOf(
		spec.Task{ID: "prep", Role: "mod", Brief: "b", Files: []string{"f00.txt"}},
		spec.Task{ID: "all", Role: "mod", Brief: "b", DependsOn: []string{"prep"}, Shard: &spec.Shard{By: "file", Glob: "f0[12].txt"}},
		spec.Task{ID: "twice", Role: "twice", Brief: "b", Files: []string{"f04.txt"}},
		spec.Task{ID: "left", Role: "mod", Brief: "b", Files: []string{"f05.txt"}, ChangeSet: "pair"},
		spec.Task{ID: "right", Role: "twice", Brief: "b", Files: []string{"f06.txt"}, ChangeSet: "pair"},
		spec.Task{ID: "more", Role: "mod", Brief: "b", DependsOn: []string{"all"}, Files: []string{"f01.txt"}},
	)
}

// passagePlan breaks a name that two files use, and mends these: the gate is red meanwhile. What is no part of that waits.
func passagePlan(s *run.Spec) {
	s.Roles["new"] = command("new", "for f in $DIVISI_FILES; do echo new > $f; done")
	s.Roles["mod"] = command("mod", "for f in $DIVISI_FILES; do echo $DIVISI_TASK >> $f; done")
	s.Project.Gates[0].Command = []string{
		"sh", "-c",
		"! grep -q new f00.txt || ! grep -Ln new f01.txt f02.txt | sed 's/$/:1: error: it has the old name/' | grep .",
	}
	s.Project.Gates[0].Format = "findings"
	gate := []string{s.Project.Gates[0].Name}
	s.Plan = planOf(
		spec.Task{ID: "before", Role: "mod", Brief: "b", Files: []string{"f03.txt"}},
		spec.Task{ID: "define", Role: "new", Brief: "b", Files: []string{"f00.txt"}, Through: gate, DependsOn: []string{"before"}},
		spec.Task{
			ID: "uses", Role: "new", Brief: "b", Mends: gate, DependsOn: []string{"define"},
			Shard: &spec.Shard{By: "file", Glob: "f0[12].txt"},
		},
		spec.Task{ID: "other", Role: "mod", Brief: "b", DependsOn: []string{"define"}, Files: []string{"f04.txt"}},
	)
}

// crashPlans are the plans of runs that are killed, with what lands.
var crashPlans = map[string]struct {
	plan func(*run.Spec)
	want []string
}{
	"all kinds": {crashPlan, []string{"all-001", "all-002", "left", "more", "prep", "right", "twice"}},
	"passage":   {passagePlan, []string{"before", "define", "other", "uses-001", "uses-002"}},
}

// crashed is what a run must come to, however often it was killed.
type crashed struct {
	tree string
	// tasks are what landed, sorted.
	tasks []string
}

// outcome reads from the mirror what was published: the final tree, and each task as often as it landed.
func (r *rig) outcome(head string) crashed {
	tree, err := r.mirror.Tree(r.t.Context(), head)
	require.NoError(r.t, err)
	log, err := r.mirror.Trailers(r.t.Context(), r.spec.Base, head)
	require.NoError(r.t, err)
	c := crashed{tree: tree}
	for _, l := range log {
		c.tasks = append(c.tasks, l.Trailers["Divisi-Task"]...)
	}
	slices.Sort(c.tasks)
	return c
}

// quietly is a configuration that leaves the user's repository alone.
func (r *rig) quietly() conductor.Config {
	cfg := r.config()
	cfg.Publish = func(context.Context, string, string, string) (string, error) {
		return run.IntegrationRef(r.spec.Run), nil
	}
	return cfg
}

// goOn resumes the run with a new worker and compares what it comes to. A delivery that the killed worker could not hand back
// comes again after a minute, so that several of them may pass.
func (r *rig) goOn(want crashed) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	defer r.worker(ctx)()
	st, err := r.conduct(ctx, r.quietly())
	require.NoError(r.t, err)
	require.Equal(r.t, run.Done, st.Status, st.Reason)
	require.Equal(r.t, want, r.outcome(st.Head))
}

// killed has the run go on from each message of its log that is behind the first ones, as if its conductor had been killed there.
// The pack of what a person handed in is there.
func (r *rig) killed(t *testing.T, first int, pack string, goOn func(t *testing.T, f *rig, st *run.State)) {
	t.Helper()
	messages := r.messages()
	for k := first; k < len(messages); k++ {
		if testing.Short() && k > first+1 {
			break
		}
		t.Run(fmt.Sprintf("%02d %s", k, messages[k-1].Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, messages[:k])
			data, err := r.bus.Get(t.Context(), pack)
			require.NoError(t, err)
			require.NoError(t, f.bus.Put(t.Context(), pack, data))
			st, err := f.fold(t.Context())
			require.NoError(t, err)
			goOn(t, f, st)
		})
	}
}

// fork is the same run on a bus of its own, whose log ends with the given messages, and whose queue and refs know nothing: as
// after a kill in the moment behind an append.
func (r *rig) fork(t *testing.T, log []bus.Message) *rig {
	f := &rig{t: t, dir: t.TempDir(), git: r.git, checkout: r.checkout, spec: r.spec, log: r.log}
	f.ids.Store(1_000_000)
	sh(t, f.dir, "cp -r "+r.mirror.Dir()+" repo.git && rm -rf repo.git/refs/heads/divisi repo.git/packed-refs")
	var err error
	f.mirror, err = r.git.OpenMirror(filepath.Join(f.dir, "repo.git"))
	require.NoError(t, err)
	no := false
	f.open(bus.Options{Dir: filepath.Join(f.dir, "bus"), Sync: &no})
	last := map[string]uint64{}
	for _, m := range log {
		pos, err := f.bus.Append(t.Context(), m.Subject, m.Data, last[m.Subject])
		require.NoError(t, err)
		require.Equal(t, m.Pos, pos)
		last[m.Subject] = pos
		for _, e := range wire.DecodeEvents(m) {
			f.keepPack(r, e)
			f.keepAssignment(r, e)
		}
		for _, name := range testLists.FindAllString(string(m.Data), -1) {
			data, err := r.bus.Get(t.Context(), name)
			require.NoError(t, err)
			require.NoError(t, f.bus.Put(t.Context(), name, data))
		}
	}
	return f
}

// testLists are the names of lists of tests, or of findings, in a message: they were stored before it.
var testLists = regexp.MustCompile(`(tests|findings)-[0-9a-f]{64}`)

func (r *rig) keepPack(from *rig, e contextscope.Event) {
	var result spec.Result
	if e.Kind != contextscope.KindResult || json.Unmarshal(e.Data, &result) != nil || result.Patch == nil {
		return
	}
	pack, err := from.bus.Get(r.t.Context(), result.Patch.Pack)
	require.NoError(r.t, err)
	require.NoError(r.t, r.bus.Put(r.t.Context(), result.Patch.Pack, pack))
}

// keepAssignment copies what an event has dispatched: it was stored before the event.
func (r *rig) keepAssignment(from *rig, e contextscope.Event) {
	var d struct {
		Dispatch *run.Dispatch `json:"dispatch"`
	}
	if e.Agent != "" || json.Unmarshal(e.Data, &d) != nil || d.Dispatch == nil || d.Dispatch.Assignment == "" {
		return
	}
	data, err := from.bus.Get(r.t.Context(), d.Dispatch.Assignment)
	require.NoError(r.t, err)
	require.NoError(r.t, r.bus.Put(r.t.Context(), d.Dispatch.Assignment, data))
	a, err := wire.Unseal(r.t.Context(), r.bus, d.Dispatch.Assignment)
	require.NoError(r.t, err)
	if a.Slice != "" {
		data, err = from.bus.Get(r.t.Context(), a.Slice)
		require.NoError(r.t, err)
		require.NoError(r.t, r.bus.Put(r.t.Context(), a.Slice, data))
	}
}

func TestSlowAKillBehindAnyAppendLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range crashPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killBehindAnyAppend(t, newRig(t, files(7), c.plan), c.want)
		})
	}
}

func TestSlowAKillInRoundsLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	want := []string{"fix-001", "fix-002", "fix-003", "fix-004", "fix-005", "last"}
	killBehindAnyAppend(t, newRig(t, findings(nil), roundsPlan), want)
}

func killBehindAnyAppend(t *testing.T, r *rig, expected []string) {
	t.Helper()
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	want := r.outcome(st.Head)
	require.Equal(t, expected, want.tasks)
	var log []bus.Message
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		log = append(log, m)
	}
	for k := 1; k < len(log); k++ {
		// What workers append between two of the conductor's appends changes little: a sample of it will do.
		if !strings.Contains(log[k-1].Subject, ".m.") && k%10 != 0 || testing.Short() && k%45 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%02d %s", k, log[k-1].Subject), func(t *testing.T) {
			t.Parallel()
			r.fork(t, log[:k]).goOn(want)
		})
	}
}

// errKill is what a conductor's id generator panics with: everything after it did not happen.
var errKill = errors.New("killed")

func TestSlowAKillBeforeAnyAppendLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range crashPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killBeforeAnyAppend(t, c.plan)
		})
	}
}

func killBeforeAnyAppend(t *testing.T, plan func(*run.Spec)) {
	t.Helper()
	r := newRig(t, files(7), plan)
	cfg, appends := r.quietly(), 0
	cfg.NewID = func() string { appends++; return r.newID() }
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), cfg)
	stop()
	require.NoError(t, err)
	want := r.outcome(st.Head)
	require.Greater(t, appends, 25)
	for k := 2; k <= appends; k++ {
		// The test above has every append as the last thing that happened; here its effects have happened too, and every second one
		// will do.
		if k%2 != 0 || testing.Short() && k%24 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%02d", k), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, files(7), plan)
			// How many batches there are is a matter of time: the last few appends are not always there to be missed.
			if r.kill(k) {
				r.goOn(want)
			} else {
				require.Greater(t, k, appends-8)
			}
		})
	}
}

// kill conducts until the k-th append, which it does not live to see; its worker dies with it. It reports whether there was one.
func (r *rig) kill(k int) (killed bool) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	cfg, n := r.quietly(), 0
	cfg.NewID = func() string {
		if n++; n == k {
			panic(errKill)
		}
		return r.newID()
	}
	stop := r.worker(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				require.Equal(r.t, errKill, p)
				killed = true
			}
		}()
		st, err := r.conduct(ctx, cfg)
		require.NoError(r.t, err)
		require.Equal(r.t, run.Done, st.Status, st.Reason)
	})
	wait.Wait()
	cancel()
	stop()
	return killed
}
