package acceptance

// kinds asks about files that have become something else beside their content: tools that write a file anew and move it into
// place do that in silence, and no gate need notice.
func kinds(p *Patch) (found []Finding) {
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Became != "" {
			found = append(found, at(c.Path, 0, "%s", c.Became))
		}
	}
	return found
}
