// Package acceptance checks a result before it enters the landing queue. Its input is the state of the run, and the changed
// test files of a patch before and after; its output is what follows: a judge, a place in the queue, another attempt, or a task
// parked for a person because the patch weakens tests, which no gate can see. It reads no repository and proves nothing: gates
// do.
package acceptance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// ClassTests is the class of a patch that weakens tests.
const ClassTests = "tests"

// maxEvidence bounds the findings of one kind.
const maxEvidence = 10

// Change is one file that a patch changes.
type Change struct {
	Path string
	// Before and After are the contents; nil where there is no such file.
	Before, After []byte
	// Unread is why the contents are missing; "" where they are present.
	Unread string
}

// What is counted of tests: empty are tests without an assertion, off is a file that builds leave out, or whose tests never run.
const (
	tests = iota
	assertions
	skips
	empty
	off
	kinds
)

// counts are what one file, or all files of a language, have of each kind.
type counts [kinds]int

var findings = [kinds]string{
	"fewer tests", "fewer assertions", "more skips", "more tests that assert nothing", "more files whose tests never run",
}

func (c *counts) add(o counts) {
	for kind, n := range o {
		c[kind] += n
	}
}

// pair is a changed file with its counts.
type pair struct {
	path          string
	before, after counts
}

func (p pair) worse(kind int) bool {
	more := p.after[kind] - p.before[kind]
	switch kind {
	case tests, assertions:
		return more < 0
	case empty: // a new test may only run something
		return more > max(0, p.after[tests]-p.before[tests])
	}
	return more > 0
}

// Judge returns what a patch takes away from tests, one sentence each, with the file and numbers; none where it passes. The patch
// counts as a whole, for each language: tests may move between files.
func Judge(changes []Change) (evidence []string) {
	files := make([][]pair, len(languages))
	for _, c := range changes {
		switch i := languageOf(c.Path); {
		case i < 0, c.Before != nil && c.After != nil && bytes.Equal(c.Before, c.After):
		case c.Unread != "":
			evidence = append(evidence, fmt.Sprintf("%s: its tests were not compared: %s", c.Path, c.Unread))
		default:
			files[i] = append(files[i], languages[i].compare(c))
		}
	}
	for _, own := range files {
		evidence = append(evidence, evidenceOf(own)...)
	}
	return evidence
}

// evidenceOf returns for the files of one language what is worse in them and in all of them together.
func evidenceOf(files []pair) (out []string) {
	var all pair
	for _, f := range files {
		all.before.add(f.before)
		all.after.add(f.after)
	}
	for kind, finding := range findings {
		worse := slices.DeleteFunc(slices.Clone(files), func(f pair) bool { return !all.worse(kind) || !f.worse(kind) })
		for _, f := range worse[:min(len(worse), maxEvidence)] {
			out = append(out, fmt.Sprintf("%s: %s, %d before and %d after", f.path, finding, f.before[kind], f.after[kind]))
		}
		if more := len(worse) - maxEvidence; more > 0 {
			out = append(out, fmt.Sprintf("%s in %d more files", finding, more))
		}
	}
	return out
}

// Weakened returns the fault of a patch that weakens tests; nil where it does not.
func Weakened(changes []Change) *spec.Fault {
	evidence := Judge(changes)
	if len(evidence) == 0 {
		return nil
	}
	text := "the patch weakens tests, so a person has to judge it: " +
		strings.Join(evidence[:min(len(evidence), maxWeakens)], "; ")
	if n := len(evidence) - maxWeakens; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return &spec.Fault{Class: ClassTests, Message: text, Detail: strings.Join(evidence, "\n")}
}

// maxWeakens bounds the findings that a message lists.
const maxWeakens = 4
