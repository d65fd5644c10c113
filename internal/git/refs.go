package git

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Refs are the names that the git directory of a tree has beside its commit, as a checkout in CI has them.
type Refs struct {
	// Branch is the branch that the user is on, without refs/heads/.
	Branch string `json:"branch"`
	// Remote and Default name the branch that others work from: refs/remotes/<Remote>/<Default>. It has no URL.
	Remote  string `json:"remote"`
	Default string `json:"default"`
	// Init is what the user has git init name the first branch; empty for git's own choice.
	Init string `json:"init,omitempty"`
	// Ends are the user's settings of line ends, which a clone of theirs obeys.
	Ends Ends `json:"ends"`
}

// usualRefs are those of a repository where no others are known.
var usualRefs = Refs{Branch: "main", Remote: "origin", Default: "main"}

// Check refuses names and settings that git does not have.
func (r Refs) Check() error {
	if r.Default == "HEAD" {
		return fmt.Errorf("branch %q of a remote: %w", r.Default, ErrBadName)
	}
	if err := r.Ends.check(); err != nil {
		return err
	}
	return cmp.Or(ValidRef("refs/heads/"+r.Branch), ValidRef("refs/remotes/"+r.Remote+"/"+r.Default),
		ValidRef("refs/heads/"+cmp.Or(r.Init, usualRefs.Branch)))
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

// RefsOf returns the names that a checkout has for trees: the remote that its branch comes from, and that one's main branch.
// Names that only a hostile repository has count as none.
func (g *Git) RefsOf(ctx context.Context, c *Checkout) (refs Refs, err error) {
	user, err := g.userSettings(ctx, c.GitDir)
	if err != nil {
		return refs, err
	}
	own, err := g.repoSettings(ctx, layout{top: c.Top, gitDir: c.GitDir, commonDir: c.CommonDir})
	if err != nil {
		return refs, err
	}
	v, err := c.openView()
	if err != nil {
		return refs, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	out, err := g.exec(ctx, call{dir: v.dir, args: []string{"for-each-ref", "--format=%(refname) %(symref)", "refs/remotes"}})
	if err != nil {
		return refs, fmt.Errorf("list the branches of remotes in %s: %w", c.Top, err)
	}
	there := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, target, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		there[name] = target
	}
	refs = Refs{
		Branch: c.Branch, Remote: remoteOf(own, c.Branch, there), Init: user.last("init.defaultbranch"), Ends: endsOf(user, own),
	}
	refs.Default = mainOf(there, refs.Remote, c.Branch)
	refs.Branch = cmp.Or(refs.Branch, refs.Default)
	if refs.Check() != nil {
		usual := usualRefs
		usual.Ends = refs.Ends
		return usual, nil
	}
	return refs, nil
}

// remoteOf is the remote that a branch comes from, else origin, else the first that has branches.
func remoteOf(own settings, branch string, there map[string]string) string {
	names := []string{own.last("branch." + branch + ".remote"), usualRefs.Remote}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if rest, found := strings.CutPrefix(key, "remote."); found && strings.HasSuffix(rest, ".fetch") {
			names = append(names, strings.TrimSuffix(rest, ".fetch"))
		}
	}
	for _, name := range names {
		for ref := range there {
			if name != "" && strings.HasPrefix(ref, "refs/remotes/"+name+"/") {
				return name
			}
		}
	}
	return usualRefs.Remote
}

// mainOf is the main branch of a remote: what its HEAD says, else a usual name that it has, else the branch of the user.
func mainOf(there map[string]string, remote, branch string) string {
	prefix := "refs/remotes/" + remote + "/"
	if name, found := strings.CutPrefix(there[prefix+"HEAD"], prefix); found {
		return name
	}
	for _, name := range []string{"main", "master", "trunk", "develop"} {
		if _, found := there[prefix+name]; found {
			return name
		}
	}
	return cmp.Or(branch, usualRefs.Default)
}
