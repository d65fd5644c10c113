// Package acceptance checks a result before it enters the landing queue. Its input is the state of the run, and the files that a
// patch changes, before and after; its output is a verdict with its evidence, and what follows: a judge, a place in the queue,
// another attempt, or a question, because the patch does what no gate can see. It reads no repository, runs nothing and proves
// nothing: gates do.
package acceptance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/run"
)

// Decision is the verdict of a check about a patch.
type Decision string

// The decisions, the best first.
const (
	Pass   Decision = "pass"
	Ask    Decision = "ask"
	Refuse Decision = "refuse"
	// Again is that of a patch that was rejected before. No check decides it.
	Again Decision = "again"
)

// check is one acceptance check: a pure function of a patch. Its name is the class of its faults.
type check struct {
	name string
	find func(*Patch) []Finding
}

// checks are all checks. The write set and protected paths are checked before them, when the patch is imported, and refuse. A
// task cannot switch one off.
var checks = []check{
	// Refuses: what cannot be right.
	{"markers", conflicts.find},
	{"placeholder", placeholders.find},
	{"secrets", credentials.find},
	{"lfs", pointers},
	// Asks: what proves the patch, and what the author knows.
	{"constraints", constraints},
	{"tests", func(p *Patch) []Finding { return slices.Concat(p.weaker, ends.find(p)) }},
	{"expectations", func(p *Patch) []Finding { return p.edited }},
	{"gates", gates},
	{"runner", runner},
	{"generated", generated},
	{"locks", locks},
	{"silenced", silenced},
	{"kind", kinds},
	// Asks: what is more than the task is about.
	{"names", func(p *Patch) []Finding {
		return slices.DeleteFunc(p.Names, func(f Finding) bool { return p.outright(f.Path) })
	}},
	{bySize, size},
	{"files", files},
}

// Patch describes a patch for the checks.
type Patch struct {
	Task *spec.Task
	// Role is the author's role with the executor that made the patch.
	Role    spec.Role
	Handoff spec.Handoff
	// Named are the entries of the task's files that a person or the master wrote, none that a rule found or an agent asked for.
	Named []string
	// Record is the decision record of the task's plan.
	Record string
	// Gates are those of the project, Beside its other commands: setup and services. Roots are the files of the base commit that
	// gates begin with.
	Gates  []spec.Gate
	Beside []Command
	Roots  []Root
	// MaySilence is how many times the patch may silence a checker without a question.
	MaySilence int
	// Locks are the lock files of the base commit beside and above the manifests that it changes.
	Locks []string
	// Siblings are patches of other shards of the same template.
	Siblings []Sibling
	Changes  []Change
	// Lost are files that it removes from ignored places, and that have no other name in it.
	Lost []string
	// Names lists problems of its new names on other systems.
	Names []Finding

	// files are the changes with what differs in them. Names with words of gone became names with words of come.
	files      []*file
	gone, come map[string]bool
	// weaker lists the weakened tests of a patch: it counts as a whole, for each language, for tests may move between files.
	// edited are the values that it changes in assertions, where no rename and no word of the brief explains them.
	weaker, edited []Finding
	// differ are the files with tests whose text differs.
	differ map[string]bool
	// silences is how many times more it silences a checker.
	silences int
	// pairs is how many more pairs of values the checks compare.
	pairs int
}

// Command is a command of the project, with the words for whose it is.
type Command struct {
	Of   string
	Args []string
}

// Sibling is the patch of another shard: the lines that it changes, and what the shard held.
type Sibling struct {
	Lines   int   `json:"lines"`
	Matches int   `json:"matches,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
}

// Change is one file that a patch changes.
type Change struct {
	Path string
	// Before and After are the contents; nil where there is no such file.
	Before, After []byte
	// Filter is the filter by which git stores what is there after the patch, and that does not run here; "" for none, and where
	// the content is what the filter has stored elsewhere.
	Filter string
	// Became describes other changes of it, in words; "" for nothing.
	Became string
	// Unread is why the contents are missing; "" where they are present.
	Unread string
}

// Finding is the evidence for a decision. Path and Text can quote a repository: String makes them safe to show.
type Finding struct {
	Check    string
	Decision Decision
	// Kind is what it has in common with findings of the check about other patches.
	Kind string
	// Path is "" where the patch as a whole is meant, Line 0 where the file is.
	Path string
	Line int
	Text string
	// Open reports that an experiment with the tests can tell whether it is so.
	Open bool
}

// String is the finding in one line.
func (f Finding) String() string {
	place := f.Path
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	if place != "" {
		place += ": "
	}
	return text.Clip(text.OneLine(place+f.Text), text.MaxLine)
}

// at is a finding at a place of the patch. Its kind is the form of the sentence.
func at(path string, line int, format string, args ...any) Finding {
	return Finding{Path: path, Line: line, Kind: format, Text: fmt.Sprintf(format, args...)}
}

// Verdict is the worst decision about a patch, and all findings, the worst first.
type Verdict struct {
	Decision Decision
	Findings []Finding
	// Tests are the files with tests that differ in more than names, where an experiment can compare them.
	Tests []string
	// Form is how the patch changes tests, without names and values that stay.
	Form string
	// Silences is how many times more the patch silences a checker.
	Silences int
	// Again is how the patch failed before, with the decision Again.
	Again *run.AttemptFault
}

// maxFindings bounds the findings of one check.
const maxFindings = 25

// Check runs all checks.
func Check(p *Patch) Verdict {
	p.prepare()
	p.compare()
	var all []Finding
	for _, c := range checks {
		found := c.find(p)
		if more := len(found) - maxFindings; more > 0 {
			found = append(found[:maxFindings], at("", 0, "%d more findings of this kind", more))
		}
		for _, f := range found {
			f.Check, f.Decision = c.name, cmp.Or(f.Decision, Ask)
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return Verdict{Decision: Pass, Tests: p.suspects(), Form: p.form(), Silences: p.silences}
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return strings.Compare(string(b.Decision), string(a.Decision)) })
	return Verdict{Decision: all[0].Decision, Findings: all, Tests: p.suspects(), Form: p.form(), Silences: p.silences}
}

// bySize is the check of measures of size. None of them rejects a patch by itself.
const bySize = "size"

// size reports whether all findings are measures of size.
func (v Verdict) size() bool {
	return !slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Check != bySize })
}

// skips is the finding that more tests are skipped; "" for none.
func (v Verdict) skips() string {
	for _, f := range v.Findings {
		if f.Kind == kindNames[testsource.Skips] {
			return f.String()
		}
	}
	return ""
}

// kinds are the kinds of the findings.
func (v Verdict) kinds() (kinds []string) {
	for _, f := range v.Findings {
		kinds = append(kinds, strings.Trim(f.Check+": "+f.Kind, ": "))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Evidence returns the findings as lines.
func (v Verdict) Evidence() []string {
	lines := make([]string, 0, len(v.Findings))
	for _, f := range v.Findings {
		lines = append(lines, f.String())
	}
	return lines
}

// maxNamed bounds the findings that a message lists.
const maxNamed = 4

// Fault is the verdict as the fault of an attempt. Its class is the check of the worst finding, its detail the evidence, a line
// each.
func (v Verdict) Fault() spec.Fault {
	what := "the patch is questionable: "
	if v.Decision == Refuse {
		what = "the patch was refused: "
	}
	f := spec.Fault{Class: v.Findings[0].Check}
	for _, found := range v.Findings {
		if found.Decision == Refuse {
			found.Line = 0 // an edit elsewhere moves lines
			f.Signatures = append(f.Signatures, found.Check+": "+found.String())
		}
	}
	slices.Sort(f.Signatures)
	f.Signatures = slices.Compact(f.Signatures)
	lines := v.Evidence()
	f.Message, f.Detail = what+strings.Join(text.Few(lines, maxNamed), "; "), strings.Join(lines, "\n")
	return f
}
