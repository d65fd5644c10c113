package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/subagents/command"
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
	var in command.Input
	raw, env, ok := strings.Cut(string(text), "}r1 ")
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(raw+"}"), &in))
	require.Equal(t, a.Task, in.Task)
	require.Equal(t, a.Attempt, in.Attempt)
	require.NotNil(t, in.Constraints)
	require.Equal(t, "The rest is yours.", in.Message)
	require.Equal(t, "input 1 mod a.txt\nb_*\n", env)
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
