package main

import (
	"fmt"
	"io"

	"divisi/internal/text"
	"divisi/orchestrator/console"
	"divisi/orchestrator/report"
)

// The bounds of the handoffs in a run's report; a task's own report has all of them.
const (
	maxHandoffLines = 40
	maxHandoffLine  = 240
)

// handoffLines are the findings, deviations and broken constraints of a task, each with its word.
func handoffLines(t report.Task) [][2]string {
	var out [][2]string
	add := func(word, text string) { out = append(out, [2]string{word, console.Sanitize(oneLine(text))}) }
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
func writeHandoffs(w io.Writer, r report.Report) {
	left, more := maxHandoffLines, 0
	for _, t := range r.Tasks {
		for _, l := range handoffLines(t) {
			if left--; left < 0 {
				more++
				continue
			}
			if left == maxHandoffLines-1 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s of %s: %s\n", l[0], t.ID, text.Clip(l[1], maxHandoffLine))
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "and %d more: divisi show %s/TASK\n", more, r.Run)
	}
}

// unverifiedNote marks a branch on which nothing is proven.
func unverifiedNote(why string) string {
	if why == "" {
		return ""
	}
	return " (unverified: " + console.Sanitize(why) + ")"
}

func unverifiedWord(yes bool) string {
	if yes {
		return " unverified"
	}
	return ""
}
