package subagents

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func TestWorkerCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "mod")
	script := func(line string) []string { return []string{"sh", "-c", line} }
	tests := map[string]struct {
		command []string
		status  spec.Status
		class   string
		detail  string
		files   []string
		reads   bool
	}{
		"changes":    {command: script("echo more >> a.txt"), status: spec.StatusDone, files: []string{"a.txt"}},
		"no-change":  {command: script("true"), status: spec.StatusDone},
		"check-only": {command: script("echo left > b_left.txt"), status: spec.StatusDone, reads: true},
		"fails":      {command: script("echo oh no; exit 7"), status: spec.StatusFailed, class: "command", detail: "oh no"},
		"missing":    {command: []string{"no-such-program"}, status: spec.StatusFailed, class: "command"},
		"outside":    {command: script("echo x > sub/b.txt"), status: spec.StatusFailed, class: "write_set", detail: "sub/b.txt"},
		"too-much":   {command: script("echo half > a.txt; echo > sub/b.txt"), status: spec.StatusFailed, class: "write_set", detail: "+half"},
		"protected":  {command: script("echo > b_test.txt"), status: spec.StatusFailed, class: "write_set", detail: "b_test"},
		"repository": {command: script("git init -q repo && echo > repo/x"), status: spec.StatusFailed, class: "command"},
		"input": {
			command: script(`cat > a.txt; echo "$DIVISI_RUN $DIVISI_TASK $DIVISI_ATTEMPT $DIVISI_ROLE $DIVISI_FILES" >> a.txt`),
			status:  spec.StatusDone, files: []string{"a.txt"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: tt.command, Writes: !tt.reads}, name)
			a.Task.Files, a.Project.Protected = []string{"a.txt", "b_*"}, []string{"**/*_test.*"}
			a.Goal, a.DecisionRecord, a.Message = "the goal", "tabs", "The rest is yours."
			a.Prior = []wire.Prior{{Attempt: 1, Fault: spec.Fault{Class: "gate", Message: "red"}, Diff: "-a"}}
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, tt.status, r.Status, "%+v", r.Error)
			if tt.class != "" {
				require.Equal(t, tt.class, r.Error.Class)
				require.Contains(t, r.Error.Detail, tt.detail)
				return
			}
			if tt.files == nil {
				require.Nil(t, r.Patch)
				return
			}
			require.Equal(t, tt.files, r.Patch.Files)
			if name == "input" {
				checkInput(t, s, a, r.Patch)
			}
		})
	}
}

func checkInput(t *testing.T, s *site, a *wire.Assignment, p *spec.Patch) {
	t.Helper()
	require.NoError(t, fetch(t.Context(), s.mirror, s.bus, p))
	text, err := s.mirror.ReadFile(t.Context(), p.Commit, "a.txt", 1<<20)
	require.NoError(t, err)
	var in CommandInput
	raw, env, ok := strings.Cut(string(text), "}r1 ")
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(raw+"}"), &in))
	require.Equal(t, commandInput(a), in)
	require.NotNil(t, in.Constraints)
	require.Equal(t, "The rest is yours.", in.Message)
	require.Equal(t, "input 1 mod a.txt\nb_*\n", env)
}

// lastingTree is a tree that can be read as long as there is time.
type lastingTree struct{ fakeTree }

func (f *lastingTree) Diff(ctx context.Context, _ int) (string, error) { return "+half", ctx.Err() }

func TestACommandThatRunsOutOfTimeTellsWhatItHadSaidAndChanged(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{
		Name: "mod", Executor: spec.ExecutorCommand, Secrets: []string{"A_KEY"},
		Command: []string{"sh", "-c", `echo "the key is $A_KEY"; exec sleep 60`},
	}
	for status, cause := range map[spec.Status]error{spec.StatusTimedOut: errTime, spec.StatusCancelled: &cancelled{}} {
		ctx, end := context.WithCancelCause(t.Context())
		c := &CommandExecutor{
			Assignment: a, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Secrets: secrets{"A_KEY=secret-value"},
			Bounds: Bounds{Time: time.Minute}, Tree: &lastingTree{}, Doing: func(string) { end(cause) },
		}
		r, err := c.Run(ctx)
		require.NoError(t, err)
		require.Equal(t, status, r.Status)
		if status == spec.StatusCancelled {
			require.Empty(t, r.Error.Detail, "nobody takes over")
			continue
		}
		require.Equal(t, "the key is [A_KEY]\n\nWhat it had changed by then:\n+half", r.Error.Detail)
	}
}
