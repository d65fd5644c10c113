package tool

import (
	"errors"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestGitTools(t *testing.T) {
	t.Parallel()
	h := &fakeHistory{text: "answer", cut: true}
	b := newBench(t, nil, func(e *Env) { e.History = h })
	require.Equal(t, "answer . 30\n", b.ok(spec.ToolGitLog, nil))
	require.Equal(t, "answer sub/x 200\n", b.ok(spec.ToolGitLog, args{"path": "./sub/../sub/x", "limit": 999}))
	require.Equal(t, "answer . 1\n", b.ok(spec.ToolGitLog, args{"limit": -1}))
	require.Equal(t, "answer abc x 1048576\n\n[there is more: give a path]\n", b.ok(spec.ToolGitDiff, args{
		"path":   "x",
		"commit": "abc",
	}))
	for _, name := range []string{spec.ToolGitLog, spec.ToolGitDiff} {
		require.Contains(t, b.fails(name, args{"path": "../x"}), "leads out")
		require.Contains(t, b.fails(name, args{"path": ".git/config"}), "git's own")
	}
	h.text, h.cut = "", false
	require.Contains(t, b.ok(spec.ToolGitLog, args{"path": "x"}), "no commit of this run changed x")
	require.Contains(t, b.ok(spec.ToolGitDiff, nil), "nothing has changed")
	h.fail = errors.New("a nested repository")
	require.Contains(t, b.fails(spec.ToolGitLog, nil), "a nested repository")
	require.Contains(t, b.fails(spec.ToolGitDiff, nil), "a nested repository")
}
