package git

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DotGit is the git directory that commands find at the top of a work tree: theirs alone, to write and to throw away. It is
// written without a git process, and no git process of Divisi works with it.
type DotGit struct {
	// Refs name the branch that HEAD is on, and the one that others work from.
	Refs
	// Head is the commit of the branch, Base that of the run, on which the remote's branch stands that has no other one.
	Head, Base string
	// Submodules has git see submodules that have a git directory.
	Submodules bool
	// At is the time in the log of HEAD.
	At time.Time
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

// activeConfig has git see submodules, as in a clone that has them.
const activeConfig = "[submodule]\n\tactive = .\n"

const packedHeader = "# pack-refs with: peeled fully-peeled \n"

// dotConfigOf is for ids of a length.
func dotConfigOf(format int) string {
	if format == 64 {
		return fmt.Sprintf(dotConfig, 1) + sha256Config
	}
	return fmt.Sprintf(dotConfig, 0)
}

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

// writeFiles makes the files and directories that tools know of a checkout, and few others: on some disks each is a third of a
// millisecond.
func (d *DotGit) writeFiles(dir string) error {
	for _, name := range []string{"hooks", "info", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			return err
		}
	}
	for name, content := range d.files() {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := cmp.Or(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func (d *DotGit) files() map[string]string {
	remote, branch := "refs/remotes/"+d.Remote+"/", "refs/heads/"+d.Branch
	files := skeleton{format: len(d.Base), borrow: d.Objects, shallow: d.Shallow, attributes: asStored}.files()
	files["config"] = dotConfigOf(len(d.Base)) + d.Ends.config() + d.tracking()
	if d.Submodules {
		files["config"] += activeConfig
	}
	files["HEAD"] = "ref: " + branch + "\n"
	files[branch] = d.Head + "\n"
	files["logs/HEAD"] = fmt.Sprintf("%s %s %s %d +0000\tclone: a commit of the run\n", strings.Repeat("0", len(d.Head)), d.Head,
		madeAuthor, max(0, d.At.Unix()))
	files[remote+"HEAD"] = "ref: " + remote + d.Default + "\n" // packed refs name no other ones
	files["packed-refs"] = packedHeader
	for name, id := range d.tracks(d.Base) {
		files["packed-refs"] += id + " " + name + "\n"
	}
	files["packed-refs"] += d.Tags
	return files
}

// copyIndex copies the index and the list of ignored files. The copy is younger than the files that the index knows, but for
// those of the same second: these alone git has to read.
func (d *DotGit) copyIndex(dir string) error {
	index, err := wholeIndex(cmp.Or(d.Index, filepath.Join(d.From, "index")), d.From, len(d.Base)/2)
	if exclude := filepath.Join(d.From, "info", "exclude"); err == nil && hasText(exclude) {
		err = copyFile(filepath.Join(dir, "info", "exclude"), exclude)
	}
	return cmp.Or(err, os.WriteFile(filepath.Join(dir, "index"), index, 0o644))
}

func hasText(path string) bool {
	data, err := os.ReadFile(path)
	return err == nil && len(bytes.TrimSpace(data)) > 0
}
