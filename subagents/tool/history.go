package tool

import "context"

// History is the work tree as git sees it. Its methods are called from several goroutines.
type History interface {
	// Files returns the files of the tree that git tracks or would add, with slashes; some may be gone.
	Files(ctx context.Context) ([]string, error)
	// Log returns the newest commits of the branch that the work tree started from, newest first, at most limit, one a line
	// with its id; of one path where it is not ".".
	Log(ctx context.Context, path string, limit int) (string, error)
	// Diff returns what a commit that Log shows changed, or for "" what differs in the work tree from the commit that it
	// started from; of one path where it is not ".". It has at most limit bytes; cut says that there was more.
	Diff(ctx context.Context, commit, path string, limit int) (text string, cut bool, err error)
}
