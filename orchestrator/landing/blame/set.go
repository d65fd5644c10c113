package blame

import (
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// OfSet has for each task of a change set the failures that lead to it, and those that lead to none; nil where each leads to one.
// What does not build belongs to the tasks that may change the file; a test or a whole package also to those that changed what it
// imports. A failure that names no path belongs to all.
func OfSet(proofs *run.Proofs, members []*run.Task, failed []run.Failure) (of map[string][]string, missing *run.Forgotten) {
	lost, own := &run.Forgotten{}, Changed{}
	of = map[string][]string{}
	for _, t := range members {
		own.add(t.Task.ID, slices.Concat(t.Task.Files, t.Changes()))
	}
	for _, red := range failed {
		for _, signature := range blamed(proofs, red.Receipt) {
			f := failureOf(red.Receipt, signature)
			var who []string
			elsewhere := f.found.File != "" && len(f.places(nil)) > 0 && len(own[f.found.File]) == 0
			switch places := leaves(f.Paths); {
			case elsewhere:
				who = matching(members, f.found.File)
			case len(places) == 0:
				who = matching(members)
			case ofPackage(signature):
				who = own.Owners(f)
			default:
				who = own.of(places)
			}
			if len(who) == 0 && !elsewhere {
				who = matching(members, f.Paths...)
			}
			if len(who) == 0 {
				lost.Findings = append(lost.Findings, f.missing()...)
			}
			for _, id := range who {
				of[id] = append(of[id], f.String())
			}
		}
	}
	return of, bounded(lost)
}

// blamed are the failures of a receipt that tasks are blamed for: those that follow from no other one, where there are such.
func blamed(proofs *run.Proofs, r spec.Receipt) []string {
	signatures := Causes(proofs, r)
	switch {
	case len(signatures) == 0: // it cannot be compared, and names nothing
		return []string{"red"}
	case slices.ContainsFunc(signatures, func(s string) bool { return !follows(s) }):
		return slices.DeleteFunc(signatures, follows)
	}
	return signatures
}

// InTests tells the failures of a task's tests without their change: those in what the task wrote, and others. A test leads there
// by its package; another failure, such as a name that does not exist yet, by its file alone.
func InTests(proofs *run.Proofs, t *run.Task, failed []run.Failure) (own, others []string) {
	c, files := Changed{}, t.Changes()
	c.add(t.Task.ID, files)
	for _, f := range Failures(proofs, failed) {
		mine := slices.ContainsFunc(f.Paths, func(p string) bool { return slices.Contains(files, p) })
		if ofPackage(f.Signature) && !follows(f.Signature) {
			mine = len(c.of(f.Paths)) > 0
		}
		if mine {
			own = append(own, f.String())
		} else {
			others = append(others, f.String())
		}
	}
	return own, others
}

// ofPackage reports whether a signature is that of a test or of a whole package: what the package imports may be the cause.
func ofPackage(signature string) bool {
	return follows(signature) || slices.ContainsFunc([]string{"test: ", "package: ", "FAIL "}, func(p string) bool {
		return strings.HasPrefix(signature, p)
	})
}

// follows reports whether a signature is that of a package that does not build. Go has it for the package with the error, whose
// file another signature names, and for each one that imports it.
func follows(signature string) bool {
	return strings.HasPrefix(signature, "build: package ") ||
		strings.HasPrefix(signature, "FAIL ") && strings.HasSuffix(signature, "[build failed]")
}

// leaves are the paths that lie above no other one.
func leaves(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(paths, func(o string) bool { return p == "." && o != "." || strings.HasPrefix(o, p+"/") })
	})
}

// matching are the tasks with a glob that one of the paths matches; all of them for no path.
func matching(members []*run.Task, paths ...string) (out []string) {
	for _, t := range members {
		if len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return spec.MatchAny(t.Task.Files, p) }) {
			out = append(out, t.Task.ID)
		}
	}
	return out
}
