package evidence

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
)

// Filter notes by which filters git would store the files of a patch. One that has moved, from where the same filter stored it,
// needs none.
func Filter(ctx context.Context, mirror *git.Repo, p *spec.Patch, changes []acceptance.Change) error {
	if c, err := mirror.Conversion(ctx, p.Commit); err != nil || !c.Filters {
		return err
	}
	changed, err := mirror.Changed(ctx, p.Base, p.Commit)
	if err != nil {
		return fmt.Errorf("list the changes of %s: %w", p.Commit, err)
	}
	var added, gone []string
	as := map[string]string{} // what was stored at a path, and is
	for _, c := range changed {
		switch {
		case c.NewMode == git.ModeNone:
			gone = append(gone, c.Path)
			as[c.Path] = c.OldOID
		case (c.NewMode == git.ModeFile || c.NewMode == git.ModeExec) && c.NewOID != c.OldOID:
			added = append(added, c.Path)
			as[c.Path] = c.NewOID
		}
	}
	filters, err := mirror.Filters(ctx, p.Commit, added)
	if err != nil || len(filters) == 0 {
		return err
	}
	were, err := mirror.Filters(ctx, p.Base, gone)
	if err != nil {
		return err
	}
	moved := map[[2]string]bool{}
	for _, name := range gone {
		moved[[2]string{as[name], were[name]}] = true
	}
	for i := range changes {
		name := changes[i].Path
		if by := filters[name]; !moved[[2]string{as[name], by}] {
			changes[i].Filter = by
		}
	}
	return nil
}
