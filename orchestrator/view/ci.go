package view

import (
	"fmt"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// maxCI bounds the commands of CI that a display lists, maxTouched the files that each line names.
const (
	maxCI      = 5
	maxTouched = 3
)

// CILines tell how much of CI the gates run, and which landed files it checks by commands that no gate runs.
func CILines(s *run.State) []string {
	c := s.Spec.CI
	if c == nil {
		return nil
	}
	var files []string
	for _, t := range s.Tasks.ByID {
		if t.State == run.TaskLanded {
			files = append(files, t.Changes()...)
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	var lines []string
	for _, u := range c.Unrun {
		touched := slices.DeleteFunc(slices.Clone(files), func(file string) bool {
			return !slices.ContainsFunc(u.Paths, func(glob string) bool { return doublestar.MatchUnvalidated(glob, file) })
		})
		if len(touched) > 0 {
			lines = append(lines, text.OneLine(fmt.Sprintf("no gate runs %s (%s: %s), which CI checks %s with",
				text.Clip(u.Command, text.MaxLine), u.Place, u.Why, text.Some(touched, maxTouched))))
		}
	}
	share := fmt.Sprintf("gates run %d of %s of CI", c.Run, text.Count(c.Commands, "command"))
	return append([]string{share}, text.Few(lines, maxCI)...)
}
