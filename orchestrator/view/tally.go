package view

import (
	"fmt"
	"slices"
	"strings"

	"divisi/orchestrator/run"
	"divisi/orchestrator/view/stats"
)

var tallied = []run.TaskState{
	run.TaskHeld, run.TaskRunning, run.TaskVerifying, run.TaskAccepted,
	run.TaskLanding, run.TaskPending, run.TaskLanded, run.TaskDone,
	run.TaskParked, run.TaskCancelled, run.TaskSkipped, run.TaskDropped,
}

// Tally words how many tasks are in each state.
func Tally(tasks []Task) string { return TallyOf(count(tasks)) }

// TallyOf words numbers of tasks by state; so many of the landed ones are unverified.
func TallyOf(n stats.Counts, unverified int) string {
	var say []string
	for _, s := range tallied {
		count := n[s]
		if s == run.TaskLanded {
			count -= unverified
		}
		if count > 0 {
			say = append(say, fmt.Sprintf("%d %s", count, s))
		}
		if s == run.TaskLanded && unverified > 0 {
			task := Task{State: s, Unverified: true}
			say = append(say, fmt.Sprintf("%d %s", unverified, task.Status()))
		}
	}
	return strings.Join(say, ", ")
}

// count counts tasks by their state, and those that landed unverified.
func count(tasks []Task) (n stats.Counts, unverified int) {
	n = stats.Counts{}
	for i := range tasks {
		n[tasks[i].State]++
		if tasks[i].Unverified {
			unverified++
		}
	}
	return n, unverified
}

// Progress counts the landed and unchanged tasks of a run, and names its wait.
func (r *Report) Progress() string {
	tasks := slices.DeleteFunc(r.Tasks, func(t Task) bool { return t.ID == run.MasterTask })
	n, unverified := count(tasks)
	landed := Task{State: run.TaskLanded, Unverified: unverified > 0 && unverified == n[run.TaskLanded]}
	text := fmt.Sprintf("%d of %d %s", n[run.TaskLanded], len(tasks), landed.Status())
	if unverified > 0 && !landed.Unverified {
		text += fmt.Sprintf(", %d of them unverified", unverified)
	}
	better := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return !t.Better })
	if len(better) > 0 {
		text += fmt.Sprintf(", %d of them as better", len(better))
	}
	if done := n[run.TaskDone]; done > 0 {
		text += fmt.Sprintf(", %d without a change", done)
	}
	if r.Wait != "" {
		text += "; waits for " + r.Wait
	} else if why, _, _ := strings.Cut(r.Reason, " ("); r.State == run.Stopped && strings.HasPrefix(why, run.ReasonWaits) {
		text += "; " + why
	}
	for _, q := range r.Quotas {
		text += "; " + q.String()
	}
	return text
}

// Ranked orders tasks for a table: those that need attention first, well-ended ones last.
func Ranked(tasks []Task) []Task {
	rank := stats.Counts{
		run.TaskParked: -2, run.TaskCancelled: -1, run.TaskLanded: 1, run.TaskDone: 2, run.TaskSkipped: 2, run.TaskDropped: 2,
	}
	of := func(t Task) int {
		if t.State == run.TaskDone && t.Said != "" {
			return 0 // its agent may say that it could not do it
		}
		return rank[t.State]
	}
	slices.SortStableFunc(tasks, func(a, b Task) int { return of(a) - of(b) })
	return tasks
}
