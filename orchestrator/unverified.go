package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/gate"
)

// ErrUnverified says that nothing which lands in a run could be proven, and that the run is not allowed to go on without.
var ErrUnverified = errors.New("what lands cannot be verified")

// Incomparable is a gate whose failures on the base commit cannot be compared with later ones.
type Incomparable struct {
	Gate    string
	Command []string
	// Why says in words why it cannot, Error is its first error line, and Output the file with its whole output.
	Why, Error, Output string
}

// String says it in one line.
func (g *Incomparable) String() string {
	return fmt.Sprintf("gate %s cannot be compared: on the base commit %s: %s", g.Gate, g.Why, withOutput(g.Error, g.Output))
}

// Incomparable lists the gates that prove nothing, in the project's order; none before the baseline is known.
func (s *State) Incomparable() []Incomparable {
	var out []Incomparable
	for _, g := range s.Spec.Project.Gates {
		r, ok := s.Baseline[g.Name]
		if why := gate.Incomparable(r); ok && why != "" {
			out = append(out, Incomparable{
				Gate: g.Name, Command: g.Command, Why: why, Error: gate.Reason(r, nil), Output: s.outputFile(r.Output),
			})
		}
	}
	return out
}

// Unverified returns why nothing that lands in the run is proven, in one line; "" when it is, and before the baseline is known.
func (s *State) Unverified() string {
	if len(s.Spec.Project.Gates) == 0 {
		return "the repository has no gates"
	}
	var names []string
	for _, g := range s.Incomparable() {
		names = append(names, g.Gate)
	}
	if len(names) == 0 {
		return ""
	}
	return "no comparison with the base commit for: " + strings.Join(names, ", ")
}

// Unproven reports whether the run must not go on: what lands would not be proven, and nobody allowed that.
func (s *State) Unproven() bool { return !s.Spec.AllowUnverified && s.Unverified() != "" }

// endPreflight keeps the baseline. The run goes on from there unless nothing that it lands could be proven.
func (c *Conductor) endPreflight(ctx context.Context, baseline []spec.Receipt) (bool, error) {
	with := *c.st
	with.Baseline = map[string]spec.Receipt{}
	for _, r := range baseline {
		with.Baseline[r.Gate] = r
	}
	d := RunData{Baseline: baseline, Unverified: with.Unverified()}
	for _, g := range with.Incomparable() {
		d.Notices = append(d.Notices, g.String())
	}
	if !with.Unproven() {
		d.State = c.afterPreflight()
	}
	if err := c.append(ctx, contextscope.KindRun, "", d); err != nil || d.State != "" {
		return true, err
	}
	return false, fmt.Errorf("%w: %s", ErrUnverified, d.Unverified)
}

// testedAs is the state of a task whose gates have passed, as the log is told.
func (s *State) testedAs() TaskState {
	if s.Unverified() != "" {
		return TaskUnverified
	}
	return TaskProven
}

// outputFile is the file with the whole output of an object's name; "" where the run keeps none.
func (s *State) outputFile(object string) string { return gate.OutputFile(s.Spec.Outputs, object) }

// reason is a fault in one line, with the file that shows the whole of it.
func (s *State) reason(f spec.Fault) string { return withOutput(f.Message, s.outputFile(f.Output)) }

func withOutput(text, file string) string {
	if file == "" {
		return text
	}
	return text + " (whole output: " + file + ")"
}
