package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
)

// The bounds of what a run proposes to remember.
const (
	learntTasks      = 3   // notes about tasks that failed before they landed
	learntSignatures = 20  // known failures of one gate
	learntConflicts  = 10  // conflicts in one note
	learntSaid       = 5   // findings and deviations of one task
	learntLine       = 300 // bytes of one line
	learntText       = 3500
)

// Learnt returns what a run found out that later runs would want to know: what was red before it began, what failed before it
// worked, which tasks got into each other's way, and the decisions that landed. It is made of facts in the log, without a
// model; there is nothing where nothing is worth keeping. The same run always gives the same notes, and two runs that found
// out the same give the same text.
func (s *State) Learnt() []memory.Note {
	var notes []memory.Note
	for _, n := range []memory.Note{s.learntBaseline(), s.learntDecisions(), s.learntConflicts()} {
		if n.Text != "" {
			notes = append(notes, n)
		}
	}
	notes = append(notes, s.learntFailures()...)
	for i := range notes {
		notes[i].Text = clipped(notes[i].Text, learntText)
		notes[i].Source = strings.TrimSuffix(s.Spec.Run+"/"+notes[i].Source, "/")
		notes[i].Created = s.Spec.Created
	}
	return notes
}

// learntBaseline names what is red without anybody's change.
func (s *State) learntBaseline() memory.Note {
	var b strings.Builder
	tags := []string{"gates", "baseline"}
	for _, g := range s.Spec.Project.Gates {
		r, ok := s.Baseline[g.Name]
		if !ok || r.Verdict == spec.VerdictPass {
			continue
		}
		tags = append(tags, g.Name)
		fmt.Fprintf(&b, "\nGate `%s` (`%s`), exit code %d:\n\n", g.Name, line(strings.Join(g.Command, " ")), r.ExitCode)
		for _, sig := range r.Signatures[:min(len(r.Signatures), learntSignatures)] {
			fmt.Fprintf(&b, "- %s\n", line(sig))
		}
		switch more := len(r.Signatures) - learntSignatures; {
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

// learntDecisions keeps the decision records of plans from which something landed.
func (s *State) learntDecisions() memory.Note {
	used := map[int]bool{}
	for _, t := range s.Tasks {
		if t.State == TaskLanded {
			used[t.Plan] = true
		}
	}
	var records []string
	for i, p := range s.Plans {
		record := strings.TrimSpace(p.DecisionRecord)
		if used[i] && record != "" && !slices.Contains(records, record) {
			records = append(records, record)
		}
	}
	if len(records) == 0 {
		return memory.Note{}
	}
	title := "Decisions"
	if goal := line(s.Spec.Goal); goal != "" {
		title += ": " + goal
	}
	return memory.Note{Title: title, Tags: []string{"decision"}, Text: strings.Join(records, "\n\n")}
}

// learntConflicts names the tasks whose patches did not merge with what landed before them: their files belong together.
func (s *State) learntConflicts() memory.Note {
	var lines, paths []string
	for _, id := range s.Order {
		t := s.Tasks[id]
		for _, f := range t.Faults {
			if f.Fault.Class == ClassConflict {
				lines = append(lines, fmt.Sprintf("- %s: %s", line(name(t)), line(f.Fault.Message)))
				paths = append(paths, t.Task.Files...)
				break
			}
		}
	}
	if len(lines) == 0 {
		return memory.Note{}
	}
	if more := len(lines) - learntConflicts; more > 0 {
		lines = append(lines[:learntConflicts], fmt.Sprintf("- and %d more", more))
	}
	slices.Sort(paths)
	return memory.Note{
		Title: "Tasks that got into each other's way", Tags: []string{"conflict", "plan"}, Paths: slices.Compact(paths),
		Text: "Patches of these tasks did not merge with what had landed before. Put such files into one task, or let the " +
			"tasks depend on one another.\n\n" + strings.Join(lines, "\n"),
	}
}

// learntFailures tells of tasks that failed first and landed later: those that took the most attempts.
func (s *State) learntFailures() []memory.Note {
	var late []*TaskView
	for _, id := range s.Order {
		if t := s.Tasks[id]; t.State == TaskLanded && len(ownFaults(t)) > 0 {
			late = append(late, t)
		}
	}
	slices.SortStableFunc(late, func(a, b *TaskView) int { return cmp.Compare(len(ownFaults(b)), len(ownFaults(a))) })
	var notes []memory.Note
	for _, t := range late[:min(len(late), learntTasks)] {
		notes = append(notes, learntFailure(t))
	}
	return notes
}

// ownFaults are the failures of a task that were not others' landings.
func ownFaults(t *TaskView) []AttemptFault {
	return slices.DeleteFunc(slices.Clone(t.Faults), func(f AttemptFault) bool { return f.Fault.Class == ClassConflict })
}

func learntFailure(t *TaskView) memory.Note {
	var b strings.Builder
	b.WriteString("What failed:\n\n")
	tags := []string{"failure"}
	for _, f := range ownFaults(t) {
		tags = append(tags, f.Fault.Class)
		fmt.Fprintf(&b, "- %s: %s", f.Fault.Class, line(f.Fault.Message))
		if why := reasons(f.Fault); why != "" {
			fmt.Fprintf(&b, " (%s)", why)
		}
		b.WriteByte('\n')
	}
	if r := t.Result; r != nil {
		fmt.Fprintf(&b, "\nWhat landed in the end: %s\n", cmp.Or(line(r.Handoff.Summary), "nothing was said about it"))
		said := slices.Concat(r.Handoff.Deviations, r.Handoff.Findings)
		for _, text := range said[:min(len(said), learntSaid)] {
			fmt.Fprintf(&b, "- %s\n", line(text))
		}
	}
	slices.Sort(tags)
	return memory.Note{
		Title: "Failed before it landed: " + line(name(t)), Tags: slices.Compact(tags), Paths: t.Task.Files, Source: t.Task.ID,
		Text: strings.TrimSpace(b.String()),
	}
}

// reasons are a fault's first signature, else what is said of it, on one line.
func reasons(f spec.Fault) string {
	if len(f.Signatures) > 0 {
		return line(f.Signatures[0])
	}
	said := strings.FieldsFunc(f.Detail, func(r rune) bool { return r == '\n' })
	return clipped(strings.Join(said, "; "), learntLine)
}

// name is what a task is called where nobody knows its id any more.
func name(t *TaskView) string { return cmp.Or(t.Task.Title, line(t.Task.Brief), t.Task.ID) }

// line is the first line of a text that says something, bounded.
func line(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			return clipped(l, learntLine)
		}
	}
	return ""
}

// clipped cuts a text in bytes, between characters.
func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
