package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/textfile"
	"divisi/orchestrator/round"
	"divisi/orchestrator/run"
	"divisi/subagents/finding"
)

// The bounds of a round: its tasks, and the files that can define a symbol.
const (
	maxRound       = 512
	maxDefinitions = 3
)

// expandRound makes the tasks of one round of findings: one for the whole tree, one at the definition of what most of them are
// about, or one for each group of them.
func expandRound(
	ctx context.Context, e run.Expand, agenda *run.Agenda, works run.Works, tree Tree,
	get func(ctx context.Context, name string) ([]byte, error),
) (data run.PlanData, problems []spec.Problem, err error) {
	list, err := finding.Load(ctx, get, e.Findings)
	if err != nil {
		return data, nil, fmt.Errorf("expand task %s: %w", e.Template.Task.ID, err)
	}
	r, of := *e.Round, &agenda.Plans.All[e.Template.Plan]
	x := Expansion{}
	kept := x.fixable(e.Template, list.Findings, agenda)
	groups, problem, err := groupsOf(ctx, e.Template, &r, kept, tree)
	if err != nil || problem != "" {
		return data, []spec.Problem{{Message: problem}}[:min(1, len(problem))], err
	}
	r.Rest = len(list.Findings) - len(kept)
	for n := min(len(groups), maxRound); ; n /= 2 { // what does not fit into one event waits for the next round
		x.Tasks = nil
		for i, g := range groups[:n] {
			x.Tasks = append(x.Tasks, inRound(agenda, e.Template, &r, i, g))
		}
		data, problems, err = x.data(ctx, of.DecisionRecord, agenda.Tasks.Planned(), agenda, works, tree)
		if err != nil || len(problems) == 0 || n < 2 {
			break
		}
	}
	if len(groups) == 0 {
		problems = []spec.Problem{{Message: fmt.Sprintf("no task may fix what is left: %s in no file, or in protected files",
			text.Count(r.Rest, "finding"))}}
	}
	data.By, data.Expands, data.Round = of.By, e.Template.Task.ID, &r
	data.Beyond = beyond(&data, e.Template, agenda)
	return data, problems, err
}

// fixable are the findings that the tasks of a template may fix: those in files of its rule that it may write.
func (x *Expansion) fixable(t *run.Task, all []spec.Finding, agenda *run.Agenda) (kept []spec.Finding) {
	may, barred := spec.WriteSet{Protected: agenda.Spec.Project.Protected}, []string{}
	for _, f := range all {
		switch glob := t.Task.Shard.Glob; {
		case f.File == "", glob != "" && !doublestar.MatchUnvalidated(glob, f.File):
		case may.Refuse(f.File) != "":
			barred = append(barred, f.File)
		default:
			kept = append(kept, f)
		}
	}
	if barred = slices.Compact(barred); len(barred) > 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("%s leaves out the findings in %s, %s", t.Task.ID,
			text.Count(len(barred), "protected file"), text.Some(barred, maxBarred)))
	}
	return kept
}

// groupsOf groups findings as the round has them.
func groupsOf(
	ctx context.Context, t *run.Task, r *run.Round, kept []spec.Finding, tree Tree,
) (groups []round.Group, problem string, err error) {
	if t.Task.Ways()[r.Fixer].Whole && len(kept) > 0 {
		return []round.Group{{}}, "", nil
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return nil, "", err
	}
	kept = slices.DeleteFunc(slices.Clone(kept), func(f spec.Finding) bool { return !isOneOf(files, f.File) })
	symbol, about := round.Common(kept)
	if n := len(t.Rounds); symbol != "" && (n == 0 || t.Rounds[n-1].Symbol != symbol) {
		defined, err := definedIn(ctx, symbol, files, tree)
		if err != nil {
			return nil, "", err
		}
		if n := len(defined); n > 0 && n <= maxDefinitions {
			r.Symbol = symbol
			return []round.Group{{Key: symbol, Files: defined, Findings: about}}, "", nil
		}
	}
	var owns owners
	if t.Task.Shard.Group == round.ByOwner {
		if owns, problem, err = readOwners(ctx, tree, files); err != nil || problem != "" {
			return nil, problem, err
		}
	}
	groups, _ = round.Form(kept, t.Task.Shard.Group, t.Task.Shard.MaxFiles, owns.of)
	return groups, "", nil
}

// definedIn lists the files with a line that may define a symbol.
func definedIn(ctx context.Context, symbol string, files []string, tree Tree) (in []string, err error) {
	p, err := textfile.Compile(round.Definition(symbol).String())
	if err != nil {
		return nil, nil // it is no name
	}
	matches, _, err := tree.Match(ctx, p, files)
	for _, f := range files {
		if matches[f] > 0 {
			in = append(in, f)
		}
	}
	return in, err
}

// inRound is the task for a group of findings.
func inRound(agenda *run.Agenda, template *run.Task, r *run.Round, i int, g round.Group) spec.Task {
	t, way := template.Task, template.Task.Ways()[r.Fixer]
	t.ID, t.ShardOf = spec.ShardID(t.ID, len(agenda.Tasks.Shards[t.ID])+i+1), t.ID
	t.Title = text.Head(cmp.Or(template.Task.Title, template.Task.ID), 40)
	if way.Whole {
		t.Title += fmt.Sprintf(" (round %d)", r.Number)
	} else {
		t.Title += fmt.Sprintf(" (round %d: %s)", r.Number, text.Some(g.Files, 1))
	}
	t.Role, t.Command, t.Files, t.Shard, t.Fixers = way.Role, way.Command, g.Files, nil, nil
	t.Rule = &spec.ShardRule{Files: len(g.Files), Round: r.Number}
	for _, f := range g.Findings {
		t.Rule.Findings = append(t.Rule.Findings, f.Signature)
	}
	slices.Sort(t.Rule.Findings)
	if t.Rule.Findings = slices.Compact(t.Rule.Findings); !way.Whole {
		t.Brief = round.Brief(t.Brief, t.Mends[0], g.Findings)
	}
	return t
}
