package plan

import (
	"cmp"
	"maps"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// What is assumed of an attempt whose role was never measured. Every turn sends again what the turns before it brought.
const (
	fewTurns, manyTurns = 4, 16
	// fixedTokens are about what instruction and declarations of tools take in each request, turnTokens what a turn adds.
	fixedTokens, turnTokens = 3000, 800
)

// Estimate returns what one attempt of each task, and of its judge, is likely to use; nil where no model takes part. The low end
// is what an attempt of the role used on average in this run, or in earlier runs of the repository, the high end twice that. A
// role that was never measured is assumed to read the task's files and to take few turns, or many. The low end of a chain of
// executors is that the command does it.
func Estimate(record string, tasks []spec.Task, sizes map[string]int64, ordered *run.Spec, works run.Works) *run.Estimate {
	e := &estimate{order: ordered, usual: usual(ordered, works), sizes: sizes}
	for i := range tasks {
		t := &tasks[i]
		start := len(record) + len(t.Brief)
		for _, c := range t.Constraints {
			start += len(c)
		}
		files := e.files(t.Files)
		e.add(t.Role, t.Limits, start/bytesPerToken, files)
		e.add(t.Judge(ordered.Roles[t.Role], ordered.Roles, len(t.Constraints) > 0), spec.Limits{}, start/bytesPerToken, files)
	}
	if e.out.High == 0 {
		return nil
	}
	return &e.out
}

type estimate struct {
	order *run.Spec
	usual map[string]spec.Usage
	sizes map[string]int64
	out   run.Estimate
}

// files returns the tokens of the files that a write set names. Those of globs are not counted: an agent reads few of them.
func (e *estimate) files(set []string) int {
	var sum int64
	for _, f := range set {
		sum += e.sizes[f]
	}
	return int(sum / bytesPerToken)
}

// add adds one attempt of a role with a model.
func (e *estimate) add(name string, limits spec.Limits, start, files int) {
	role := e.order.Roles[name]
	if !role.Runs(spec.ExecutorModel) {
		return
	}
	limits = limits.Or(role.Limits).Or(e.order.Project.Limits)
	start += len(role.Instruction)/bytesPerToken + fixedTokens
	low, high := attempt(fewTurns, start, files), attempt(min(manyTurns, cmp.Or(limits.Turns, manyTurns)), start, files)
	if u, measured := e.usual[name]; measured {
		low, high = u, u.Add(u)
	}
	if role.Executor != spec.ExecutorModel {
		low = spec.Usage{}
	}
	low, high = within(low, limits.Tokens), within(high, limits.Tokens)
	p := &e.order.Project
	price, known := model.PriceOf(p, model.RowOf(p, e.order.Created, role.Model))
	e.out.Low, e.out.High = e.out.Low+low.Total(), e.out.High+high.Total()
	if !known {
		e.out.Unpriced += high.Total()
		return
	}
	e.out.LowCost, e.out.HighCost = e.out.LowCost+price.Cost(low, ""), e.out.HighCost+price.Cost(high, "")
}

// attempt estimates the use of so many turns that begin with start tokens and read the files in the first of them. Half of what a
// turn adds is the model's own words, and so are the files that it writes again.
func attempt(turns, start, files int) spec.Usage {
	return spec.Usage{
		Calls:  turns,
		Prompt: turns*start + (turns-1)*files + turnTokens*turns*(turns-1)/2,
		Output: turns*turnTokens/2 + files,
	}
}

// within cuts a usage down to a limit in tokens; 0 is none.
func within(u spec.Usage, limit int) spec.Usage {
	if over := u.Total() - limit; limit > 0 && over > 0 {
		u.Prompt = max(0, u.Prompt-over)
		u.Cached = min(u.Cached, u.Prompt)
		u.Output, u.Thoughts = min(u.Output, limit), 0
	}
	return u
}

// usual is the average use of an attempt of each role that submitted its result: in this run, else in earlier ones.
func usual(order *run.Spec, works run.Works) map[string]spec.Usage {
	sum, count, out := map[string]spec.Usage{}, map[string]int{}, map[string]spec.Usage{}
	for _, w := range works {
		for _, a := range w.Attempts {
			if a.Result != nil && a.Result.Status == spec.StatusDone && a.Usage.Total() > 0 {
				sum[a.Role], count[a.Role] = sum[a.Role].Add(a.Usage), count[a.Role]+1
			}
		}
	}
	maps.Copy(out, order.Usual)
	for role, u := range sum {
		out[role] = u.Mean(count[role])
	}
	return out
}
