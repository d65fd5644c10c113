package landing

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// goBack sends a task back whose gates failed. Where that parks it, the reason names the files that no task may change.
func goBack(s *run.State, t *run.Task, f spec.Fault, failed []failure) []run.Action {
	actions := recovery.Failed(s, t, f)
	for i, action := range actions {
		a, appends := action.(run.Append)
		d, ofTask := a.Data.(run.TaskData)
		if !appends || !ofTask || d.State != run.TaskParked {
			continue
		}
		files := forgotten(&s.Tasks, t, failed)
		if len(files) == 0 {
			continue
		}
		d.Reason += fmt.Sprintf(". It fails in %s, which is in the files of no task. %s", text.Some(files, maxMet),
			recovery.Widen(s, t))
		a.Data = d
		actions[i] = a
	}
	return actions
}

// cannotImport finds a signature of a file that could not import another.
var cannotImport = lazyregexp.New(`^load: |\b(?:Import|ModuleNotFound)Error\b|Cannot find module`)

// forgotten are the files outside all write sets that failures give with a line, sorted, such as a caller that no task changes. A
// failure in what the task changed is its own, but for an import that fails, whose stack has all that import; and a test that
// runs and fails is no file that must change, as one is that does not compile or cannot import.
func forgotten(tasks *run.Tasks, t *run.Task, failed []failure) (files []string) {
	own := t.Changes()
	for _, f := range failed {
		mine := slices.ContainsFunc(f.positions, func(p string) bool { return slices.Contains(own, p) })
		if mine && (f.compile || strings.HasPrefix(f.signature, "test: ")) {
			continue
		}
		for _, p := range f.positions {
			if !slices.Contains(own, p) && (f.compile || cannotImport.MatchString(f.signature) || !testsource.IsTest(p)) {
				files = append(files, p)
			}
		}
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(p string) bool {
		return slices.ContainsFunc(tasks.Order, func(id string) bool { return spec.MatchAny(tasks.ByID[id].Task.Files, p) })
	})
}
