package twin

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// Outcome is what a gate, or the setup, did on one side: in the sandbox, or in the user's shell.
type Outcome struct {
	Gate     string
	Exit     int
	TimedOut bool
	// Findings are the signatures of a red gate, sorted.
	Findings       []string
	Tests, Skipped int
	// Skips are the first skipped tests with their reasons.
	Skips  []string
	Output string
	// Wrote are the tracked files that it changed; at most the first of them.
	Wrote []string
	// Ran are, in the sandbox, the programs that ran it.
	Ran []spec.Program
	// Programs has, in the sandbox, a line for each program that is another one there.
	Programs []string
	// Variables are, in the user's shell, those that the sandbox does not pass on or sets otherwise; in the sandbox, those that
	// it adds.
	Variables []string
	// Alike are variables: with the sandbox's values of them the gate does in the user's shell what it does in the sandbox.
	Alike []string
}

// Of returns the outcome that a receipt records. output is the whole output, where it is known.
func Of(r *spec.Receipt, output string) Outcome {
	if output == "" {
		output = r.Tail
	}
	return Outcome{
		Gate: r.Gate, Exit: r.ExitCode, TimedOut: r.TimedOut, Findings: r.Signatures, Tests: r.Tests, Skipped: r.Skipped,
		Skips: r.Skips, Output: output, Wrote: r.Wrote, Ran: r.Programs,
	}
}

func (o *Outcome) red() bool { return o.Exit != 0 || o.TimedOut || len(o.Findings) > 0 }

// verdict words how it ended.
func (o *Outcome) verdict() string {
	switch {
	case !o.red():
		return "green"
	case o.TimedOut:
		return "timed out"
	case o.Exit == 0:
		return "red (" + text.Count(len(o.Findings), "finding") + ")"
	}
	return fmt.Sprintf("red (exit code %d)", o.Exit)
}

// maxNamed is how many findings or files a line names.
const maxNamed = 3

// differ words in what two outcomes of a gate differ; "" for nothing.
func differ(confined, own *Outcome) string {
	var parts []string
	if a, b := confined.verdict(), own.verdict(); a != b {
		parts = append(parts, a+" in the sandbox, "+b+" in your shell")
	}
	if confined.red() && own.red() {
		for _, side := range []struct {
			name       string
			has, other []string
		}{{"the sandbox", confined.Findings, own.Findings}, {"your shell", own.Findings, confined.Findings}} {
			if alone := without(side.has, side.other); len(alone) > 0 {
				parts = append(parts, "found in "+side.name+" alone: "+text.Some(alone, maxNamed))
			}
		}
	}
	if confined.Tests != own.Tests {
		parts = append(parts, fmt.Sprintf("%s in the sandbox, %d in your shell", text.Count(confined.Tests, "test"), own.Tests))
	}
	if confined.Skipped != own.Skipped {
		parts = append(parts, fmt.Sprintf("%d skipped in the sandbox, %d in your shell", confined.Skipped, own.Skipped))
	}
	return strings.Join(parts, "; ")
}

// wrote words the tracked files that it changes on one side alone.
func wrote(confined, own *Outcome) string {
	var parts []string
	if alone := without(own.Wrote, confined.Wrote); len(alone) > 0 {
		parts = append(parts, "changes in your shell alone: "+text.Some(alone, maxNamed))
	}
	if alone := without(confined.Wrote, own.Wrote); len(alone) > 0 {
		parts = append(parts, "changes in the sandbox alone: "+text.Some(alone, maxNamed))
	}
	return strings.Join(parts, "; ")
}

// without are the entries of a list that another one lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// worse reports whether the sandbox's outcome is the one with more to explain.
func worse(confined, own *Outcome) bool {
	switch {
	case confined.red() != own.red():
		return confined.red()
	case len(confined.Findings) != len(own.Findings):
		return len(confined.Findings) > len(own.Findings)
	case confined.Skipped != own.Skipped:
		return confined.Skipped > own.Skipped
	}
	return confined.Tests <= own.Tests
}

// digitless is a line without what differs from run to run.
func digitless(line string) string {
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r >= '0' && r <= '9' || r == ' ' || r == '\t' }), "")
}

// frame is a line of a stack trace, which names places of tools, or of Go's stream of events that tells of no failure.
var frame = lazyregexp.New(`^\s*(?:File "|at \S.*[(:/]|from /|goroutine \d)|` +
	`^\{"Time":.*"Action":"(?:[^o]|output".*"Output":"(?:===|\s*--- PASS|ok ))`)

// fresh are the lines of an outcome that the other one does not have, those of skipped tests first.
func fresh(o, other *Outcome) (lines []string) {
	known := map[string]bool{"": true}
	for _, line := range append(text.Lines(other.Output), other.Skips...) {
		known[digitless(line)] = true
	}
	for _, line := range append(slices.Clone(o.Skips), text.Lines(o.Output)...) {
		if !known[digitless(line)] && !frame.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}
