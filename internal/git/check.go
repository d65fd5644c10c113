package git

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"divisi/internal/spec"
	"divisi/internal/text"
)

const (
	// MaxPatchFiles bounds the paths that one patch may change.
	MaxPatchFiles = 20_000
	// MaxBlob bounds one file that a patch adds or changes, in bytes.
	MaxBlob = 32 << 20
	// MaxPatchBytes bounds all of them together.
	MaxPatchBytes = 256 << 20
)

// FaultKind reports what is wrong with a patch.
type FaultKind string

// The faults of a patch.
const (
	// FaultCommit: the commit, its tree or its parent is not what the patch says.
	FaultCommit FaultKind = "commit"
	// FaultPath: a path outside the write set.
	FaultPath FaultKind = "path"
	// FaultMode: a new symlink or submodule, or a mode that git does not know.
	FaultMode FaultKind = "mode"
	// FaultGitFile: a path by which git itself is configured.
	FaultGitFile FaultKind = "gitfile"
	// FaultSize: too many files or too many bytes.
	FaultSize FaultKind = "size"
	// FaultName: a name that no machine can lay out or that deceives, or a symlink that leads to one.
	FaultName FaultKind = "name"
)

// PatchFault is one thing that is wrong with a patch.
type PatchFault struct {
	Kind FaultKind
	// Path is the path concerned; empty when it is the whole patch.
	Path string
	Text string
}

// shownPath bounds what a message shows of a path, in bytes.
const shownPath = 200

// String is the fault in one line, with the beginning of a long path.
func (f PatchFault) String() string {
	p := f.Path
	if strings.ContainsFunc(p, text.Hidden) || !utf8.ValidString(p) {
		p = strconv.Quote(p)
	}
	return strings.TrimSpace(text.Clip(p, shownPath) + " " + f.Text)
}

// PatchError lists everything that is wrong with a patch.
type PatchError struct {
	Commit string
	Faults []PatchFault
}

// Error lists the first faults.
func (e *PatchError) Error() string {
	const most = 20
	var b strings.Builder
	fmt.Fprintf(&b, "patch %s is refused:", e.Commit)
	for i, f := range e.Faults {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(e.Faults)-most)
			break
		}
		fmt.Fprintf(&b, " %s;", f)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// Has reports whether a fault of a kind is among them.
func (e *PatchError) Has(kind FaultKind) bool {
	return slices.ContainsFunc(e.Faults, func(f PatchFault) bool { return f.Kind == kind })
}

func (e *PatchError) addf(kind FaultKind, p, format string, args ...any) {
	e.Faults = append(e.Faults, PatchFault{Kind: kind, Path: p, Text: fmt.Sprintf(format, args...)})
}

// CheckPatch checks a patch, imported before, against what was leased: one commit on exactly its base, with the tree and
// the files that it says, changing only allowed paths, without new symlinks or submodules, and of bounded size. All
// faults come at once, as a *PatchError; any other error is a failure to look.
func CheckPatch(ctx context.Context, r *Repo, p spec.Patch, allowed func(path string, made bool) bool) error {
	if err := checkIDs(p.Commit, p.Base, p.Tree); err != nil {
		return fmt.Errorf("check patch: %w", err)
	}
	e := &PatchError{Commit: p.Commit}
	c, err := r.Commit(ctx, p.Commit)
	if err != nil {
		if has, asked := r.Has(ctx, p.Commit); asked == nil && !has {
			e.addf(FaultCommit, "", "is not in its pack")
			return e
		}
		return fmt.Errorf("check patch %s: %w", p.Commit, err)
	}
	names, err := r.Names(ctx, p.Base, c.Tree) // first: git lists what differs without an end to it
	var changes []Change
	if err == nil {
		changes, err = r.Changed(ctx, p.Base, c.Tree)
	}
	blobs, ids := newBlobs(changes)
	var infos []objectInfo
	if err == nil {
		infos, err = r.stat(ctx, ids)
	}
	if err == nil {
		err = e.checkLinks(ctx, r, blobs)
	}
	if err != nil {
		return fmt.Errorf("check patch %s: %w", p.Commit, err)
	}
	if len(c.Parents) != 1 || c.Parents[0] != p.Base {
		e.addf(FaultCommit, "", "its parents are %v, not %s", c.Parents, p.Base)
	}
	if c.Tree != p.Tree {
		e.addf(FaultCommit, "", "its tree is %s, not %s", c.Tree, p.Tree)
	}
	if added, deleted := CountLines(changes); added != p.Added || deleted != p.Deleted {
		e.addf(FaultCommit, "", "it adds %d lines and deletes %d, not the %d and %d that it says", added, deleted, p.Added,
			p.Deleted)
	}
	e.checkPaths(p, changes, allowed)
	e.checkSizes(blobs, infos)
	e.Faults = append(e.Faults, names.Bad...)
	if len(e.Faults) > 0 {
		return e
	}
	return nil
}

func (e *PatchError) checkPaths(p spec.Patch, changes []Change, allowed func(path string, made bool) bool) {
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.Path)
		if !allowed(c.Path, c.OldMode == ModeNone) {
			e.addf(FaultPath, c.Path, "is outside the write set")
		}
		if gitFile(c.Path) {
			e.addf(FaultGitFile, c.Path, "configures git")
		}
		if fault := modeFault(c); fault != "" {
			e.addf(FaultMode, c.Path, "%s", fault)
		}
	}
	claimed := slices.Sorted(slices.Values(p.Files))
	if !slices.Equal(claimed, paths) {
		e.addf(FaultCommit, "", "it changes %d files, not the %d that it says", len(paths), len(claimed))
	}
	if len(paths) > MaxPatchFiles {
		e.addf(FaultSize, "", "it changes %d files; %d are allowed", len(paths), MaxPatchFiles)
	}
}

// modeFault reports what is wrong with the mode that a path gets.
func modeFault(c Change) string {
	if c.OldMode == ModeGitlink {
		return "is a submodule, which a patch may not change"
	}
	switch c.NewMode {
	case ModeNone, ModeFile, ModeExec:
		return ""
	case ModeSymlink:
		if c.OldMode == ModeSymlink {
			return ""
		}
		return "is a new symlink"
	case ModeGitlink:
		return "is a submodule, which a patch may not add or move"
	default:
		return "has the unknown mode " + c.NewMode
	}
}

// checkLinks inspects where changed symlinks lead.
func (e *PatchError) checkLinks(ctx context.Context, r *Repo, blobs []Change) error {
	var paths, links []string
	for _, c := range blobs {
		if c.NewMode == ModeSymlink {
			paths, links = append(paths, c.Path), append(links, c.NewOID)
		}
	}
	return r.objects(ctx, "contents", links, MaxLink, func(i int, o object) error {
		if o.size == 0 || o.size > MaxLink || bytes.IndexByte(o.content, 0) >= 0 {
			e.addf(FaultName, paths[i], "is a symlink to a path of %d bytes; 1 to %d without NUL are allowed", o.size, MaxLink)
		}
		return nil
	})
}

// gitFile reports paths that report how git itself behaves; nothing that an agent writes may.
func gitFile(p string) bool {
	if strings.EqualFold(path.Base(p), ".gitmodules") {
		return true
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") || strings.HasPrefix(strings.ToLower(part), "git~") {
			return true
		}
	}
	return false
}

// newBlobs are the contents that a patch brings, with their ids.
func newBlobs(changes []Change) (blobs []Change, ids []string) {
	for _, c := range changes {
		if c.NewMode != ModeNone && c.NewMode != ModeGitlink {
			blobs, ids = append(blobs, c), append(ids, c.NewOID)
		}
	}
	return blobs, ids
}

func (e *PatchError) checkSizes(blobs []Change, infos []objectInfo) {
	var total int64
	for i, info := range infos {
		total += info.size
		if info.kind != "blob" {
			e.addf(FaultCommit, blobs[i].Path, "is not in the pack")
		}
		if info.size > MaxBlob {
			e.addf(FaultSize, blobs[i].Path, "has %d bytes; %d are allowed", info.size, MaxBlob)
		}
	}
	if total > MaxPatchBytes {
		e.addf(FaultSize, "", "its files have %d bytes; %d are allowed", total, MaxPatchBytes)
	}
}
