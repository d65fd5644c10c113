package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/internal/git"
	"divisi/internal/textfile"
)

// CommitTree is the content of one commit of the mirror, as Expand reads it.
type CommitTree struct {
	Repo   *git.Repo
	Commit string
	// Run runs the command of a shard rule in a clean tree of the commit and returns its output.
	Run func(ctx context.Context, commit string, command []string) ([]byte, error)

	entries []git.Entry
	links   []string
}

func (t *CommitTree) list(ctx context.Context) ([]git.Entry, error) {
	if t.entries != nil {
		return t.entries, nil
	}
	all, err := t.Repo.Files(ctx, t.Commit)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", t.Commit, err)
	}
	t.links = nil
	for _, e := range all {
		switch e.Mode {
		case git.ModeFile, git.ModeExec:
			t.entries = append(t.entries, e)
		case git.ModeSymlink:
			t.links = append(t.links, e.Path)
		}
	}
	return t.entries, nil
}

// Files implements Tree.
func (t *CommitTree) Files(ctx context.Context) ([]string, error) {
	entries, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Path
	}
	return out, nil
}

// Links implements Tree.
func (t *CommitTree) Links(ctx context.Context) ([]string, error) {
	_, err := t.list(ctx)
	return t.links, err
}

// Sizes implements Tree.
func (t *CommitTree) Sizes(ctx context.Context) (map[string]int64, error) {
	entries, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(entries))
	for _, e := range entries {
		out[e.Path] = e.Size
	}
	return out, nil
}

// maxRead bounds a file that Read returns, in bytes.
const maxRead = 16 << 20

// Read implements Tree.
func (t *CommitTree) Read(ctx context.Context, file string) ([]byte, error) {
	return t.Repo.ReadFile(ctx, t.Commit, file, maxRead)
}

// Match implements Tree.
func (t *CommitTree) Match(
	ctx context.Context, p *textfile.Pattern, files []string,
) (matches map[string]int, binaries []string, err error) {
	entries, err := t.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	matches = map[string]int{}
	err = t.Repo.Match(ctx, entries, files, p, func(path string, n int, binary bool) {
		if binary {
			binaries = append(binaries, path)
		}
		matches[path] = n
	})
	if err != nil {
		return nil, nil, fmt.Errorf("search the files of %s: %w", t.Commit, err)
	}
	return matches, binaries, nil
}

// Shards implements Tree.
func (t *CommitTree) Shards(ctx context.Context, command []string) ([]string, error) {
	if t.Run == nil {
		return nil, errors.New("shards by command need a place to run it; this one has none")
	}
	out, err := t.Run(ctx, t.Commit, command)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.Trim(string(out), "\n"), "\n"), nil
}
