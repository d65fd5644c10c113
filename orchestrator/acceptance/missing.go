package acceptance

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/subagents/gate/testnames"
)

// MissingIn is the evidence that tests do not run in a gate; skipped are those of them that are skipped.
func MissingIn(gate string, tests, skipped testnames.List) (evidence, kinds []string) {
	if skips := tests.In(skipped); len(skips) > 0 {
		evidence = append(evidence, withNames(fmt.Sprintf("gate %s skips %s that passed on the base commit",
			gate, text.Count(len(skips), "test")), skips))
		kinds = append(kinds, gate+": skipped")
	}
	if gone := tests.Without(skipped); len(gone) > 0 {
		evidence = append(evidence, withNames(fmt.Sprintf(
			"gate %s passes without %s of the base commit, which no change removes or renames",
			gate, text.Count(len(gone), "test")), gone))
		kinds = append(kinds, gate+": missing")
	}
	return evidence, kinds
}

// withNames adds the first names to a sentence.
func withNames(sentence string, tests testnames.List) string {
	names := make([]string, 0, maxNamed+1)
	for _, t := range tests[:min(len(tests), maxNamed+1)] {
		names = append(names, text.Quote(t.String()))
	}
	if more := len(tests) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return text.Clip(text.OneLine(sentence+": "+strings.Join(names, ", ")), 2*text.MaxLine)
}

// Lost are tests of the base commit that did not pass in a gate.
type Lost struct {
	// Skipped are those of Tests that are skipped: that these have another name, or none, explains nothing.
	Tests, Skipped testnames.List
	// Gone are those without parameters that passed with none; Fresh are the tests that passed and are not of the base commit.
	Gone, Fresh testnames.List
}

// LostTests compares what is missing in a gate with what passed there, and before.
func LostTests(missing, skipped, ran, before testnames.List) Lost {
	return Lost{missing, skipped, missing.Parents().Without(ran.Parents()), ran.Without(before)}
}

// Explainer finds which of some tests the changes of patches explain, and which patch to ask about each of the others.
type Explainer struct {
	left map[string]Lost
	// tasks have what each patch changes: its paths, and of these the ones that can decide which tests run.
	tasks map[string]*explained
}

type explained struct{ paths, decisive []string }

// NewExplainer begins with the tests that are missing, by gate.
func NewExplainer(missing map[string]Lost) *Explainer {
	return &Explainer{left: maps.Clone(missing), tasks: map[string]*explained{}}
}

var (
	// configuring are files that can decide which tests a runner finds and runs, stopping what skips tests, ends their program or
	// has it run others.
	configuring = re(`(?:^|/)(?:go\.(?:mod|work)|package\.json|\.npmrc|\.mocharc\.\w+|(?:jest|vitest|vite)\.config\.\w+|` +
		`pyproject\.toml|setup\.cfg|tox\.ini|\.?pytest\.ini|(?:conftest|sitecustomize|usercustomize|unittest|pytest|` +
		`__init__)\.py|Cargo\.toml|build\.rs|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|` +
		`(?:GNU)?[Mm]akefile)$|` +
		`(?:^|/)\.(?:cargo|mvn)/`)
	stopping = re(`(?i)\bexit\w*\s*\(|\bload_tests\b|//go:build|\+build\b|testing\.Testing\(|-test\.|os\.Args\b|\bGoexit\(|skip`)
)

// Read takes what one patch changes.
func (e *Explainer) Read(of proof.Span, changes []Change) {
	s := newSources(changes)
	for gate, lost := range e.left {
		came := s.brings(lost.Fresh)
		lost.Tests = slices.DeleteFunc(slices.Clone(lost.Tests), func(t testnames.Test) bool {
			one := testnames.List{t}
			explains := len(one.In(lost.Skipped)) == 0 && s.explains(t, len(one.Parents().In(lost.Gone)) > 0, came)
			return explains || of.Accepted && s.changes(t.Group, t.Parent())
		})
		e.left[gate] = lost
	}
	t := e.tasks[of.Task]
	if t == nil {
		t = &explained{}
		e.tasks[of.Task] = t
	}
	for _, f := range s.files {
		if t.paths = append(t.paths, f.Path); configuring.MatchString(f.Path) || stopping.MatchString(f.gained) {
			t.decisive = append(t.decisive, f.Path)
		}
	}
}

// Asked returns, by task and gate, the tests that no patch explains. Asked is the patch whose changes are the likeliest cause: it
// decides which tests run, or changes what the tests are near; all of them where none does.
func (e *Explainer) Asked() map[string]map[string]testnames.List {
	out := map[string]map[string]testnames.List{}
	for gate, lost := range e.left {
		of := map[string][]string{}
		for _, t := range lost.Tests {
			if of[t.Group] == nil {
				of[t.Group] = e.likeliest(t.Group)
			}
			for _, task := range of[t.Group] {
				if out[task] == nil {
					out[task] = map[string]testnames.List{}
				}
				out[task][gate] = append(out[task][gate], t)
			}
		}
	}
	return out
}

func (e *Explainer) likeliest(group string) (tasks []string) {
	most := 0
	for _, id := range slices.Sorted(maps.Keys(e.tasks)) {
		t, score := e.tasks[id], 0
		here := func(p string) bool { return near(group, p) }
		switch {
		case slices.ContainsFunc(t.decisive, here):
			score = 3
		case len(t.decisive) > 0:
			score = 2
		case slices.ContainsFunc(t.paths, here):
			score = 1
		}
		if score > most {
			tasks, most = nil, score
		}
		if score == most {
			tasks = append(tasks, id)
		}
	}
	return tasks
}

// near reports whether a file is in the package, or is the file or the module, that a group of tests names. Which name the
// package in the top directory has is not known: code there is near all.
func near(group, file string) bool {
	dir, stem := path.Dir(file), strings.TrimSuffix(file, path.Ext(file))
	if dir == "." && !prose.MatchString(file) || group == file || strings.HasSuffix("/"+group, "/"+dir) {
		return true
	}
	return strings.Contains("/"+strings.ReplaceAll(group, ".", "/")+"/", "/"+stem+"/")
}
