package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// change is one step of a change to several files: the file at from goes, and data stands at to. Either may be empty; where
// they are the same the file is replaced.
type change struct {
	from, to string
	data     []byte
	mode     fs.FileMode
	// did says what it does, for the model.
	did string
}

// changing is a change to several files that can still be taken back.
type changing struct {
	tree *tree
	// undo are the steps that take back what was done, in the order in which it was done; tidy are the files to remove in
	// the end.
	undo []func() error
	tidy []string
}

// change carries out all changes, or none: where one fails, those before it are taken back.
func (t *tree) change(changes []change) error {
	c := &changing{tree: t}
	temps := make([]string, len(changes))
	var err error
	for i := range changes {
		if temps[i], err = c.stage(&changes[i]); err != nil {
			break
		}
	}
	for i := 0; err == nil && i < len(changes); i++ {
		err = c.carryOut(&changes[i], temps[i])
	}
	if err != nil {
		for _, undo := range slices.Backward(c.undo) {
			err = errors.Join(err, undo())
		}
		return fmt.Errorf("nothing was changed: %w", err)
	}
	for _, name := range c.tidy {
		err = errors.Join(err, t.root.Remove(name))
	}
	if err != nil {
		return fmt.Errorf("everything was changed, but old files stay behind, which you have to remove: %w", err)
	}
	return nil
}

// stage writes what is to stand in a place into a file beside it.
func (c *changing) stage(change *change) (temp string, err error) {
	if change.to == "" {
		return "", nil
	}
	if err := c.makeDirs(path.Dir(change.to)); err != nil {
		return "", explain(change.to, err)
	}
	if temp, err = c.tree.stage(change.to, change.data, change.mode); err != nil {
		return "", err
	}
	c.undo = append(c.undo, func() error {
		if err := c.tree.root.Remove(temp); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return temp, nil
}

// makeDirs makes a directory and those above it, one by one, so that each can be taken back.
func (c *changing) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := c.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	err := c.tree.root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		c.undo = append(c.undo, func() error { return c.tree.root.Remove(dir) })
	}
	return err
}

// carryOut puts the old file aside and the new one in its place.
func (c *changing) carryOut(change *change, temp string) error {
	root := c.tree.root
	if change.from != "" {
		aside := tempName(change.from)
		if err := root.Rename(change.from, aside); err != nil {
			return explain(change.from, err)
		}
		c.undo = append(c.undo, func() error { return root.Rename(aside, change.from) })
		c.tidy = append(c.tidy, aside)
	}
	if change.to == "" {
		return nil
	}
	if err := root.Rename(temp, change.to); err != nil {
		return explain(change.to, err)
	}
	c.undo = append(c.undo, func() error { return root.Remove(change.to) })
	return nil
}

// tempName is a name beside a file that nothing else has.
func tempName(target string) string {
	return path.Join(path.Dir(target), ".divisi-"+rand.Text()+".tmp")
}
