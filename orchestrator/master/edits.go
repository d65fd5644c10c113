package master

import (
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// maxEdited bounds, in characters, a task's brief in an edited plan: the master knows what it wrote.
const maxEdited = 300

// edits are the plans that a person edited behind a position of the log, as they now read, with the beginnings of their briefs.
func edits(plans *run.Plans, from uint64) (out []spec.Plan) {
	for i, e := range plans.Edits {
		again := slices.ContainsFunc(plans.Edits[i+1:], func(later run.Edit) bool { return later.Plan == e.Plan })
		if e.Pos <= from || again || plans.All[e.Plan].Edited == nil { // the last: it was sent back since
			continue
		}
		p := *plans.All[e.Plan].Edited
		p.Tasks = slices.Clone(p.Tasks)
		for i := range p.Tasks {
			p.Tasks[i].Brief = text.Short(p.Tasks[i].Brief, maxEdited)
		}
		out = append(out, p)
	}
	return out
}
