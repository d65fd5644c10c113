package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// maxShown bounds how many tasks, files, overlaps and lines of a text of a plan are written one by one.
const (
	maxShownTasks    = 200
	maxShownShards   = 3
	maxShownFiles    = 6
	maxShownOverlaps = 20
	maxShownLines    = 40
)

// Plan writes a plan, given as JSON, for a person to judge: the decision record, the tasks with their briefs, constraints and
// what they may write, the overlaps, and what it is likely to use and at most. The shards of a template are written once. No line
// is wider than width cells.
func Plan(b *strings.Builder, data json.RawMessage, width int) error {
	p := &planText{b: b, width: max(width, 30), preview: &view.Preview{}}
	if err := json.Unmarshal(data, p.preview); err != nil {
		return fmt.Errorf("read a plan: %w", err)
	}
	p.plan(&p.preview.PlanData)
	return nil
}

func (p *planText) plan(plan *view.Plan) {
	by := plan.By
	if plan.Replaces > 0 {
		by += ", edited by a person"
	}
	p.line(0, fmt.Sprintf("Plan by %s: %s", by, text.Count(len(plan.Tasks), "task")))
	if plan.DecisionRecord != "" {
		p.line(0, "")
		p.line(0, "Decision record, given to every writer:")
		p.text(2, plan.DecisionRecord)
	}
	p.common = common(plan.Tasks)
	if len(p.common) > 0 {
		p.line(0, "")
		p.line(0, "Constraints of every task:")
		p.list(2, p.common)
	}
	p.line(0, "")
	p.tasks(plan.Tasks)
	p.notes(plan.Notes)
	p.overlaps(plan.Overlaps)
	p.line(0, "")
	p.text(0, tokensOf(plan))
}

// tokensOf words what a plan uses: what is not estimated, the likely range, and the hard limit.
func tokensOf(plan *view.Plan) string {
	var words []string
	for _, agent := range slices.Sorted(maps.Keys(plan.Agents)) {
		runs := " run "
		if plan.Agents[agent] == 1 {
			runs = " runs "
		}
		words = append(words, text.Count(plan.Agents[agent], "task")+runs+agent+": its cost is not estimated.")
	}
	if plan.Likely != nil && plan.Likely.Range() != "" {
		words = append(words, "Estimate: "+plan.Likely.String()+".")
	}
	if plan.Ceiling > 0 {
		words = append(words, fmt.Sprintf("Hard limit: %s tokens, all attempts counted.", text.Tokens(plan.Ceiling)))
	}
	if len(words) == 0 {
		words = append(words, "No model takes part: it costs no tokens.")
	}
	return strings.Join(words, "\n")
}

// common are the constraints that all tasks begin with: those of the plan.
func common(tasks []spec.Task) []string {
	if len(tasks) < 2 {
		return nil
	}
	out := tasks[0].Constraints
	for i := range tasks {
		n := 0
		for n < min(len(out), len(tasks[i].Constraints)) && out[n] == tasks[i].Constraints[n] {
			n++
		}
		out = out[:n]
	}
	return out
}

// planText collects lines that fit.
type planText struct {
	b      *strings.Builder
	width  int
	common []string
	// preview has the roles of the tasks, where it is that of a dry run.
	preview *view.Preview
}

func (p *planText) line(indent int, text string) {
	lines := display.Wrap(display.Safe(text), p.width-indent)
	if len(lines) == 0 {
		p.b.WriteByte('\n')
	}
	for _, l := range lines {
		p.b.WriteString(strings.Repeat(" ", indent) + l + "\n")
	}
}

// text writes the lines of a text, bounded.
func (p *planText) text(indent int, words string) {
	lines := text.Lines(strings.TrimSpace(words))
	for _, l := range lines[:min(len(lines), maxShownLines)] {
		p.line(indent, l)
	}
	p.more(indent, len(lines)-maxShownLines, "line")
}

func (p *planText) list(indent int, items []string) {
	for _, item := range items {
		p.line(indent, "- "+item)
	}
}

// more counts what is not written.
func (p *planText) more(indent, n int, noun string) {
	if n > 0 {
		p.line(indent, "… and "+text.Count(n, "more "+noun))
	}
}

// tasks writes tasks up to maxShownTasks. Of the shards of a template, which follow each other, the first few are named.
func (p *planText) tasks(list []spec.Task) {
	for shown := 0; len(list) > 0; shown++ {
		if shown == maxShownTasks {
			p.more(2, len(list), "task")
			return
		}
		n := 1
		for list[0].ShardOf != "" && n < len(list) && list[n].ShardOf == list[0].ShardOf {
			n++
		}
		p.task(list[:n])
		list = list[n:]
	}
}

// task writes a task, or a template with its shards.
func (p *planText) task(shards []spec.Task) {
	t := shards[0]
	switch {
	case t.ShardOf != "":
		p.line(2, fmt.Sprintf("%s (%s): a template for %s", t.ShardOf, t.Role, text.Count(len(shards), "task")))
	case t.Title != "":
		p.line(2, fmt.Sprintf("%s (%s): %s", t.ID, t.Role, t.Title))
	default:
		p.line(2, fmt.Sprintf("%s (%s)", t.ID, t.Role))
	}
	p.text(6, t.Brief)
	p.list(6, t.Constraints[len(p.common):])
	p.writeSets(shards)
	if t.ChangeSet != "" {
		p.line(6, "lands with change set "+t.ChangeSet)
	}
	if len(t.DependsOn) > 0 {
		p.line(6, "depends_on "+text.Some(t.DependsOn, maxShownFiles))
	}
	p.how(&t)
}

// how writes what runs a task, its limits, and who judges its patch; of roles that are not known only the command.
func (p *planText) how(t *spec.Task) {
	role, known := p.preview.Roles[t.Role]
	if len(t.Command) > 0 {
		each := ""
		if role.Each {
			each = ", once for each file"
		}
		p.line(6, "runs "+text.CommandLine(t.Command)+each)
	}
	if !known {
		return
	}
	role.Limits = t.Limits
	p.line(6, "limits "+Limits(role.Effective(spec.Limits{})))
	if judge := p.preview.Judge(t); judge != "" {
		p.line(6, "judged by "+judge+", before the gates")
	}
}

// writeSets writes what the tasks may change; all of protected files, which agents do not change else.
func (p *planText) writeSets(shards []spec.Task) {
	var unlocked []string
	for i := range shards {
		t := &shards[i]
		unlocked = append(unlocked, t.Unlocked...)
		switch {
		case t.ShardOf == "":
			p.line(6, p.writes(t))
		case i < maxShownShards:
			p.line(6, t.ID+": "+t.Title)
			p.line(8, p.writes(t))
		}
	}
	p.more(6, len(shards)-maxShownShards, "task")
	if len(unlocked) > 0 {
		p.line(6, "may change the protected "+text.Some(unlocked, maxShownFiles))
	}
}

// writes words what a task may write.
func (p *planText) writes(t *spec.Task) string {
	_, known := p.preview.Roles[t.Role]
	switch {
	case known && !p.preview.Writes(t):
		return "changes nothing"
	case len(t.Files) == 0:
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
	p.more(2, len(list)-maxShownTasks, "note")
}

func (p *planText) overlaps(list []view.Overlap) {
	if len(list) == 0 {
		return
	}
	p.line(0, "")
	p.line(0, text.Count(len(list), "overlap")+": these tasks take turns")
	for _, o := range list[:min(len(list), maxShownOverlaps)] {
		p.line(2, fmt.Sprintf("%s and %s both write %s", o.A, o.B, o.Path))
	}
	p.more(2, len(list)-maxShownOverlaps, "overlap")
}
