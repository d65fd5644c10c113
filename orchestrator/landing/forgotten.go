package landing

import (
	"cmp"
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

// maxForgotten bounds the findings that a parked task keeps of files which no task changes.
const maxForgotten = 40

// goBack sends a task back whose gates failed. Where that parks it, the reason names what fails in files that no task may change.
func goBack(s *run.State, t *run.Task, f spec.Fault, failed []failure) []run.Action {
	actions := recovery.Failed(s, t, f)
	lacks := forgotten(&s.Tasks, t.Changes(), failed)
	if lacks == nil {
		return actions
	}
	if lacks.Only && t.Result != nil && t.Result.Patch != nil {
		lacks.Head = t.Result.Patch.Commit
	}
	for i, action := range actions {
		a, appends := action.(run.Append)
		d, ofTask := a.Data.(run.TaskData)
		if !appends || !ofTask || d.Fault == nil {
			continue
		}
		if d.Forgotten = lacks; d.State == run.TaskParked {
			d.Reason += fmt.Sprintf(". It fails in %s, which no task is to change: %s. %s", placesOf(lacks),
				lineOf(&lacks.Findings[0]), adds(&s.Spec, lacks, recovery.Widen(s, t)))
		}
		a.Data = d
		actions[i] = a
	}
	return actions
}

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

// forgotten are the failures in files that no task changes, or is to change, such as a caller that the plan has not; nil for
// none. own are the files that the patches under test change: a failure there is theirs.
func forgotten(tasks *run.Tasks, own []string, failed []failure) *run.Forgotten {
	lacks := &run.Forgotten{Only: true}
	for _, f := range failed {
		found := slices.DeleteFunc(f.places(own), func(at spec.Finding) bool {
			no := spec.WriteSet{}.RefuseNew(at.File) != "" // no task can name it
			return no || slices.Contains(own, at.File) || slices.ContainsFunc(tasks.Order, func(id string) bool {
				t := tasks.ByID[id]
				return (!t.Ended() || t.GivenUp()) && spec.MatchAny(t.Task.Files, at.File)
			})
		})
		lacks.Only = lacks.Only && len(found) > 0
		lacks.Findings = append(lacks.Findings, found...)
	}
	return bounded(lacks)
}

// bounded sorts findings by file and leaves out what is twice, and directories of others; nil for none.
func bounded(lacks *run.Forgotten) *run.Forgotten {
	slices.SortStableFunc(lacks.Findings, func(a, b spec.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	lacks.Findings = slices.CompactFunc(lacks.Findings, func(a, b spec.Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Message == b.Message
	})
	if len(lacks.Findings) == 0 {
		return nil
	}
	files := leaves(lacks.Files())
	lacks.Findings = slices.DeleteFunc(lacks.Findings, func(f spec.Finding) bool { return !slices.Contains(files, f.File) })
	lacks.Findings = lacks.Findings[:min(len(lacks.Findings), maxForgotten)]
	return lacks
}

// places are where a failure asks for a change: the place of its first error, else the files that its lines give with a line,
// and that are not own. A test that runs and fails is no file that must change, unless it calls what is no longer there; nor is a
// file that its frames alone name.
func (f *failure) places(own []string) (found []spec.Finding) {
	runs := strings.HasPrefix(f.signature, "test: ") && !f.compile
	if at := f.found; at.File != "" {
		imports := cannotImport.MatchString(f.signature) || cannotImport.MatchString(at.Message)
		if runs && !imports && (testsource.IsTest(at.File) || !misused.MatchString(at.Message)) {
			return nil
		}
		return []spec.Finding{at}
	}
	if runs || f.compile && slices.ContainsFunc(f.positions, func(p string) bool { return slices.Contains(own, p) }) {
		return nil
	}
	for _, p := range f.positions {
		if f.compile || cannotImport.MatchString(f.signature) || !testsource.IsTest(p) {
			found = append(found, spec.Finding{Signature: f.signature, Message: f.signature, File: p})
		}
	}
	return found
}

// missing are where a failure is that leads to no task: its first error, or the paths that it names.
func (f *failure) missing() (found []spec.Finding) {
	if f.found.File != "" {
		return []spec.Finding{f.found}
	}
	for _, p := range leaves(f.paths) {
		found = append(found, spec.Finding{Signature: f.signature, Message: f.signature, File: p})
	}
	return found
}

// adds tells how a task for forgotten files is added: the master dispatches it, and reads how.
func adds(in *run.Spec, lacks *run.Forgotten, dispatch string) string {
	switch {
	case in.Plan == nil:
		return dispatch
	case len(lacks.Addable(in.Project.Protected)) == 0:
		return "If it must change, add a task to the plan that names it in its files: it is protected"
	}
	return fmt.Sprintf("If it must change, a retry of run %s can add a task for it, tested with what was handed in", in.Run)
}

// placesOf names the files of findings with their first lines.
func placesOf(lacks *run.Forgotten) string {
	var names []string
	for _, file := range lacks.Files() {
		at := slices.IndexFunc(lacks.Findings, func(f spec.Finding) bool { return f.File == file })
		if line := lacks.Findings[at].Line; line > 0 {
			file += fmt.Sprintf(":%d", line)
		}
		names = append(names, file)
	}
	return text.Some(names, maxMet)
}

// lineOf is what a checker printed of a line, with the line.
func lineOf(f *spec.Finding) string {
	if f.Source == "" {
		return text.Line(f.Message)
	}
	return fmt.Sprintf("%s, in %q", text.Line(f.Message), f.Source)
}
