package needs

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/ci"
	"divisi/subagents/gate/detect"
)

// maxOpen is how many commands a notice names.
const maxOpen = 3

// CI notes how much of the repository's continuous integration the gates of a run do. notes are what a person should know of it:
// what could not be read, and commands that a person has not decided about.
func CI(ctx context.Context, mirror *git.Repo, s *run.Spec) (notes []string, err error) {
	found, err := ci.At(ctx, mirror, s.Base)
	if err != nil {
		return nil, err
	}
	for _, e := range found.Errors {
		notes = append(notes, "its commands of CI are not known: "+e.Error())
	}
	if len(found.Commands) == 0 {
		return notes, nil
	}
	s.CI = &run.CI{Commands: len(found.Commands)}
	var open []string
	for _, j := range found.Judge(ci.Facts{
		Gates: s.Project.Gates, Skip: s.Project.CI.Skip, Services: s.Project.Services, Has: detect.Installed,
	}) {
		if j.Runs() {
			s.CI.Run++
			continue
		}
		s.CI.Unrun = append(s.CI.Unrun, run.Unrun{
			Command: text.Clip(j.Name(), text.MaxLine), Place: fmt.Sprintf("%s:%d", j.File, j.Line),
			Why: j.Reason(), Paths: j.Paths,
		})
		if j.State == ci.Open {
			open = append(open, j.Name())
		}
	}
	if s.Project.CI.Skip != nil && len(open) > 0 {
		notes = append(notes, text.OneLine(fmt.Sprintf("init is stale: CI has %s that the project names neither "+
			"in gates nor in ci.skip: %s", text.Count(len(open), "command"), text.Some(open, maxOpen))))
	}
	return notes, nil
}
