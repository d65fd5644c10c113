package needs

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/trust"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/detect"
)

// maxWhy is how many files are named that show a need.
const maxWhy = 3

// Detect completes a project that names no gates, or no setup: gates are taken as they are found, and a setup without which they
// cannot run is proposed to a person, where propose is set. roles are those of the repository's own files. notes are what a
// person should know of it.
func Detect(
	ctx context.Context, mirror *git.Repo, s *run.Spec, roles map[string]spec.Role,
	propose func(ctx context.Context, setup, why, requests []string) (bool, error),
) (notes []string, err error) {
	project := &s.Project
	has := len(project.Setup.Command) > 0 || !project.Environment.IsZero()
	if has && len(project.Gates) > 0 {
		return nil, nil
	}
	found, err := detect.At(ctx, mirror, s.Base, detect.Options{Has: detect.Installed})
	if err != nil {
		return nil, err
	}
	named := len(project.Gates) > 0
	if !named {
		project.Gates, s.Detected, notes = found.Gates, true, found.Notes
	}
	if has {
		return notes, nil
	}
	s.Proposed = found.Setup
	if named || !found.Needed || propose == nil {
		return notes, nil
	}
	with := *project
	with.Setup.Command, with.Derived, with.Regenerate = found.Setup, found.Derived, found.Regenerate
	agreed, err := propose(ctx, found.Setup, found.Why, trust.Requests(&with, roles))
	if agreed {
		*project, s.Proposed = with, nil
		notes = append(notes, fmt.Sprintf("setup is %s, because the repository has %s; it is not in .divisi/divisi.yaml yet",
			text.Flow(found.Setup), text.Some(found.Why, maxWhy)))
	}
	return notes, err
}
