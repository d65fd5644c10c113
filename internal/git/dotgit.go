package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"divisi/internal/lazyregexp"
)

// DotGit is the git directory that commands find at the top of a work tree: theirs alone, to write and to throw away. It is
// written without a git process, and no git process of Divisi ever reads it.
type DotGit struct {
	// Refs name the branch that HEAD is on, and the one that others work from.
	Refs
	// Head is the commit of the branch, Base that of the remote's branch.
	Head, Base string
	// Objects are directories to read objects from, Shallow commits that are to have no parents.
	Objects, Shallow []string
	// Tags are lines of packed-refs.
	Tags string
	// From is the git directory whose index and list of ignored files are copied; Index takes the place of its index.
	From, Index string
}

// dotConfig has unchanged files known by size and second alone: to the git that wrote the index they may have had another owner
// and device.
const dotConfig = `[core]
	repositoryformatversion = %d
	bare = false
	logAllRefUpdates = true
	checkStat = minimal
[gc]
	auto = 0
[maintenance]
	auto = false
`

// Write fills an empty directory.
func (d *DotGit) Write(dir string) error {
	err := cmp.Or(checkIDs(d.Head, d.Base), d.Check())
	if err == nil {
		err = d.writeFiles(dir)
	}
	if err == nil {
		err = d.copyIndex(dir)
	}
	if err != nil {
		return fmt.Errorf("write the git directory of a tree: %w", err)
	}
	return nil
}

// writeFiles makes as few files and directories as git takes for a repository: on some disks each is a third of a millisecond.
func (d *DotGit) writeFiles(dir string) error {
	remote := "refs/remotes/" + d.Remote + "/"
	files := skeleton{format: len(d.Base), borrow: d.Objects, shallow: d.Shallow, attributes: asStored}.files()
	files["config"] = fmt.Sprintf(dotConfig, 0)
	if len(d.Base) == 64 {
		files["config"] = fmt.Sprintf(dotConfig, 1) + sha256Config
	}
	files["config"] += d.Ends.config()
	files["HEAD"] = "ref: refs/heads/" + d.Branch + "\n"
	files[remote+"HEAD"] = "ref: " + remote + d.Default + "\n" // packed refs name no other ones
	files["packed-refs"] = "# pack-refs with: peeled fully-peeled \n" + d.Head + " refs/heads/" + d.Branch + "\n" +
		d.Base + " " + remote + d.Default + "\n" + d.Tags
	for _, name := range []string{"objects/info", remote} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copyIndex copies the index and the list of ignored files. The copy is younger than the files that the index knows, but for
// those of the same second: these alone git has to read.
func (d *DotGit) copyIndex(dir string) error {
	index, err := wholeIndex(cmp.Or(d.Index, filepath.Join(d.From, "index")), d.From, len(d.Base)/2)
	if exclude := filepath.Join(d.From, "info", "exclude"); err == nil && hasText(exclude) {
		info := filepath.Join(dir, "info")
		err = cmp.Or(os.Mkdir(info, 0o755), copyFile(filepath.Join(info, "exclude"), exclude))
	}
	return cmp.Or(err, os.WriteFile(filepath.Join(dir, "index"), index, 0o644))
}

func hasText(path string) bool {
	data, err := os.ReadFile(path)
	return err == nil && len(bytes.TrimSpace(data)) > 0
}

// Made commits have fixed authors and words: see Repo.Tested.
const (
	madeAuthor  = "Divisi <divisi@localhost>"
	madeMessage = "The change under test\n"
)

// Tested returns the commit on which the tree of a commit is tested, and writes it where it is not there. It follows the base
// and has its date, so that one tree has one id, whatever commits led to it: what builds put into programs and versions stays
// the same. The tree of the base is tested on the base.
func (r *Repo) Tested(ctx context.Context, commit string) (id string, err error) {
	base, _, err := r.object(ctx, r.base, maxCommit)
	if err != nil {
		return "", fmt.Errorf("read commit %s: %w", r.base, err)
	}
	tree, err := r.Tree(ctx, commit)
	if err != nil {
		return "", err
	}
	headers, _, _ := strings.Cut(string(base), "\n\n")
	if strings.HasPrefix(headers, "tree "+tree+"\n") {
		return r.base, nil
	}
	made := fmt.Appendf(nil, "tree %s\nparent %s\n", tree, r.base)
	for _, who := range []string{"author", "committer"} {
		made = fmt.Appendf(made, "%s %s %s\n", who, madeAuthor, dateOf(headers))
	}
	if id, err = writeLoose(r.Objects(), len(tree), "commit", append(made, "\n"+madeMessage...)); err != nil {
		return "", fmt.Errorf("make the commit on which %s is tested: %w", tree, err)
	}
	return id, nil
}

// dateOf is the date of the committer, as a commit has it. One that git would not write counts as the first of all.
func dateOf(headers string) string {
	for line := range strings.Lines(headers) {
		if _, date, found := strings.Cut(line, "> "); found && strings.HasPrefix(line, "committer ") {
			if date = strings.TrimSpace(date); dates.MatchString(date) {
				return date
			}
		}
	}
	return "0 +0000"
}

var dates = lazyregexp.New(`^[1-9][0-9]{0,11} [+-][0-9]{4}$`)
