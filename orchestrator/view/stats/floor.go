package stats

import (
	"cmp"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// floor is the least duration of a run's plan, by its agents' and gates' times.
type floor struct {
	s *run.State
	// gates is the time of the gates that let a task land; least is the shortest run of each gate, for tasks that none ran for.
	gates, least map[string]time.Duration
	// until is when each step is over at the earliest.
	until map[string]time.Duration
}

// floorOf walks the longest chain of dependent steps. A step, which is a task or a template, takes what its longest attempt took
// that handed in, or the share of all of them on the agents that it may have, and one run of the gates. Shards of models behind
// the canaries also wait for one canary and its gates. Failed attempts and waits are not in it.
func floorOf(s *run.State) (least time.Duration) {
	f := floor{s: s, gates: map[string]time.Duration{}, least: map[string]time.Duration{}, until: map[string]time.Duration{}}
	f.took()
	for t := range s.Tasks.All() {
		least = max(least, f.over(stepOf(t)))
	}
	return least
}

// took reads the durations of gates.
func (f *floor) took() {
	for _, r := range f.s.Proofs.Baseline {
		f.least[r.Gate] = r.Duration
	}
	for _, w := range f.s.Works {
		for _, a := range w.Attempts {
			if w.Batch == nil || a.Result == nil {
				continue
			}
			var sum time.Duration
			for _, r := range a.Result.Receipts {
				sum += r.Duration
				if had, ran := f.least[r.Gate]; !ran || r.Duration < had {
					f.least[r.Gate] = r.Duration
				}
			}
			for _, l := range w.Batch.Tasks {
				if had, ran := f.gates[l.Task]; a.Result.Status == spec.StatusDone && (!ran || sum < had) {
					f.gates[l.Task] = sum
				}
			}
		}
	}
}

func stepOf(t *run.Task) string {
	if t.Task.ShardOf != "" {
		return t.Task.ShardOf
	}
	return t.Task.ID
}

// over is when a step is over.
func (f *floor) over(step string) time.Duration {
	if at, known := f.until[step]; known {
		return at
	}
	f.until[step] = 0 // a plan has no circles
	members := f.s.Tasks.Shards[step]
	if len(members) == 0 {
		members = []string{step}
	}
	var begin time.Duration
	for _, id := range members {
		if t := f.s.Tasks.ByID[id]; t != nil {
			for _, before := range t.After {
				begin = max(begin, f.over(before))
			}
		}
	}
	f.until[step] = begin + f.step(members)
	return f.until[step]
}

// step is the duration of a task, or of the shards of a template, that submitted results.
func (f *floor) step(members []string) time.Duration {
	var longest, all, gates time.Duration
	agents, canaries, handed := max(1, f.s.Spec.Parallel), len(members), []*run.Task{}
	for _, id := range members {
		t := f.s.Tasks.ByID[id]
		if t == nil || t.Result == nil {
			continue
		}
		role, took := f.s.Spec.Made(t, f.s.Works), worked(f.s.Works[id], t)
		handed, longest, all = append(handed, t), max(longest, took), all+took
		gates = max(gates, f.gatesOf(t))
		if role.Concurrency > 0 {
			agents = min(agents, role.Concurrency)
		}
		if role.Thinks() && role.ChangesFiles() && t.Task.ShardOf != "" && t.Task.ChangeSet == "" {
			canaries = cmp.Or(t.Task.Canary, spec.DefaultCanary)
		}
	}
	took := max(longest, all/time.Duration(agents)) + gates
	if len(handed) <= canaries {
		return took
	}
	shortest := func(of func(*run.Task) time.Duration) time.Duration {
		return of(slices.MinFunc(handed, func(x, y *run.Task) int { return cmp.Compare(of(x), of(y)) }))
	}
	one := shortest(func(t *run.Task) time.Duration { return worked(f.s.Works[t.Task.ID], t) })
	return max(took, one+shortest(f.gatesOf)+one+gates) // those behind the canaries wait for one of them
}

// gatesOf returns the time of the gates that a task needs to land; nothing for one that changes no file.
func (f *floor) gatesOf(t *run.Task) (sum time.Duration) {
	if role := f.s.Spec.Made(t, f.s.Works); !role.ChangesFiles() {
		return 0
	}
	if took, ran := f.gates[t.Task.ID]; ran {
		return took
	}
	for _, name := range f.s.Spec.GatesOf(t.Task) {
		sum += f.least[name]
	}
	return sum
}

// worked is how long models and commands were at work in the newest attempt of a task that handed in; its share, where they
// worked for several.
func worked(w *run.Work, t *run.Task) (took time.Duration) {
	if w == nil || t.Result == nil {
		return 0
	}
	a := w.Attempts[t.Result.Attempt]
	if a == nil {
		return 0
	}
	end := time.Duration(0) // spans may overlap
	for _, s := range slices.SortedFunc(slices.Values(a.Spans), func(x, y run.Span) int { return cmp.Compare(x.From, y.From) }) {
		if s.What == run.Models || s.What == run.Tools {
			took += max(0, s.To-max(end, s.From))
			end = max(end, s.To)
		}
	}
	if shared := t.Result.Shared; shared != nil && shared.Tasks > 1 {
		took /= time.Duration(shared.Tasks)
	}
	return took
}
