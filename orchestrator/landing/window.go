package landing

import (
	"cmp"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// A batch waits this share of what its gates took on the base commit, and at least leastWindow. Where commands end evenly, it may
// wait patience times as long as they have taken so far: their batches grow, and what fails is still known early.
const (
	windowShare = 20
	leastWindow = 200 * time.Millisecond
	patience    = 2
)

// window returns how long a batch waits for tasks that are under way, from when the first of its patches was there: a batch
// more costs its gates. One that is full, or a part of one that failed, does not wait.
func window(in facts, waiting []*run.Task, ready []string) (until time.Time, most time.Duration) {
	if waiting[0].Part != 0 || len(waiting) >= limit(in) {
		return until, 0
	}
	under := underWay(in, ready)
	if len(under) == 0 {
		return until, 0
	}
	var gates time.Duration
	for _, g := range gatesOf(in, waiting, nil) {
		gates += in.proofs.Baseline[g].Duration
	}
	first, _ := came(waiting)
	all := evenly(in, waiting, under)
	if all >= 2*gates { // what fails in the first of two batches would be known sooner
		all = min(all, patience*sinceBegun(in, under[0], first))
	}
	most = max(leastWindow, gates/windowShare, all)
	return first.Add(most), most
}

// evenly returns when all shards of a template are expected to be there, from when the first patch of the batch was; 0 where
// that is not known. Commands of one template end at an even pace, which those that are there tell; models do not.
func evenly(in facts, waiting, under []*run.Task) time.Duration {
	name := under[0].Task.ShardOf
	other := func(t *run.Task) bool { return t.Task.ShardOf != name }
	if name == "" || slices.ContainsFunc(under, func(t *run.Task) bool {
		return other(t) || in.spec.Made(t, in.works).Executor != spec.ExecutorCommand || in.agenda.Judge(t) != ""
	}) {
		return 0
	}
	there := slices.DeleteFunc(slices.Clone(waiting), other)
	if len(there) == 0 || len(there) == 1 && begun(in, there[0]).IsZero() {
		return 0
	}
	rest := -len(there)
	for _, id := range in.tasks.Shards[name] {
		if t := in.tasks.ByID[id]; !t.Ended() && t.State != run.TaskLanding {
			rest++
		}
	}
	begin, _ := came(waiting)
	first, last := came(there)
	pace := last.Sub(first) / time.Duration(max(1, len(there)-1))
	if len(there) == 1 { // as if one began when the one before ended
		pace = last.Sub(begun(in, there[0]))
	}
	return last.Sub(begin) + pace*time.Duration(min(rest, limit(in)-len(waiting))) + leastWindow
}

// sinceBegun returns how long the shards of a task's template had been at work at a time.
func sinceBegun(in facts, t *run.Task, at time.Time) (most time.Duration) {
	for _, id := range in.tasks.Shards[t.Task.ShardOf] {
		if a := in.works[id].At(1); a != nil && a.Began > 0 {
			most = max(most, at.Sub(time.UnixMilli(a.Began)))
		}
	}
	return most
}

// begun returns when the newest attempt of a task began; zero where no worker has made its patch.
func begun(in facts, t *run.Task) (at time.Time) {
	if a := in.works.Attempt(t.Task.ID, t.Attempt); a != nil && a.Began > 0 {
		at = time.UnixMilli(a.Began)
	}
	return at
}

// came returns when the first and the last of some patches came into the queue.
func came(waiting []*run.Task) (first, last time.Time) {
	byTime := func(a, b *run.Task) int { return a.Queued.Compare(b.Queued) }
	return slices.MinFunc(waiting, byTime).Queued, slices.MaxFunc(waiting, byTime).Queued
}

// underWay lists the tasks that can join a batch and are at work, with their judge, or about to start.
func underWay(in facts, ready []string) (list []*run.Task) {
	add := func(t *run.Task) {
		if t.Task.ChangeSet == "" && !in.works[t.Task.ID].Waits() {
			list = append(list, t)
		}
	}
	for _, state := range []run.TaskState{run.TaskRunning, run.TaskVerifying} {
		for t := range in.tasks.In(state) {
			if t.Trial == nil || t.Trial.Run > 0 { // what waits for room for an experiment waits for the gates of a batch
				add(t)
			}
		}
	}
	for _, id := range ready {
		add(in.tasks.ByID[id])
	}
	return list
}

// The bounds of a batch. At one bad change in a hundred, batches of about leastLimit cost least to bisect.
const (
	leastLimit = 64
	mostTasks  = 512
)

// mergeTime is about what a patch costs before the gates of its batch run: a merge and a commit.
const mergeTime = 20 * time.Millisecond

// limit is how many tasks the next batch may hold.
func limit(in facts) int {
	if in.spec.Project.Prove == spec.ProveEach {
		return 1
	}
	return batchLimit(in)
}

// batchLimit bounds the first batches by what the gates took on the base commit: patches whose merges take as long together as
// the gates at most double what a batch costs, and slow gates run less often.
func batchLimit(in facts) int {
	var gates time.Duration
	for _, r := range in.proofs.Baseline {
		gates += r.Duration
	}
	return cmp.Or(in.batches.Limit, int(min(max(leastLimit, gates/mergeTime), mostTasks)))
}
