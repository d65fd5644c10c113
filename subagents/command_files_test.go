package subagents

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// odd are names that a shell takes apart.
var odd = []string{"-dash.txt", "a b.txt", "caf\xe9.txt", "new\nline.txt", `quo'te".txt`, "$HOME.txt", "[id].txt"}

func oddTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range odd {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "x.txt"), nil, 0o600))
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "sub", "link")))
	return dir
}

func TestACommandIsGivenItsFilesAsArguments(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sed", "-i", "s/old/new/", spec.ArgFiles}}
	a.Task.Files = odd
	c := &CommandExecutor{Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Bounds: Bounds{Time: time.Minute}, Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}}
	check := func() {
		r, err := c.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		for _, name := range odd {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, "new\n", string(text), name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o600))
		}
	}
	check()
	a.Role.Each, a.Role.Command[3] = true, spec.ArgFile
	check()
}

func TestACommandRunsOncePerFileUntilOneFails(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Each: true, Command: []string{
		"sh", "-c", `echo "$1 $DIVISI_FILES"; cat > "$1.in"; test "$1" != "a b.txt"`, "sh", spec.ArgFile,
	}}
	a.Task.Files = []string{"$HOME.txt", "a b.txt", "sub/x.txt"}
	dir := oddTree(t)
	c := &CommandExecutor{Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Bounds: Bounds{Time: time.Minute}, Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}}
	r, err := c.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusFailed, r.Status)
	require.Contains(t, r.Error.Message, "on file 2 of 3, a b.txt")
	require.NoFileExists(t, filepath.Join(dir, "sub", "x.txt.in"), "it stops at the first failure")
	given, err := os.ReadFile(filepath.Join(dir, "$HOME.txt.in"))
	require.NoError(t, err)
	require.Contains(t, string(given), `"files":["$HOME.txt"]`)
}

func TestFilesOfATask(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	files, err := filesOf(dir, []string{"sub", "*b.txt", "new.go", "[id].txt", "sub/*.txt", "a b.txt"})
	require.NoError(t, err)
	require.Equal(t, []string{"[id].txt", "a b.txt", "new.go", "sub/x.txt"}, files, "no link is followed, and each is there once")

	a := testAssignment()
	c := &CommandExecutor{Assignment: a, Dir: dir}
	a.Role.Command, a.Task.Files = []string{"x", spec.ArgFiles}, []string{"*.none"}
	_, why, err := c.runs()
	require.NoError(t, err)
	require.Contains(t, why, "there are none")
	a.Task.Files = []string{strings.Repeat("x", maxEnv), "y"}
	_, why, err = c.runs()
	require.NoError(t, err)
	require.Contains(t, why, "each: true")
	a.Role.Each = true
	a.Task.Files = []string{strings.Repeat("x", 200), "y"}
	runs, why, err := c.runs()
	require.NoError(t, err)
	require.Empty(t, why)
	require.Len(t, runs, 2)
}

func TestAShardThatStillMatchesFailsItsCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "mod")
	for name, tt := range map[string]struct {
		command, remaining string
		reads              bool
		status             spec.Status
		deviations         int
	}{
		"all":        {command: "echo done > a.txt", status: spec.StatusDone},
		"nothing":    {command: "true", status: spec.StatusFailed},
		"half":       {command: "echo more >> a.txt", status: spec.StatusFailed},
		"allowed":    {command: "echo more >> a.txt", remaining: spec.RemainingOK, status: spec.StatusDone, deviations: 1},
		"reads-only": {command: "true", reads: true, status: spec.StatusDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(spec.Role{
				Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", tt.command}, Writes: !tt.reads,
			}, "left-"+name)
			a.Task.Files, a.Task.Remaining = []string{"a.txt", "sub/b.txt"}, tt.remaining
			a.Task.Rule = &spec.ShardRule{Match: "^one", Files: 1}
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			require.Len(t, r.Handoff.Deviations, tt.deviations)
			if tt.status == spec.StatusFailed {
				require.Equal(t, wire.FaultRemaining, r.Error.Class)
				require.Contains(t, r.Error.Detail, "a.txt:1")
				require.Equal(t, []string{"remaining: a.txt"}, r.Error.Signatures)
			}
		})
	}
}

func TestAModelIsToldOnceOfWhatStillMatches(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		left      []string
		remaining string
		steps     int
		want      string
	}{
		"refused once": {left: []string{"a.go:3", "a.go:7"}, steps: 2, want: "a.go:7"},
		"allowed":      {left: []string{"a.go:3"}, remaining: spec.RemainingOK, steps: 1, want: "a.go:3"},
		"nothing left": {steps: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{steps: []step{submits("ok"), submits("ok")}}
			a := testAgent(t, journal.NewMemory(), s)
			a.Tree, a.Assignment.Task.Remaining = &fakeTree{files: []string{"a.go"}}, tt.remaining
			a.Remaining = func(context.Context) ([]string, error) { return tt.left, nil }
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, spec.StatusDone, r.Status)
			require.Len(t, s.requests(), tt.steps)
			if tt.want == "" {
				require.Empty(t, r.Handoff.Deviations)
				return
			}
			require.Len(t, r.Handoff.Deviations, 1)
			require.Contains(t, r.Handoff.Deviations[0], tt.want)
			if tt.steps == 2 {
				require.Contains(t, lastResponse(s.requests()[1])["error"], "a.go:7")
				again, err := restore(a.Journal.Events())
				require.NoError(t, err)
				require.True(t, again.remained, "another delivery knows")
			}
		})
	}
}
