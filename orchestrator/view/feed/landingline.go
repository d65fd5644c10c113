package feed

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

func landingLine(d run.LandingData) Line {
	var names []string
	unverified := d.Unverified != ""
	for _, t := range d.Tasks {
		name := t.Task
		if t.Unverified != "" && d.Unverified == "" {
			name, unverified = name+" (unverified)", true
		}
		names = append(names, name)
	}
	batch := fmt.Sprintf("batch %d", d.Batch)
	if d.Set != "" {
		batch += ", change set " + d.Set + ","
	}
	l := sentence(Plain, "%s %s: %s", batch, landingWords(d), strings.Join(text.Few(names, 6), ", "))
	switch d.State {
	case run.LandingLanded, run.LandingLed:
		if l.Tone = Good; unverified || d.Better != "" {
			l.Tone = Warn
		}
	case run.LandingSealed:
		l.Tone = Good
	case run.LandingRed:
		l.Tone = Bad
	case run.LandingSplit:
		l.Tone = Warn
	}
	return l
}

// landingWords word the outcome of a batch.
func landingWords(d run.LandingData) string {
	changes := text.Count(len(d.Tasks), "change")
	switch d.State {
	case run.LandingRed:
		return "did not pass its gates, which run once more"
	case run.LandingSplit:
		return "did not pass its gates" + retested(d)
	case run.LandingDropped:
		if len(d.Through) > 0 && d.Better != "" {
			return "may land in its passage, and the commits of its " + changes + " are to say so"
		}
		if d.Better != "" {
			return "is better, and the commits of its " + changes + " are to say so"
		}
		if d.Unverified != "" {
			return "is red as it is without its " + changes + ", whose commits are to say so"
		}
		return "is dropped: its " + changes + " will be tested again"
	}
	switch {
	case d.Unverified != "":
		return d.State + " unverified"
	case d.State == run.LandingSealed:
		return "ends the passage through " + strings.Join(d.Through, ", ") + " as one merge commit"
	case d.State == run.LandingLed && d.Better == "":
		return "is the newest of the passage"
	case d.State == run.LandingLed:
		return "is in the passage (" + d.Better + ")"
	case d.Better != "":
		return d.State + " as better (" + d.Better + ")"
	}
	return d.State
}

// retested words the parts of a failed batch that are tested next.
func retested(d run.LandingData) string {
	n := len(slices.Concat(d.Parts...))
	if n == 0 {
		return ""
	}
	which := "its " + text.Count(n, "change")
	if n < len(d.Tasks) {
		which = fmt.Sprintf("%d of its %s", n, text.Count(len(d.Tasks), "change"))
	}
	if len(d.Parts) == 1 {
		return "; testing " + which + " again"
	}
	return fmt.Sprintf("; testing %s in %d parts", which, len(d.Parts))
}
