package tester

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/grade"
)

// beyond watches a gate with paths on the base commit. why is, once it has ended, why these do not name all that it depends on:
// it opens files that other gates' paths name alone, or what it opens is not known. What setup or a command makes of such files
// may have any name. Results of caches would open nothing.
func (t *Executor) beyond(ctx context.Context, g spec.Gate, where *gate.Where, why *string) error {
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return fmt.Errorf("list the files beyond the paths of gate %s: %w", g.Name, err)
	}
	project, names := &t.Assignment.Project, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(blobs)) {
		if project.InPaths(name) && !spec.MatchAny(g.Paths, name) {
			names = append(names, name)
		}
	}
	made := len(project.Regenerate) > 0 || t.Under != nil && len(t.Under.Derived(project.Derived)) > 0
	if made || t.Under != nil && slices.ContainsFunc(names, func(name string) bool {
		reads, manifest := t.Under.Decides(&project.Setup, name)
		return reads && !manifest
	}) {
		*why = "what setup or regenerate makes of tracked files may lie elsewhere"
	}
	where.Env = gate.Anew(where.Env)
	touched := grade.Touched(t.Dir, names)
	where.OnEnd = func() {
		switch files, lack := touched(); {
		case lack != "":
			*why = "what it opens is not known: " + lack
		case len(files) > 0:
			*why = "it opens " + text.Some(files, maxManifests)
		}
	}
	return nil
}

// apart watches a gate on the base commit for Divisi's own files and the history. end writes into the receipt where it read
// neither: then its outcome holds for a commit that differs in them alone. Results of caches open nothing.
func (t *Executor) apart(ctx context.Context, where *gate.Where) (end func(r *spec.Receipt), err error) {
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list Divisi's own files: %w", err)
	}
	names := []string{".git/HEAD"}
	for name := range blobs {
		if strings.HasPrefix(name, spec.OwnDir+"/") {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return func(*spec.Receipt) {}, nil
	}
	touched := grade.Touched(t.Dir, names)
	return func(r *spec.Receipt) {
		if files, lack := touched(); lack == "" && len(files) == 0 && !*where.Stale {
			r.Unread = []spec.Unread{{Path: spec.OwnDir, Grade: spec.GradeUnread}}
		}
	}, nil
}
