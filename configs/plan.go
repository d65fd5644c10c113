package configs

import (
	"strings"

	"divisi/internal/spec"
)

// Positions knows where in a plan file each value stands, so that what is found wrong later still has a place.
type Positions struct{ document *document }

// Error returns the problems as a *FileError with line, column and source line, or nil when there are none. It can be
// called again with other problems.
func (p *Positions) Error(problems []spec.Problem) error {
	d := *p.document
	d.faults = append([]Fault(nil), p.document.faults...)
	d.problems(problems)
	return d.err()
}

// ParsePlan reads a plan from text. The file is only named, for messages. Its fields and their types are checked, not what they
// mean. The error is a *FileError with every fault; the positions are valid also then.
func ParsePlan(file, text string) (spec.Plan, *Positions, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	d := newDocument(file, text)
	var plan spec.Plan
	d.read(text, planSchema(), &plan)
	return plan, &Positions{d}, d.err()
}
