package acceptance

import (
	"bytes"

	"divisi/internal/spec"
)

// pointers refuses another content for a file that Git LFS keeps: what belongs in the repository is a pointer to an object that
// only git-lfs can store. Such a file may be removed or moved.
func pointers(p *Patch) (found []Finding) {
	for i := range p.Changes {
		c := &p.Changes[i]
		_, kept := spec.ParsePointer(c.Before)
		if removed := c.After == nil && c.Unread == ""; kept && !removed && !bytes.Equal(c.Before, c.After) {
			f := at(c.Path, 0, "Git LFS keeps its content, and a run cannot store another one there: leave the file as it is, "+
				"and change it in your checkout with git-lfs")
			f.Decision = Refuse
			found = append(found, f)
		}
	}
	return found
}
