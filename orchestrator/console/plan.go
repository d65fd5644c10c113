package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// maxShown bounds how many tasks, files and overlaps of a plan are written one by one.
const (
	maxShownTasks    = 200
	maxShownFiles    = 6
	maxShownOverlaps = 20
)

// RenderPlan writes a plan for a person to judge: its tasks with what they may write, the overlaps, and the most that it
// can cost. No line is wider than width cells.
func RenderPlan(w io.Writer, plan run.PlanData, width int) error {
	p := &planText{width: max(width, 30)}
	p.line(0, fmt.Sprintf("Plan by %s: %s", plan.By, text.Count(len(plan.Tasks), "task")))
	if plan.DecisionRecord != "" {
		p.line(0, "")
		p.line(0, "Decision record, given to every writer:")
		for l := range strings.SplitSeq(strings.TrimSpace(plan.DecisionRecord), "\n") {
			p.line(2, l)
		}
	}
	p.line(0, "")
	for _, t := range plan.Tasks[:min(len(plan.Tasks), maxShownTasks)] {
		p.task(t)
	}
	if n := len(plan.Tasks) - maxShownTasks; n > 0 {
		p.line(2, fmt.Sprintf("… and %d more tasks", n))
	}
	p.notes(plan.Notes)
	p.overlaps(plan.Overlaps)
	p.line(0, "")
	p.line(0, ceiling(plan.Ceiling))
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

func ceiling(n int) string {
	if n == 0 {
		return "No model takes part: it costs no tokens."
	}
	return fmt.Sprintf("It uses at most %s tokens, all attempts counted.", report.Tokens(n))
}

// planText collects lines that fit.
type planText struct {
	b     strings.Builder
	width int
}

func (p *planText) line(indent int, text string) {
	lines := wrap(safe(text), p.width-indent)
	if len(lines) == 0 {
		p.b.WriteByte('\n')
	}
	for _, l := range lines {
		p.b.WriteString(strings.Repeat(" ", indent) + l + "\n")
	}
}

func (p *planText) task(t spec.Task) {
	head := fmt.Sprintf("%s (%s)", t.ID, t.Role)
	if t.Title != "" {
		head += ": " + t.Title
	}
	p.line(2, head)
	p.line(6, writes(t))
	if len(t.Unlocked) > 0 {
		p.line(6, "may change the protected "+text.Some(t.Unlocked, maxShownFiles))
	}
	if t.ChangeSet != "" {
		p.line(6, "lands with change set "+t.ChangeSet)
	}
	if len(t.DependsOn) > 0 {
		p.line(6, "depends_on "+text.Some(t.DependsOn, maxShownFiles))
	}
	if len(t.Command) > 0 {
		p.line(6, "runs "+strings.Join(t.Command, " "))
	}
}

// writes words what a task may write.
func writes(t spec.Task) string {
	if len(t.Files) == 0 {
		return "no write set: conflicts are found when it lands"
	}
	return "writes " + text.Some(t.Files, maxShownFiles)
}

func (p *planText) notes(list []string) {
	if len(list) > 0 {
		p.line(0, "")
	}
	for _, n := range list[:min(len(list), maxShownTasks)] {
		p.line(0, "note: "+n)
	}
	if n := len(list) - maxShownTasks; n > 0 {
		p.line(2, fmt.Sprintf("… and %d more", n))
	}
}

func (p *planText) overlaps(list []run.Overlap) {
	if len(list) == 0 {
		return
	}
	p.line(0, "")
	p.line(0, text.Count(len(list), "overlap")+": these tasks take turns")
	for _, o := range list[:min(len(list), maxShownOverlaps)] {
		p.line(2, fmt.Sprintf("%s and %s both write %s", o.A, o.B, o.Path))
	}
	if n := len(list) - maxShownOverlaps; n > 0 {
		p.line(2, fmt.Sprintf("… and %d more", n))
	}
}

// ranked orders rows for the table at the end: tasks that need attention first, well-ended tasks last.
func ranked(rows []report.Row) []report.Row {
	rank := map[run.TaskState]int{
		run.TaskParked: 0, run.TaskCancelled: 1, run.TaskLanded: 3, run.TaskDone: 4,
	}
	of := func(r report.Row) int {
		if n, ok := rank[r.State]; ok {
			return n
		}
		return 2
	}
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b report.Row) int { return of(a) - of(b) })
	return out
}
