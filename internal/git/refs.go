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
	// Main is the commit that branch stands on in trees, Upstream the one of refs/remotes/<Remote>/<Branch>: those where the
	// user's refs and the base part, since trees have nothing that the base does not lead to. Main is empty for the base,
	// Upstream where the user has no such ref.
	Main     string `json:"main,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	// Init is the user's setting for the name of the first branch; empty for git's own choice.
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
	for _, id := range []string{r.Main, r.Upstream} {
		if id != "" && !ValidID(id) {
			return fmt.Errorf("commit %q of a remote's branch: %w", id, ErrBadName)
		}
	}
	return cmp.Or(ValidRef("refs/heads/"+r.Branch), ValidRef("refs/remotes/"+r.Remote+"/"+r.Default),
		ValidRef("refs/heads/"+cmp.Or(r.Init, usualRefs.Branch)))
}

// tracks are the branches of the remote that a tree has, with their commits.
func (r Refs) tracks(base string) map[string]string {
	refs := map[string]string{}
	if r.Upstream != "" {
		refs["refs/remotes/"+r.Remote+"/"+r.Branch] = r.Upstream
	}
	refs["refs/remotes/"+r.Remote+"/"+r.Default] = cmp.Or(r.Main, base)
	return refs
}

// tracking has the branch follow the one of that name, in the remote without a URL.
func (r Refs) tracking() string {
	config := fmt.Sprintf("[remote \"%s\"]\n\tfetch = %s\n", quoteSection(r.Remote),
		quoteValue("+refs/heads/*:refs/remotes/"+r.Remote+"/*"))
	if r.Upstream != "" {
		config += fmt.Sprintf("[branch \"%s\"]\n\tremote = %s\n\tmerge = %s\n", quoteSection(r.Branch), quoteValue(r.Remote),
			quoteValue("refs/heads/"+r.Branch))
	}
	return config
}

// quoteSection writes what a name may have between the quotes of a section, quoteValue a value: names of refs have neither line
// breaks nor backslashes.
func quoteSection(name string) string { return strings.ReplaceAll(name, `"`, `\"`) }

func quoteValue(name string) string { return `"` + quoteSection(name) + `"` }

// refsFile keeps them in a mirror.
const refsFile = "divisi-refs"

// KeepRefs has a mirror keep the names for the trees that are made of it. Those that git does not have are refused.
func (r *Repo) KeepRefs(refs Refs) error {
	if err := refs.Check(); err != nil {
		return err
	}
	return r.keepJSON(refsFile, refs, "the names of refs")
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

// RefsOf returns the names that a checkout has for trees of a base commit: its branch, a remote, and that one's main branch.
// Names that only a hostile repository has count as none.
func (g *Git) RefsOf(ctx context.Context, c *Checkout, base string) (refs Refs, err error) {
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
	there, err := g.remoteRefs(ctx, v.dir)
	if err != nil {
		return refs, fmt.Errorf("list the branches of remotes in %s: %w", c.Top, err)
	}
	refs = Refs{
		Branch: c.Branch, Remote: remoteOf(own, c.Branch, there), Init: user.last("init.defaultbranch"), Ends: endsOf(user, own),
	}
	refs.Default = mainOf(there, refs.Remote, c.Branch)
	refs.Branch = cmp.Or(refs.Branch, refs.Default)
	prefix := "refs/remotes/" + refs.Remote + "/"
	refs.Main, err = g.parting(ctx, v.dir, base, there[prefix+refs.Default].id)
	if err == nil {
		refs.Upstream, err = g.parting(ctx, v.dir, base, there[prefix+refs.Branch].id)
	}
	if err != nil {
		return refs, err
	}
	if refs.Check() != nil {
		usual := usualRefs
		usual.Ends = refs.Ends
		return usual, nil
	}
	return refs, nil
}

// remoteRef is a branch of a remote, or another name of one.
type remoteRef struct{ id, target string }

func (g *Git) remoteRefs(ctx context.Context, d Dir) (map[string]remoteRef, error) {
	out, err := g.exec(ctx, call{dir: d, args: []string{
		"for-each-ref", "--format=%(refname) %(objectname) %(symref)", "refs/remotes",
	}})
	there := map[string]remoteRef{}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, target, _ := strings.Cut(rest, " ")
		there[name] = remoteRef{id, target}
	}
	return there, err
}

// parting is the newest commit that a base and a ref have in common; empty where there is none, as without the ref.
func (g *Git) parting(ctx context.Context, d Dir, base, ref string) (string, error) {
	if ref == "" || ref == base {
		return ref, nil
	}
	out, err := g.exec(ctx, call{dir: d, args: []string{"merge-base", base, ref}})
	if exitCode(err) > 0 { // or the ref names what is not there
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the merge base of %s and %s: %w", base, ref, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// remoteOf is origin, which a clone elsewhere has too, else the remote that a branch comes from, else the first that has
// branches.
func remoteOf(own settings, branch string, there map[string]remoteRef) string {
	names := []string{usualRefs.Remote, own.last("branch." + branch + ".remote")}
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
func mainOf(there map[string]remoteRef, remote, branch string) string {
	prefix := "refs/remotes/" + remote + "/"
	if name, found := strings.CutPrefix(there[prefix+"HEAD"].target, prefix); found {
		return name
	}
	for _, name := range []string{"main", "master", "trunk", "develop"} {
		if _, found := there[prefix+name]; found {
			return name
		}
	}
	return cmp.Or(branch, usualRefs.Default)
}
