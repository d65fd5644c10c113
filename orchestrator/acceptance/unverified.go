package acceptance

import (
	"errors"
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/gate"
)

// ErrUnverified reports that nothing which lands in a run could be proven, and that the run may not continue without proof.
var ErrUnverified = errors.New("what lands cannot be verified")

// Incomparable is a gate whose failures on the base commit cannot be compared with later ones.
type Incomparable struct {
	Gate    string
	Command []string
	// Why is the reason, Error is its first error line, and Output the file with its whole output.
	Why, Error, Output string
}

// String is the report of it in one line.
func (g *Incomparable) String() string {
	return fmt.Sprintf("gate %s cannot be compared: on the base commit %s: %s", g.Gate, g.Why,
		schedule.WithOutput(g.Error, g.Output))
}

// Incomparables lists the gates that prove nothing, in the project's order; none before the baseline is known.
func Incomparables(s *run.State) []Incomparable {
	var out []Incomparable
	for _, g := range s.Spec.Project.Gates {
		r, ok := s.Baseline[g.Name]
		if why := gate.Incomparable(r); ok && why != "" {
			out = append(out, Incomparable{
				Gate: g.Name, Command: g.Command, Why: why, Error: gate.Reason(r, nil), Output: schedule.OutputFile(s, r.Output),
			})
		}
	}
	return out
}

// Unverified returns why nothing that lands in the run is proven, in one line; "" when it is, and before the baseline is known.
func Unverified(s *run.State) string {
	if len(s.Spec.Project.Gates) == 0 {
		return "the repository has no gates"
	}
	var names []string
	for _, g := range Incomparables(s) {
		names = append(names, g.Gate)
	}
	if len(names) == 0 {
		return ""
	}
	return "no comparison with the base commit for: " + strings.Join(names, ", ")
}

// Unproven reports whether the run must not continue: its patches would land unproven, and that is not allowed.
func Unproven(s *run.State) bool { return !s.Spec.AllowUnverified && Unverified(s) != "" }

// Red is the fault of a patch whose tree has failed these gates.
func Red(s *run.State, failed []run.Failure) spec.Fault {
	receipts := make([]spec.Receipt, 0, len(failed))
	for _, f := range failed {
		receipts = append(receipts, f.Receipt)
	}
	fault := failed[0].Fault
	fault.Signatures = gate.Signatures(receipts, s.Baseline)
	return fault
}
