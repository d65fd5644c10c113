package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/text"
)

const (
	// listHeld lists what the git of a work tree holds and its files do not show, a ref and the subject of its commit a line:
	// stashes, and branches with commits that neither HEAD nor the commit that the attempt began on has. A branch can be without
	// a commit.
	listHeld = `list() { git for-each-ref --format='%(refname) %(contents:subject)' "$@"; }
list refs/stash; list --no-merged=HEAD --no-merged="$0" refs/heads || list --no-merged="$0" refs/heads`
	heldTime = time.Minute
	maxHeld  = 16 << 10
)

// held names what the git of the work tree holds and a patch of its files would lack; "" for nothing. The git directory is the
// attempt's, so it is git within the attempt that reads it, confined like every other command of it.
func (at *attempt) held(ctx context.Context) (string, error) {
	if at.slot == nil || !at.slot.Referred() {
		return "", nil
	}
	c := at.confined()
	c.Args, c.Timeout, c.MaxOutput, c.DropErrors = []string{"/bin/sh", "-c", listHeld, at.commit}, heldTime, maxHeld, true
	out, err := sandbox.Run(ctx, c)
	if err != nil {
		return "", fmt.Errorf("ask the git of the work tree about its content: %w", err)
	}
	return heldOf(out.Text()), nil
}

// heldOf reads the list. What is no line of it, a git that cannot work there has printed: it holds nothing.
func heldOf(list string) string {
	var names []string
	for line := range strings.Lines(list) {
		ref, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		branch, found := strings.CutPrefix(ref, "refs/heads/")
		switch {
		case ref == "refs/stash":
			names = append(names, fmt.Sprintf("a stash (%.100q)", subject))
		case found:
			names = append(names, fmt.Sprintf("the branch %.100q (%.100q)", branch, subject))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "the git of the work tree has content outside its files, and a patch has files alone: " + text.Some(names, 5) +
		"; bring it into the files (git stash pop, git merge), or drop it (git stash drop, git branch -D)"
}
