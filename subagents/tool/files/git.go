package files

import (
	"cmp"
	"context"

	"divisi/subagents/tool"
)

// History is the work tree as git sees it. Its methods are called from several goroutines.
type History interface {
	// Files returns the files of the tree that git tracks or would add, with slashes; some may be gone.
	Files(ctx context.Context) ([]string, error)
	// Log returns the newest commits of the branch that the work tree started from, newest first, at most limit, one a line
	// with its id; of one path where it is not ".".
	Log(ctx context.Context, path string, limit int) (string, error)
	// Diff returns what a commit that Log shows changed, or for "" what differs in the work tree from the commit that it
	// started from; of one path where it is not ".". It has at most limit bytes; cut reports that there was more.
	Diff(ctx context.Context, commit, path string, limit int) (text string, cut bool, err error)
}

const (
	// defaultLog and maxLog count the commits of one log.
	defaultLog = 30
	maxLog     = 200
	// maxGitDiff bounds, in bytes, what is taken of a diff: more than is shown, since the whole is kept as an artifact.
	maxGitDiff = 1 << 20
)

type logArgs struct {
	Path  string `json:"path,omitempty"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 30"`
}

// Doing describes the call.
func (a logArgs) Doing() string { return "reading the log of " + cmp.Or(a.Path, "the branch") }

func (t *tree) gitLog(ctx context.Context, a logArgs) tool.Result {
	path, err := t.clean(a.Path)
	if err != nil {
		return tool.Failed("%s", err)
	}
	commits, err := t.History.Log(ctx, path, min(max(1, cmp.Or(a.Limit, defaultLog)), maxLog))
	switch {
	case err != nil:
		return tool.Failed("the log cannot be read: %v", err)
	case commits == "":
		return tool.Text("[no commit of this run changed " + path + "]")
	}
	return tool.Text(commits)
}

type diffArgs struct {
	Path   string `json:"path,omitempty"`
	Commit string `json:"commit,omitempty" jsonschema:"what this commit of git_log changed"`
}

// Doing describes the call.
func (a diffArgs) Doing() string { return "reading the changes of " + cmp.Or(a.Path, "the tree") }

func (t *tree) gitDiff(ctx context.Context, a diffArgs) tool.Result {
	path, err := t.clean(a.Path)
	if err != nil {
		return tool.Failed("%s", err)
	}
	diff, cut, err := t.History.Diff(ctx, a.Commit, path, maxGitDiff)
	switch {
	case err != nil:
		return tool.Failed("the changes cannot be read: %v", err)
	case diff == "":
		return tool.Text("[nothing has changed]")
	case cut:
		diff += "\n[there is more: give a path]\n"
	}
	return tool.Text(diff)
}
