package main

import (
	"fmt"
	"io"
	"strings"

	"divisi/orchestrator/console"
	"divisi/orchestrator/report"
)

// The bounds of what a report of a whole run tells of handoffs; a task's own report tells all of it.
const (
	maxHandoffLines = 40
	maxHandoffLine  = 240
)

// handoffLines are what a task's agents reported beside its result: a word for what it is, and the text.
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

// writeHandoffs prints the handoffs of all tasks, as far as there is room.
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
			text := l[1]
			if len(text) > maxHandoffLine {
				text = strings.ToValidUTF8(text[:maxHandoffLine], "") + "…"
			}
			fmt.Fprintf(w, "%s of %s: %s\n", l[0], t.ID, text)
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
