package acceptance

import (
	"bytes"
	"strings"

	"divisi/internal/spec"
)

// pointers refuses another content for a file that Git LFS keeps: what belongs in the repository is a pointer to an object that
// only git-lfs can store. Such a file may be removed or moved. It refuses what a filter would encrypt too, which does not run.
func pointers(p *Patch) (found []Finding) {
	for i := range p.Changes {
		c := &p.Changes[i]
		_, kept := spec.ParsePointer(c.Before)
		if removed := c.After == nil && c.Unread == ""; removed || bytes.Equal(c.Before, c.After) && c.Unread == "" {
			continue
		}
		text := ""
		switch {
		case kept:
			text = "Git LFS keeps its content, and a run cannot store another one there: leave the file as it is, and change " +
				"it in your checkout with git-lfs"
		case stored(c):
		case c.Filter == lfs:
			text = ".gitattributes give it to Git LFS, and a run can store no content there: add it in your checkout with git-lfs"
		case strings.Contains(c.Filter, "crypt"):
			text = ".gitattributes give it to the filter " + c.Filter + ", which does not run here: it would be stored " +
				"as it is, unencrypted. Add it in your checkout"
		}
		if text != "" {
			f := at(c.Path, 0, "%s", text)
			f.Decision = Refuse
			found = append(found, f)
		}
	}
	return found
}

const lfs = "lfs"

// encrypted begins what git-crypt stores.
const encrypted = "\x00GITCRYPT\x00"

// stored reports whether a content is what its filter stores. Both filters leave an empty file as it is.
func stored(c *Change) bool {
	_, pointer := spec.ParsePointer(c.After)
	return c.Unread == "" && len(c.After) == 0 || pointer && c.Filter == lfs ||
		bytes.HasPrefix(c.After, []byte(encrypted)) && strings.HasPrefix(c.Filter, "git-crypt")
}
