package evidence

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/outlier"
	"divisi/orchestrator/run"
)

// Fewest is how many shards tell what is usual.
const Fewest = outlier.Fewest

// Siblings compares the patches of the shards of a template with each other.
type Siblings struct {
	// edits are those of patches, by their commits. outliers are, by template, the edits that no other shard makes, with how many
	// commits had come then.
	edits    map[string][]outlier.Edit
	outliers map[string]compared
}

type compared struct {
	commits  int
	outliers map[string][]run.Unlike
}

// NewSiblings knows no patch.
func NewSiblings() *Siblings {
	return &Siblings{edits: map[string][]outlier.Edit{}, outliers: map[string]compared{}}
}

// Tell reports whether enough shards of a task's template are there to compare.
func (s *Siblings) Tell(t *run.Task) bool {
	return s.outliers[t.Task.ShardOf].commits >= outlier.Fewest
}

// Outliers returns the edits that no other shard of a template makes, by shard; missing are shards with unknown edits.
func (s *Siblings) Outliers(st *run.State, template string) (outliers map[string][]run.Unlike, missing []*run.Task) {
	var shards []outlier.Shard
	commits := 0
	for _, id := range st.Tasks.Shards[template] {
		t := st.Tasks.ByID[id]
		if !slices.Contains(waitingOrLanded, t.State) {
			continue
		}
		one := outlier.Shard{ID: id}
		for _, k := range t.Patches() {
			edits, known := s.edits[k.Patch.Commit]
			if !known {
				missing = append(missing, t)
				break
			}
			one.Edits, commits = append(one.Edits, edits...), commits+1
		}
		shards = append(shards, one)
	}
	if missing != nil {
		return nil, missing
	}
	had, ok := s.outliers[template]
	if !ok || had.commits != commits {
		had = compared{commits, map[string][]run.Unlike{}}
		for id, edits := range outlier.Find(shards) {
			had.outliers[id] = told(edits)
		}
		s.outliers[template] = had
	}
	return had.outliers, nil
}

// told are outliers edits as the log has them.
func told(outliers []outlier.Outlier) (out []run.Unlike) {
	for _, o := range outliers {
		u := run.Unlike{File: o.File, Line: o.Line, Was: o.Was, Is: o.Is}
		if o.Usual != nil {
			u.UsualWas, u.UsualIs = o.Usual.Was, o.Usual.Is
		}
		out = append(out, u)
	}
	return out
}

// waitingOrLanded are the states of tasks whose patches nothing speaks against so far.
var waitingOrLanded = []run.TaskState{run.TaskHeld, run.TaskAccepted, run.TaskLanding, run.TaskLanded}

// Read reads the patches of shards.
func (s *Siblings) Read(ctx context.Context, mirror *git.Repo, tasks []*run.Task) error {
	for _, t := range tasks {
		for _, k := range t.Patches() {
			changes, err := Changes(ctx, mirror, k.Patch)
			if err != nil {
				return fmt.Errorf("read the patch of %s: %w", t.Task.ID, err)
			}
			s.Keep(t, k.Patch, changes)
		}
	}
	return nil
}

// Keep notes the edits of a shard's patch.
func (s *Siblings) Keep(t *run.Task, p *spec.Patch, changes []acceptance.Change) {
	if t.Task.ShardOf == "" {
		return
	}
	var match *regexp.Regexp
	if t.Task.Rule != nil && t.Task.Rule.Match != "" {
		match, _ = regexp.Compile(t.Task.Rule.Match) // what is no expression covers all
	}
	own := make([]outlier.Change, len(changes))
	for i, one := range changes {
		own[i] = outlier.Change{Path: one.Path, Before: one.Before, After: one.After}
	}
	s.edits[p.Commit] = outlier.Edits(own, match)
}
