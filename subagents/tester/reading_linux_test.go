package tester

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// graded runs a gate in a tree whose files have all changed, and answers what is open with a probe.
func graded(t *testing.T, files map[string]string, g spec.Gate) spec.Receipt {
	t.Helper()
	dir := t.TempDir()
	write := func(context.Context) (changed []string, err error) {
		for name, text := range files {
			changed = append(changed, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				return nil, err
			}
		}
		return changed, nil
	}
	changed, err := write(t.Context())
	require.NoError(t, err)
	place := sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}
	env, err := sandbox.Env(sandbox.Settings{Base: os.Environ(), Home: place.Seen().Home, Temp: place.Seen().Temp})
	require.NoError(t, err)
	x := &Executor{
		Assignment: &wire.Assignment{}, Dir: dir, Limiter: gate.NewLimiter(1),
		Restore: func(ctx context.Context) ([]string, error) { _, err := write(ctx); return nil, err },
		Fresh:   func(sandbox.Audience) (Ground, error) { return Ground{Env: env, Place: place}, nil },
		Changed: func(context.Context, string) ([]string, error) { return changed, nil },
	}
	where := gate.Where{Dir: dir, Env: env, Place: place, Baseline: &spec.Receipt{Verdict: spec.VerdictPass}}
	r, reading, err := x.run(t.Context(), g, where)
	require.NoError(t, err)
	require.Equal(t, spec.VerdictPass, r.Verdict, r.Tail)
	open, err := x.grade(t.Context(), &r, reading, g, where)
	require.NoError(t, err)
	if open {
		require.NoError(t, x.probe(t.Context(), x.asked[0], x.asked[0].questions, &r))
	}
	for name, text := range files {
		now, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(now), "a probe leaves nothing behind")
	}
	return r
}

// What a gate opens and runs by ways that cannot be followed is told from what it only opens by errors in all of it.
func TestAProbe(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"check.sh": "cat *.sh *.txt >/dev/null\n$NONE . ./first.sh\n$NONE . ./second.sh\n", "first.sh": "#!/bin/sh\nfirst=1\n",
		"second.sh": "second=$first\n", "other.sh": "", "a.txt": "", "b.c": "",
	}
	r := graded(t, files, spec.Gate{Name: "odd", Command: []string{"sh", "check.sh"}})
	require.Equal(t, []spec.Unread{
		{Path: "a.txt", Grade: spec.GradeUnknown, Reason: "gate odd also opens files for cat"},
		{Path: "b.c", Grade: spec.GradeUnread, Reason: "no gate opened it", Source: true},
		{Path: "other.sh", Grade: spec.GradeUnread, Reason: "neither run nor imported", Source: true},
	}, r.Unread, "the second error shows once the first is gone")

	files["check.sh"] = "{ cat *.sh\n$NONE . ./first.sh\n$NONE . ./second.sh\n} >/dev/null 2>&1\n"
	r = graded(t, files, spec.Gate{Name: "silent", Command: []string{"sh", "check.sh"}})
	require.NotNil(t, r.UnreadOf("first.sh"))
	require.Equal(t, spec.GradeUnknown, r.UnreadOf("first.sh").Grade)
	require.Contains(t, r.UnreadOf("first.sh").Reason, "names none")
}

// A gate that prints every file, and is red where one differs, has not run the only file in question.
func TestAProbeOfAGateThatComparesFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"check.sh": "set -e\nsum=$(cat run.py tool.py | cksum)\ncat tool.py\ntest \"$sum\" = \"SUM\"\npython3 run.py\n",
		"run.py":   "x = 1\n", "tool.py": "y = 1\n",
	}
	sum, err := exec.CommandContext(t.Context(), "sh", "-c", `printf 'x = 1\ny = 1\n' | cksum`).Output()
	require.NoError(t, err)
	files["check.sh"] = strings.Replace(files["check.sh"], "SUM", strings.TrimSpace(string(sum)), 1)
	r := graded(t, files, spec.Gate{Name: "compares", Command: []string{"sh", "check.sh"}})
	require.NotNil(t, r.UnreadOf("tool.py"))
	require.Equal(t, spec.GradeUnknown, r.UnreadOf("tool.py").Grade)
}
