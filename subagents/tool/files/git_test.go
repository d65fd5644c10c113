package files

import (
	"errors"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func TestGitTools(t *testing.T) {
	t.Parallel()
	h := &fakeHistory{text: "answer", cut: true}
	b := newBench(t, nil, func(e *Config) { e.History = h })
	require.Equal(t, "answer . 30\n", b.OK(spec.ToolGitLog, nil))
	require.Equal(t, "answer sub/x 200\n", b.OK(spec.ToolGitLog, tooltest.Args{"path": "./sub/../sub/x", "limit": 999}))
	require.Equal(t, "answer . 1\n", b.OK(spec.ToolGitLog, tooltest.Args{"limit": -1}))
	require.Equal(t, "answer abc x 1048576\n\n[there is more: give a path]\n", b.OK(spec.ToolGitDiff, tooltest.Args{
		"path":   "x",
		"commit": "abc",
	}))
	for _, name := range []string{spec.ToolGitLog, spec.ToolGitDiff} {
		require.Contains(t, b.Fails(name, tooltest.Args{"path": "../x"}), "leads out")
		require.Contains(t, b.Fails(name, tooltest.Args{"path": ".git/config"}), "git's own")
	}
	h.text, h.cut = "", false
	require.Contains(t, b.OK(spec.ToolGitLog, tooltest.Args{"path": "x"}), "no commit of this run changed x")
	require.Contains(t, b.OK(spec.ToolGitDiff, nil), "nothing has changed")
	h.fail = errors.New("a nested repository")
	require.Contains(t, b.Fails(spec.ToolGitLog, nil), "a nested repository")
	require.Contains(t, b.Fails(spec.ToolGitDiff, nil), "a nested repository")
}
