package landing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// shardTime is when a shard begins and when its patch is there, from the beginning of the run.
type shardTime struct{ begin, end time.Duration }

// evenShards are n shards, some at a time. All take the same time.
func evenShards(n, parallel int, each time.Duration) []shardTime {
	var all []shardTime
	for i := range n {
		begin := time.Duration(i/parallel)*each + time.Duration(i%parallel)*each/time.Duration(parallel)
		all = append(all, shardTime{begin, begin + each})
	}
	return all
}

// Batches are few where shards of a template end evenly, whatever the gates take, and all of them are proven soon.
func TestShardsOfATemplateMakeFewBatches(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	together := func(n int, first, others time.Duration) []shardTime {
		return append([]shardTime{{0, first}}, slices.Repeat([]shardTime{{0, others}}, n-1)...)
	}
	for name, c := range map[string]struct {
		shards []shardTime
		gate   time.Duration
		role   spec.Role
		most   int
		// over is by when the last batch has landed.
		over time.Duration
	}{
		"sed, slow places":               {evenShards(200, 2, 140*ms), 0, spec.Role{Executor: spec.ExecutorCommand}, 5, 15 * s},
		"sed":                            {evenShards(200, 2, 40*ms), 0, spec.Role{Executor: spec.ExecutorCommand}, 5, 5 * s},
		"sed on many cores":              {evenShards(200, 16, 200*ms), 0, spec.Role{Executor: spec.ExecutorCommand}, 5, 4 * s},
		"groups":                         {slices.Repeat([]shardTime{{0, 2 * s}, {0, 2100 * ms}}, 100), 0, spec.Role{Executor: spec.ExecutorCommand}, 4, 4 * s},
		"tests of 3 s":                   {evenShards(18, 2, 300*ms), 3 * s, spec.Role{Executor: spec.ExecutorCommand}, 1, 6500 * ms},
		"tests of 3 s, the first slow":   {together(18, 500*ms, 1400*ms), 3 * s, spec.Role{Executor: spec.ExecutorCommand}, 1, 5 * s},
		"tests of 40 s":                  {together(34, 2*s, 3*s), 40 * s, spec.Role{Executor: spec.ExecutorCommand}, 1, 44 * s},
		"tests of 40 s, models":          {together(34, 2*s, 3*s), 40 * s, spec.Role{Executor: spec.ExecutorModel}, 1, 44 * s},
		"an hour of commands is no wait": {evenShards(120, 2, 60*s), 1 * s, spec.Role{Executor: spec.ExecutorCommand}, 6, 3700 * s},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sizes, over := simulateBatches(t, c.role, c.shards, c.gate)
			require.LessOrEqual(t, len(sizes), c.most, "%v", sizes)
			require.LessOrEqual(t, over, c.over, "%v", sizes)
		})
	}
}

// ownTime is what a batch takes beside its gates.
const ownTime = 200 * time.Millisecond

// simulateBatches lands shards that end at their times, with one gate permit. It returns the sizes of the batches, and when the
// last one has landed.
func simulateBatches(t *testing.T, role spec.Role, shards []shardTime, gate time.Duration) (sizes []int, over time.Duration) {
	t.Helper()
	created := time.Unix(1_000_000, 0)
	l := newLog(t)
	l.At(created)
	role.Name = "mod"
	l.Spec.Roles["mod"], l.Spec.Parallel = role, len(shards)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: gate}}})
	plan := make([]spec.Task, len(shards))
	for i := range shards {
		plan[i] = spec.Task{ID: fmt.Sprintf("s-%03d", i), ShardOf: "s", Role: "mod", Canary: 1000}
	}
	l.Plan(plan...)
	var moments []func()
	var times []time.Duration
	at := func(when time.Duration, do func()) {
		i := slices.IndexFunc(times, func(d time.Duration) bool { return d > when })
		if i < 0 {
			i = len(times)
		}
		times, moments = slices.Insert(times, i, when), slices.Insert(moments, i, do)
	}
	for i, s := range shards {
		id := plan[i].ID
		at(s.begin, func() {
			l.Dispatched(id, "mod", 1, l.Head)
			l.Agent(id, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
		})
		at(s.end, func() {
			l.Ended(id, 1, runtest.Patched("c-"+id, "tree-"+id, l.Works[id].Attempts[1].Head))
			l.Append(id, run.TaskData{State: run.TaskAccepted})
		})
	}
	for len(times) > 0 {
		now, do := times[0], moments[0]
		times, moments = times[1:], moments[1:]
		l.At(created.Add(now))
		if do(); len(times) > 0 && times[0] == now {
			continue
		}
		actions := landing.Land(l.State)
		if len(actions) == 0 {
			continue
		}
		m, ok := actions[0].(landing.Merge)
		require.True(t, ok)
		ready, _ := schedule.Ready(l.State)
		if until, _ := m.Window(ready); until.After(created.Add(now)) {
			at(until.Sub(created), func() {})
			continue
		}
		var ids []string
		for _, c := range m.Candidates {
			ids = append(ids, c.Task)
		}
		sizes = append(sizes, len(ids))
		number, head := len(sizes), fmt.Sprintf("h-%d", len(sizes))
		batch(l, number, 1, l.Head, head, ids...)
		at(now+gate+ownTime, func() {
			over = now + gate + ownTime
			l.Ended(fmt.Sprintf("--batch-%d", number), 1, green("tree-"+head))
			l.Do(landing.Settle(l.State)[:1])
		})
	}
	require.Empty(t, slices.Collect(l.Tasks.Open()))
	return sizes, over
}
