package console

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// The bounds of the handoffs in a run's report; a task's own report has all of them.
const (
	maxHandoffLines = 40
	maxHandoffLine  = 240
)

// writeHandoffs prints the handoffs of all tasks, at most maxHandoffLines lines.
func writeHandoffs(w *strings.Builder, r *view.Report) {
	left, more := maxHandoffLines, 0
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, l := range t.Handoff() {
			if left--; left < 0 {
				more++
				continue
			}
			if left == maxHandoffLines-1 {
				w.WriteByte('\n')
			}
			fmt.Fprintf(w, "%s of %s: %s\n", l[0], t.ID, text.Clip(Sanitize(l[1]), maxHandoffLine))
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "and %d more: see the reports of the tasks\n", more)
	}
}

// UnverifiedNote marks a branch on which nothing is proven.
func UnverifiedNote(why string) string {
	if why == "" {
		return ""
	}
	return " (unverified: " + Sanitize(why) + ")"
}

// count counts tasks by their state, and those that landed unverified.
func count(tasks []view.Task) (n map[run.TaskState]int, unverified int) {
	n = map[run.TaskState]int{}
	for i := range tasks {
		n[tasks[i].State]++
		if tasks[i].Unverified {
			unverified++
		}
	}
	return n, unverified
}

// progress counts the landed and unchanged tasks of a run, and names what it waits for.
func progress(r *view.Report) string {
	tasks := slices.DeleteFunc(r.Tasks, func(t view.Task) bool { return t.ID == run.MasterTask })
	n, unverified := count(tasks)
	landed := view.Task{State: run.TaskLanded, Unverified: unverified > 0 && unverified == n[run.TaskLanded]}
	text := fmt.Sprintf("%d of %d %s", n[run.TaskLanded], len(tasks), landed.Status())
	if unverified > 0 && !landed.Unverified {
		text += fmt.Sprintf(", %d of them unverified", unverified)
	}
	better := slices.DeleteFunc(slices.Clone(tasks), func(t view.Task) bool { return !t.Better })
	if len(better) > 0 {
		text += fmt.Sprintf(", %d of them as better", len(better))
	}
	if done := n[run.TaskDone]; done > 0 {
		text += fmt.Sprintf(", %d without a change", done)
	}
	if r.Wait != "" {
		text += "; waits for " + Sanitize(r.Wait)
	} else if why, _, _ := strings.Cut(r.Reason, " ("); r.State == run.Stopped && strings.HasPrefix(why, run.ReasonWaits) {
		text += "; " + Sanitize(why)
	}
	for _, q := range r.Quotas {
		text += "; " + Sanitize(q.String())
	}
	return text
}
