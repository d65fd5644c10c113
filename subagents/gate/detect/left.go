package detect

import (
	"fmt"
	"slices"

	"divisi/internal/text"
)

// left is a project below the top that no gate tests, and why.
type left struct{ kind, dir, why string }

// Why a project has no gate.
const (
	needsMore = "they may need more than a clean checkout; write their gates to .divisi/divisi.yaml"
	noTests   = "no tests were found"
	tooMany   = "there are too many"
)

// lacks is why a project of a kind has no gate on a machine without a program.
func lacks(program string) string { return "this machine has no " + program }

// leave notes that a project has no gate.
func (d *detector) leave(kind, dir, why string) { d.left = append(d.left, left{kind, dir, why}) }

// ready reports whether a project below the top is to have a gate; else it is noted. Without a setup it has one only where it can
// run on a clean checkout: a gate that fails there would stop a run. program is what the machine needs for it, "" for nothing
// but what every machine has.
func (d *detector) ready(kind, dir, program string, clean bool) bool {
	switch {
	case program != "" && d.Has != nil && !d.Has(program):
		d.leave(kind, dir, lacks(program))
	case !clean && !d.Whole:
		d.leave(kind, dir, needsMore)
	default:
		return true
	}
	return false
}

// most returns the first of some projects, and notes the others.
func (d *detector) most(kind string, dirs []string) []string {
	n := min(len(dirs), maxProjects)
	for _, dir := range dirs[n:] {
		d.leave(kind, dir, tooMany)
	}
	return dirs[:n]
}

// note turns what has no gate into notes, one for each kind and reason.
func (d *detector) note() {
	for len(d.left) > 0 {
		first := d.left[0]
		var dirs []string
		d.left = slices.DeleteFunc(d.left, func(l left) bool {
			same := l.kind == first.kind && l.why == first.why
			if same {
				dirs = append(dirs, l.dir)
			}
			return same
		})
		d.Notes = append(d.Notes, fmt.Sprintf("no gate tests %s (%s): %s", first.kind, text.Some(dirs, maxWhy), first.why))
	}
}
