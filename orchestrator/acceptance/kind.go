package acceptance

// kinds asks about files that have become something else beside their content: tools that write a file again and move it into
// place do that in silence, and no gate need notice. It asks about removals from ignored places too: git leaves a new name there
// out, so that what was a move looks like a removal. A task that names the file and a removal means it.
func kinds(p *Patch) (found []Finding) {
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Became != "" {
			found = append(found, Finding{Path: c.Path, Kind: c.Became, Text: c.Became})
		}
	}
	for _, name := range p.Lost {
		if !p.outright(name) || !removal.MatchString(p.Task.Brief) {
			found = append(found, at(name, 0, "the file is removed from a place that a list of ignored files names: git leaves "+
				"a new name there out"))
		}
	}
	return found
}
