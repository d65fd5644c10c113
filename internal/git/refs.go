package git

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Refs are the names that the git directory of a tree has beside its commit, as a checkout in CI has them.
type Refs struct {
	// Branch is the branch that the user is on, without refs/heads/.
	Branch string `json:"branch"`
	// Remote and Default name the branch that others work from: refs/remotes/<Remote>/<Default>. It has no URL.
	Remote  string `json:"remote"`
	Default string `json:"default"`
}

// usualRefs are those of a repository of which no others are known.
var usualRefs = Refs{Branch: "main", Remote: "origin", Default: "main"}

// Check refuses names that git does not have.
func (r Refs) Check() error {
	if r.Default == "HEAD" {
		return fmt.Errorf("branch %q of a remote: %w", r.Default, ErrBadName)
	}
	return cmp.Or(ValidRef("refs/heads/"+r.Branch), ValidRef("refs/remotes/"+r.Remote+"/"+r.Default))
}

// refsFile keeps them in a mirror.
const refsFile = "divisi-refs"

// KeepRefs has a mirror keep the names for the trees that are made of it. Those that git does not have are refused.
func (r *Repo) KeepRefs(refs Refs) error {
	if err := refs.Check(); err != nil {
		return err
	}
	data, err := json.Marshal(refs)
	if err == nil {
		err = writeSynced(filepath.Join(r.dir, refsFile), string(data))
	}
	if err != nil {
		return fmt.Errorf("keep the names of refs: %w", err)
	}
	return nil
}

// Refs returns the names that the mirror keeps; usual ones where it keeps none.
func (r *Repo) Refs() (refs Refs, err error) {
	data, err := os.ReadFile(filepath.Join(r.dir, refsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return usualRefs, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &refs)
	}
	if err = cmp.Or(err, refs.Check()); err != nil {
		return refs, fmt.Errorf("read the names of refs: %w", err)
	}
	return refs, nil
}
