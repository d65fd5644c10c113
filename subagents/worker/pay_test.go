package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

// What a coding agent prints of its use is in the log, with the cost that it states or the price of its model, and in the result.
func TestACodingAgentsUsageIsInTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "mod")
	for usage, c := range map[string]struct {
		line string
		want wire.Spent
	}{
		spec.AgentGemini: {
			`{"session_id":"x","stats":{"models":{"gemini-3.8-flash":{"api":{"totalRequests":2},"tokens":{"prompt":9,"candidates":3}}}}}`,
			wire.Spent{Usage: spec.Usage{Calls: 2, Prompt: 9, Output: 3}, Model: "gemini-3.8-flash", Price: "gemini-3.8-flash@"},
		},
		spec.AgentClaude: {
			`{"type":"result","subtype":"success","modelUsage":{"gemini-3.8-flash":{"inputTokens":9,"costUSD":0.5}}}`,
			wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 9}, Model: "gemini-3.8-flash", Cost: spec.Dollar / 2},
		},
		spec.AgentCodex: {
			`{"type":"turn.completed","usage":{"input_tokens":9}}`, wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 9}},
		},
	} {
		t.Run(usage, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(spec.Role{
				Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"echo", c.line}, Writes: true, Usage: usage,
			}, usage)
			s.enqueue(a)
			r := s.result(a)
			require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
			require.Equal(t, c.want.Usage, r.Usage)
			var got []wire.Spent
			for e := range s.tail(t.Context(), a) {
				if e.Kind == contextscope.KindUsage {
					var spent wire.Spent
					require.NoError(t, json.Unmarshal(e.Data, &spent))
					got = append(got, spent)
				}
				if e.Kind == contextscope.KindResult {
					break
				}
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0].Price, c.want.Price)
			if c.want.Price == "" {
				require.Empty(t, got[0].Price)
			}
			require.Equal(t, c.want.Price != "" || c.want.Cost > 0, got[0].Booked > 0)
			got[0].Price, got[0].Booked = c.want.Price, 0
			require.Equal(t, c.want, got[0])
		})
	}
}

// The patch of a program that commits is what differs in its files. What its git holds and its files do not show fails the attempt.
func TestACommandThatCommitsByItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "mod")
	for name, c := range map[string]struct{ line, refused string }{
		"commits":         {"echo mine > a.txt; git add -A; git commit -qm own -a; git branch mine; git tag mine", ""},
		"renames":         {"git mv a.txt c.txt && git mv c.txt a.txt && echo mine > a.txt && git stash -q && git stash pop", ""},
		"applies":         {"echo mine > a.txt; git diff >$TMPDIR/p; git checkout a.txt; git apply --3way $TMPDIR/p", ""},
		"another branch":  {"git checkout -q -b mine; echo mine > a.txt; git commit -qam own", ""},
		"its own":         {"echo mine > a.txt; rm -rf .git; git init -q; git add -A; git commit -qm own", ""},
		"no repository":   {"echo mine > a.txt; rm -rf .git; mkdir -p .git/refs/x", ""},
		"stashes":         {"echo mine > a.txt; git stash", `a stash ("WIP on main: `},
		"leaves a branch": {"echo mine > a.txt; git checkout -qb wip; git commit -qam \"half's done\"; git checkout -q main", `the branch "wip" ("half's done")`},
		"goes back":       {"echo mine > a.txt; git commit -qam own; git checkout -q HEAD~1", `the branch "main" ("own")`},
		"an orphan":       {"echo mine > a.txt; git commit -qam own; git checkout -q --orphan x; git reset -q; git checkout -q main -- a.txt; echo 2 > a.txt", `the branch "main"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.assignment(spec.Role{
				Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", "" + c.line}, Writes: true,
			}, strings.ReplaceAll(name, " ", "-"))
			a.Task.Files = []string{"a.txt"}
			s.enqueue(a)
			r := s.result(a)
			if c.refused != "" {
				require.Equal(t, spec.StatusFailed, r.Status)
				require.Equal(t, wire.FaultCommand, r.Error.Class)
				require.Contains(t, r.Error.Message, c.refused)
				return
			}
			require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
			require.NotNil(t, r.Patch)
			require.Equal(t, []string{"a.txt"}, r.Patch.Files)
			require.Equal(t, s.head, r.Patch.Base)
			require.Equal(t, "mine\n", s.content(r.Patch, "a.txt"))
		})
	}
}
