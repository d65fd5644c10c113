package console

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// The bounds of the handoffs in a run's report; a task's own report has all of them.
const (
	maxHandoffLines = 40
	maxHandoffLine  = 240
)

// handoffLines are the findings, deviations and broken constraints of a task, each with its word.
func handoffLines(t *report.Task) [][2]string {
	var out [][2]string
	add := func(word, text string) { out = append(out, [2]string{word, Sanitize(oneLine(text))}) }
	for _, c := range t.Broken {
		add("broken", "constraint "+c.Text+": "+c.Note)
	}
	for _, d := range t.Deviations {
		add("deviation", d)
	}
	for _, f := range t.Findings {
		add("finding", f)
	}
	return out
}

// writeHandoffs prints the handoffs of all tasks, at most maxHandoffLines lines.
func writeHandoffs(w *strings.Builder, r *report.Report) {
	left, more := maxHandoffLines, 0
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, l := range handoffLines(t) {
			if left--; left < 0 {
				more++
				continue
			}
			if left == maxHandoffLines-1 {
				w.WriteByte('\n')
			}
			fmt.Fprintf(w, "%s of %s: %s\n", l[0], t.ID, text.Clip(l[1], maxHandoffLine))
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

func unverifiedWord(yes bool) string {
	if yes {
		return " unverified"
	}
	return ""
}

// progress counts the landed and unchanged tasks of a run, and names what it waits for.
func progress(r *report.Report) string {
	n, all, unverified := map[run.TaskState]int{}, 0, 0
	for _, t := range r.Tasks {
		if t.Unverified {
			unverified++
		}
		if t.ID != run.MasterTask {
			n[t.State]++
			all++
		}
	}
	landed := n[run.TaskLanded]
	text := fmt.Sprintf("%d of %d landed%s", landed, all, unverifiedWord(landed > 0 && unverified == landed))
	if unverified > 0 && unverified < landed {
		text += fmt.Sprintf(", %d of them unverified", unverified)
	}
	if done := n[run.TaskDone]; done > 0 {
		text += fmt.Sprintf(", %d without a change", done)
	}
	if r.Wait != "" {
		text += "; waits for " + Sanitize(r.Wait)
	} else if why, _, _ := strings.Cut(r.Reason, " ("); r.State == run.Stopped && strings.HasPrefix(why, phase.WaitsFor) {
		text += "; " + Sanitize(why)
	}
	for _, q := range r.Quotas {
		text += "; " + Sanitize(q.String())
	}
	return text
}
