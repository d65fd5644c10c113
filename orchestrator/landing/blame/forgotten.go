package blame

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/run"
)

// maxForgotten bounds the findings that a parked task keeps of files which no task changes.
const maxForgotten = 40

var (
	// cannotImport finds a failure of a file that could not import another.
	cannotImport = lazyregexp.New(`^load: |\b(?:Import|ModuleNotFound)Error\b|Cannot find module`)
	// misused finds why a line that runs fails because of what it calls: the name, or its arguments, are others now.
	misused = lazyregexp.New(`(?i)has no (?:attribute|member)|is not (?:a function|a constructor|defined|callable)|` +
		`cannot import name|(?:unexpected|invalid) keyword|missing \d+ required|positional arguments? but|No module named|` +
		`wrong number of arguments|` +
		`undefined (?:method|local variable|function)|uninitialized constant|NoSuch(?:Method|Field)|NoClassDefFound|` +
		`does not provide an export|Cannot find module|ImportError`)
)

// Forgotten are the failures in files that no task changes, or is to change, such as a caller that the plan has not; nil for
// none. own are the files that the patches under test change: a failure there is theirs.
func Forgotten(tasks *run.Tasks, own []string, failed []Failure) *run.Forgotten {
	forgotten := &run.Forgotten{Only: true}
	for _, f := range failed {
		found := slices.DeleteFunc(f.places(own), func(at spec.Finding) bool {
			no := spec.WriteSet{}.RefuseNew(at.File) != "" // no task can name it
			return no || slices.Contains(own, at.File) || slices.ContainsFunc(tasks.Order, func(id string) bool {
				t := tasks.ByID[id]
				return (!t.Ended() || t.GivenUp()) && spec.MatchAny(t.Task.Files, at.File)
			})
		})
		forgotten.Only = forgotten.Only && len(found) > 0
		forgotten.Findings = append(forgotten.Findings, found...)
	}
	return bounded(forgotten)
}

// bounded sorts findings by file and leaves out what is twice, and directories of others; nil for none.
func bounded(forgotten *run.Forgotten) *run.Forgotten {
	slices.SortStableFunc(forgotten.Findings, func(a, b spec.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	forgotten.Findings = slices.CompactFunc(forgotten.Findings, func(a, b spec.Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Message == b.Message
	})
	if len(forgotten.Findings) == 0 {
		return nil
	}
	files := leaves(forgotten.Files())
	forgotten.Findings = slices.DeleteFunc(forgotten.Findings, func(f spec.Finding) bool {
		return !slices.Contains(files, f.File)
	})
	forgotten.Findings = forgotten.Findings[:min(len(forgotten.Findings), maxForgotten)]
	return forgotten
}

// places are where a failure asks for a change: the place of its first error, else the files that its lines give with a line,
// and that are not own. A test that runs and fails is no file that must change, unless it calls what is no longer there; nor is a
// file that its frames alone name.
func (f *Failure) places(own []string) (found []spec.Finding) {
	runs := strings.HasPrefix(f.Signature, "test: ") && !f.compile
	if at := f.found; at.File != "" {
		imports := cannotImport.MatchString(f.Signature) || cannotImport.MatchString(at.Message)
		if runs && !imports && (testsource.IsTest(at.File) || !misused.MatchString(at.Message)) {
			return nil
		}
		return []spec.Finding{at}
	}
	if runs || f.compile && slices.ContainsFunc(f.Positions, func(p string) bool { return slices.Contains(own, p) }) {
		return nil
	}
	for _, p := range f.Positions {
		if f.compile || cannotImport.MatchString(f.Signature) || !testsource.IsTest(p) {
			found = append(found, spec.Finding{Signature: f.Signature, Message: f.Signature, File: p})
		}
	}
	return found
}

// missing are where a failure is that leads to no task: its first error, or the paths that it names.
func (f *Failure) missing() (found []spec.Finding) {
	if f.found.File != "" {
		return []spec.Finding{f.found}
	}
	for _, p := range leaves(f.Paths) {
		found = append(found, spec.Finding{Signature: f.Signature, Message: f.Signature, File: p})
	}
	return found
}

// Words tell in which files something fails that no task may change, and how a task for them is added: the master dispatches it,
// and reads how.
func Words(about *run.Spec, forgotten *run.Forgotten, which, dispatch string) string {
	first := &forgotten.Findings[0]
	line := text.Line(first.Message)
	if first.Source != "" {
		line = fmt.Sprintf("%s, in %q", line, first.Source)
	}
	switch {
	case about.Plan == nil:
	case len(forgotten.Addable(about.Project.Protected)) == 0:
		dispatch = "If it must change, add a task to the plan that names it in its files: it is protected"
	default:
		dispatch = fmt.Sprintf("If it must change, a retry of run %s can add a task for it, tested with the submitted patch",
			about.Run)
	}
	return fmt.Sprintf("fails in %s, which no task %s: %s. %s", placesOf(forgotten), which, line, dispatch)
}

// placesOf names the files of findings with their first lines.
func placesOf(forgotten *run.Forgotten) string {
	var names []string
	for _, file := range forgotten.Files() {
		at := slices.IndexFunc(forgotten.Findings, func(f spec.Finding) bool { return f.File == file })
		if line := forgotten.Findings[at].Line; line > 0 {
			file += fmt.Sprintf(":%d", line)
		}
		names = append(names, file)
	}
	return text.Some(names, MaxNamed)
}
