package plan

import (
	"divisi/internal/spec"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/stats"
)

// What is assumed of an attempt. Every turn sends again what the turns before it brought.
const (
	usualTurns = 8
	// fixedTokens are about what instruction and declarations of tools take in each request, turnTokens what a turn adds.
	fixedTokens, turnTokens = 3000, 800
)

// Estimate returns what tasks are likely to use, by what such tasks used in this run and in earlier ones, else by their sizes;
// nil where nothing is known. The base of a task is one attempt of usual length, and of its judge.
func Estimate(record string, tasks []spec.Task, sizes map[string]int64, a *run.Agenda, works run.Works) *forecast.Estimate {
	bases, list, roles := stats.Bases{}, make([]int, len(tasks)), a.Spec.Roles
	some := false
	for i := range tasks {
		t := &tasks[i]
		start := len(record) + len(t.Brief)
		for _, c := range t.Constraints {
			start += len(c)
		}
		for _, name := range []string{t.Role, t.Judge(roles[t.Role], roles, len(t.Constraints) > 0)} {
			if role := roles[name]; role.Runs(spec.ExecutorModel) || role.Usage != "" {
				list[i] += attempt((start+len(role.Instruction))/bytesPerToken+fixedTokens, files(t.Files, sizes))
			}
		}
		bases[t.ID], some = list[i], some || list[i] > 0
	}
	e := stats.Forecast(a, works, tasks, bases)
	if e.Bases = list; !some && e.Range() == "" {
		return nil
	}
	return &e
}

// files returns the tokens of the files that a write set names. Those of globs are not counted: an agent reads few of them.
func files(set []string, sizes map[string]int64) int {
	var sum int64
	for _, f := range set {
		sum += sizes[f]
	}
	return int(sum / bytesPerToken)
}

// attempt estimates the tokens of turns that begin with start tokens and read the files in the first of them. Half of what a turn
// adds is the model's own words, and so are the files that it writes again.
func attempt(start, files int) int {
	const turns = usualTurns
	return turns*start + (turns-1)*files + turnTokens*turns*(turns-1)/2 + turns*turnTokens/2 + files
}
