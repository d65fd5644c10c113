package toolset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/internal/git"
	"divisi/subagents/tool/files"
	"divisi/subagents/workspace"
)

const (
	// shortID is how much of a commit's id an agent is shown, maxFound how many commits an id is looked for in.
	shortID  = 12
	maxFound = 10_000
)

// history shows an agent the run's branch up to the start of its attempt, and its own changes. The mirror has no
// history before the run.
type history struct {
	slot   *workspace.Slot
	mirror *git.Repo
	head   string
}

// Files implements files.History.
func (h *history) Files(ctx context.Context) ([]string, error) { return h.slot.Files(ctx) }

// Log implements files.History.
func (h *history) Log(ctx context.Context, path string, limit int) (string, error) {
	commits, err := h.mirror.Log(ctx, h.mirror.Base(), h.head, path, limit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range commits {
		fmt.Fprintf(&b, "%s %s%s\n", c.Commit[:shortID], c.Subject, trailers(c))
	}
	if path == "." && len(commits) < limit {
		base, err := h.mirror.Commit(ctx, h.mirror.Base())
		if err != nil {
			return "", err
		}
		subject, _, _ := strings.Cut(base.Message, "\n")
		fmt.Fprintf(&b, "%s %s (here the run began)\n", base.ID[:shortID], subject)
	}
	return b.String(), nil
}

// trailers reports which task a commit comes from.
func trailers(c git.Landed) string {
	var words []string
	for _, key := range []string{"Task", "Attempt", "Role"} {
		if v := c.Trailers["Divisi-"+key]; len(v) > 0 {
			words = append(words, strings.ToLower(key)+" "+v[0])
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// Diff implements files.History.
func (h *history) Diff(ctx context.Context, commit, path string, limit int) (text string, cut bool, err error) {
	if commit == "" {
		return h.slot.DiffPath(ctx, h.head, path, limit)
	}
	c, err := h.find(ctx, strings.ToLower(commit))
	if err != nil {
		return "", false, err
	}
	return h.mirror.DiffPath(ctx, c.Parents[0], c.Commit, path, limit)
}

// find returns the commit of the branch whose id begins so.
func (h *history) find(ctx context.Context, id string) (git.Landed, error) {
	const least = 4
	if base := h.mirror.Base(); len(id) >= least && strings.HasPrefix(base, id) {
		return git.Landed{}, errors.New("the run began on that commit: its changes are not here")
	}
	commits, err := h.mirror.Log(ctx, h.mirror.Base(), h.head, ".", maxFound)
	if err != nil {
		return git.Landed{}, err
	}
	for _, c := range commits {
		if len(id) >= least && strings.HasPrefix(c.Commit, id) && len(c.Parents) > 0 {
			return c, nil
		}
	}
	return git.Landed{}, fmt.Errorf("there is no commit %.64q on the branch: git_log lists them", id)
}

var _ files.History = (*history)(nil)
