package detect

import (
	"fmt"

	"divisi/internal/text"
)

// language finds the projects of one kind. Their gates need a program; "" for none that is the same for all.
type language struct {
	program string
	find    func()
}

// each finds the projects of all languages. In a proposal that is tried as a whole, those whose program this machine lacks are in
// a note alone, where others are left: one setup and one gate that cannot run would keep the others from being tried.
func (d *detector) each(languages []language) {
	var lacking []language
	for _, l := range languages {
		before, steps := d.Proposal, d.steps
		l.find()
		if n := len(before.Gates); d.Whole && d.Has != nil && l.program != "" && len(d.Gates) > n && !d.Has(l.program) {
			var names []string
			for _, g := range d.Gates[n:] {
				names = append(names, g.Name)
				delete(d.taken, g.Name)
			}
			before.Notes = append(before.Notes, fmt.Sprintf("%s is not installed, so its gates are left out: %s", l.program,
				text.Some(names, maxWhy)))
			d.Proposal, d.steps, lacking = before, steps, append(lacking, l)
		}
	}
	if len(d.Gates) == 0 {
		for _, l := range lacking {
			l.find()
		}
	}
}
