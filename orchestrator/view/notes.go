package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// The bounds of the proposed notes.
const (
	maxTasks      = 3  // notes about tasks that failed before they landed
	maxSignatures = 20 // known failures of one gate
	maxConflicts  = 10 // conflicts in one note
	maxSaid       = 5  // findings and deviations of one task
	maxText       = 3500
)

// Notes returns what later runs can use: failures of the base commit, failures of tasks that landed later, tasks whose patches
// conflicted, and the decisions that landed. It is computed from the log, without a model, and can be empty. The same run always
// gives the same notes, and two runs with the same facts give the same text.
func Notes(s *run.State) []memory.Note {
	var notes []memory.Note
	for _, n := range []memory.Note{baselineNote(s), decisionsNote(s), conflictsNote(s)} {
		if n.Text != "" {
			notes = append(notes, n)
		}
	}
	notes = append(notes, failureNotes(s)...)
	for i := range notes {
		notes[i].Text = text.Clip(notes[i].Text, maxText)
		notes[i].Source = strings.TrimSuffix(s.Spec.Run+"/"+notes[i].Source, "/")
		notes[i].Created = s.Spec.Created
	}
	return notes
}

// baselineNote names the failures of the base commit.
func baselineNote(s *run.State) memory.Note {
	var b strings.Builder
	tags := []string{"gates", "baseline"}
	for _, g := range s.Spec.Project.Gates {
		r, ok := s.Proofs.Baseline[g.Name]
		if !ok || r.Verdict == spec.VerdictPass {
			continue
		}
		tags = append(tags, g.Name)
		fmt.Fprintf(&b, "\nGate `%s` (`%s`), exit code %d:\n\n", g.Name, text.Line(strings.Join(g.Command, " ")), r.ExitCode)
		for _, sig := range r.Signatures[:min(len(r.Signatures), maxSignatures)] {
			fmt.Fprintf(&b, "- %s\n", text.Line(sig))
		}
		switch more := len(r.Signatures) - maxSignatures; {
		case more > 0:
			fmt.Fprintf(&b, "- and %d more\n", more)
		case len(r.Signatures) == 0:
			b.WriteString("- its output names no failure\n")
		}
	}
	if b.Len() == 0 {
		return memory.Note{}
	}
	return memory.Note{
		Title: "Gates that are red before any change", Tags: tags,
		Text: "These failures are on the base already. A change that leaves them is not to blame for them.\n" + b.String(),
	}
}

// decisionsNote keeps the decision records of plans from which something landed.
func decisionsNote(s *run.State) memory.Note {
	used := map[int]bool{}
	for _, t := range s.Tasks.ByID {
		if t.State == run.TaskLanded {
			used[t.Plan] = true
		}
	}
	var records []string
	for i, p := range s.Plans.All {
		record := strings.TrimSpace(p.DecisionRecord)
		if used[i] && record != "" && !slices.Contains(records, record) {
			records = append(records, record)
		}
	}
	if len(records) == 0 {
		return memory.Note{}
	}
	title := "Decisions"
	if goal := text.Line(s.Spec.Goal); goal != "" {
		title += ": " + goal
	}
	return memory.Note{Title: title, Tags: []string{"decision"}, Text: strings.Join(records, "\n\n")}
}

// conflictsNote names the tasks whose patches did not merge with what landed before them: their files belong together.
func conflictsNote(s *run.State) memory.Note {
	var lines, paths []string
	for t := range s.Tasks.All() {
		for _, f := range t.Faults {
			if f.Fault.Class == wire.FaultConflict {
				lines = append(lines, fmt.Sprintf("- %s: %s", text.Line(name(t)), text.Line(f.Fault.Message)))
				paths = append(paths, t.Task.Files...)
				break
			}
		}
	}
	if len(lines) == 0 {
		return memory.Note{}
	}
	if more := len(lines) - maxConflicts; more > 0 {
		lines = append(lines[:maxConflicts], fmt.Sprintf("- and %d more", more))
	}
	slices.Sort(paths)
	return memory.Note{
		Title: "Tasks that got into each other's way", Tags: []string{"conflict", "plan"}, Paths: slices.Compact(paths),
		Text: "Patches of these tasks did not merge with earlier landings. Put such files into one task, or let the " +
			"tasks depend on one another.\n\n" + strings.Join(lines, "\n"),
	}
}

// failureNotes describes tasks that failed first and landed later: those that took the most attempts.
func failureNotes(s *run.State) []memory.Note {
	var late []*run.Task
	for t := range s.Tasks.All() {
		if t.State == run.TaskLanded && len(ownFaults(t)) > 0 {
			late = append(late, t)
		}
	}
	slices.SortStableFunc(late, func(a, b *run.Task) int { return cmp.Compare(len(ownFaults(b)), len(ownFaults(a))) })
	var notes []memory.Note
	for _, t := range late[:min(len(late), maxTasks)] {
		notes = append(notes, failureNote(t))
	}
	return notes
}

// ownFaults are the failures of a task that were not others' landings.
func ownFaults(t *run.Task) []run.AttemptFault {
	return slices.DeleteFunc(slices.Clone(t.Faults), func(f run.AttemptFault) bool { return f.Fault.Class == wire.FaultConflict })
}

func failureNote(t *run.Task) memory.Note {
	var b strings.Builder
	b.WriteString("What failed:\n\n")
	tags := []string{"failure"}
	for _, f := range ownFaults(t) {
		tags = append(tags, f.Fault.Class)
		fmt.Fprintf(&b, "- %s: %s", f.Fault.Class, text.Line(f.Fault.Message))
		if why := reasons(f.Fault); why != "" {
			fmt.Fprintf(&b, " (%s)", why)
		}
		b.WriteByte('\n')
	}
	if r := t.Result; r != nil {
		fmt.Fprintf(&b, "\nWhat landed in the end: %s\n", cmp.Or(text.Line(r.Handoff.Summary), "nothing was said about it"))
		said := slices.Concat(r.Handoff.Deviations, r.Handoff.Findings)
		for _, words := range said[:min(len(said), maxSaid)] {
			fmt.Fprintf(&b, "- %s\n", text.Line(words))
		}
	}
	slices.Sort(tags)
	return memory.Note{
		Title: "Failed before it landed: " + text.Line(name(t)), Text: strings.TrimSpace(b.String()),
		Tags: slices.Compact(tags), Paths: t.Task.Files, Source: t.Task.ID,
	}
}

// reasons are a fault's first signature, else its detail, on one line.
func reasons(f spec.Fault) string {
	if len(f.Signatures) > 0 {
		return text.Line(f.Signatures[0])
	}
	said := strings.FieldsFunc(f.Detail, func(r rune) bool { return r == '\n' })
	return text.Clip(strings.Join(said, "; "), text.MaxLine)
}

// name is a task's name in a note, which outlives its id.
func name(t *run.Task) string { return cmp.Or(t.Task.Title, text.Line(t.Task.Brief), t.Task.ID) }
