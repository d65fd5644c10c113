package brief

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope/compile"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// tree has one small file for each path that it is asked for.
type tree struct{}

func (tree) ReadFile(context.Context, string, string, int64) ([]byte, error) {
	return []byte("one\n"), nil
}

func (tree) FilesUnder(_ context.Context, _ string, paths ...string) (entries []git.Entry, err error) {
	for _, path := range paths {
		entries = append(entries, git.Entry{Path: path, Mode: git.ModeFile, Size: 4})
	}
	return entries, nil
}

func (tree) Diff(context.Context, string, string, int) (string, bool, error) { return "", false, nil }

func TestFilesOfTheBriefLeaveRoomInASmallWindow(t *testing.T) {
	t.Parallel()
	a := &wire.Assignment{
		Role: spec.Role{Name: "editor", Tools: []string{spec.ToolReadFile, spec.ToolEditFile}},
		Task: spec.Task{ID: "t", Files: []string{"a.txt", "sub/b.txt"}},
	}
	given, err := filesOf(t.Context(), tree{}, a, 4)
	require.NoError(t, err)
	require.Equal(t, []compile.File{{Path: "a.txt", Text: "one\n"}}, given)
}
