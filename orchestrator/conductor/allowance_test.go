package conductor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/run"
)

// limited is a run of one task, whose agents can ask scouts, with a limit in tokens.
func limited(t *testing.T, tokens int, scout ...spec.Role) *rig {
	return newRig(t, files(12), func(s *run.Spec) {
		lead := agentRole("lead", spec.ToolDelegate)
		lead.Limits.Tokens = tokens
		addRoles(s, lead, agentRole("scout", spec.ToolReadFile, spec.ToolTransfer))
		addRoles(s, scout...)
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b"})
	})
}

// costing is an answer that claims to have cost that much.
func costing(tokens int, a geminitest.Answer) geminitest.Answer {
	a.Usage = &geminitest.Usage{Prompt: tokens}
	return a
}

// Eight children at once share what their parent has left, whichever of them is made first, and no attempt has it again.
func TestTheChildrenOfATurnShareWhatTheirParentHasLeft(t *testing.T) {
	t.Parallel()
	const limit = 60_000
	r := limited(t, limit)
	p, list := parts{}, []geminitest.Call{}
	for i := range 8 {
		list = append(list, delegates("scout", fmt.Sprintf("b%d", i)))
		id := fmt.Sprintf("one-scout-1-%d", i)
		for n := range 12 {
			p[id] = append(p[id], costing(1000, calls(callOf(spec.ToolReadFile, map[string]any{"path": fmt.Sprintf("f%02d.txt", n)}))))
		}
	}
	p["one"] = []geminitest.Answer{costing(1000, calls(list...)), costing(1000, submits("done"))}
	r.play(p)
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.LessOrEqual(t, st.Usage.Total(), limit)
	require.Len(t, st.Tasks.Order, 1+8, "none was refused")
	for _, id := range st.Tasks.Order[1:] {
		child := st.Tasks.ByID[id]
		require.InDelta(t, (limit-1000)/9, child.Grant, 8, id)
		require.Equal(t, child.Grant, st.Works[id].Attempts[1].Tokens)
		require.Equal(t, 1, child.Attempt, "too little is left for another attempt")
		require.Contains(t, child.Reason, fmt.Sprintf("of the %d tokens that the limit of one left it", child.Grant))
		require.Contains(t, child.Reason, "no result after")
	}
}

// What was used before a next attempt, or before a handover, is gone: neither has the grant anew, and no role's limit goes beyond
// it.
func TestAllAttemptsOfAChildHaveOneGrant(t *testing.T) {
	t.Parallel()
	big := agentRole("big", spec.ToolReadFile)
	big.Limits.Tokens = 5_000_000
	r := limited(t, 100_000, big)
	r.play(parts{
		"one":             {costing(1000, calls(delegates("scout", "b"))), submits("done")},
		"one-scout-1-0/1": {costing(5000, transfers("big", "It is more than I can do."))},
		"one-scout-1-0/2": {costing(3000, geminitest.Answer{Text: "I only talk."})},
		"one-scout-1-0/3": {costing(1000, submits("found"))},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	child, attempts := st.Tasks.ByID["one-scout-1-0"], st.Works["one-scout-1-0"].Attempts
	require.Equal(t, run.TaskDone, child.State, child.Reason)
	require.Equal(t, 99_000/2, child.Grant, "the other half is its parent's")
	require.Equal(t, 5_000_000, child.Task.Limits.Tokens, "the limit of its role now")
	used := 0
	for n := 1; n <= 3; n++ {
		require.Equal(t, child.Grant-used, attempts[n].Tokens, "attempt %d", n)
		used += attempts[n].Usage.Total()
	}
	a, err := assign.Read(t.Context(), st.Works, r.bus, "one-scout-1-0", 2)
	require.NoError(t, err)
	require.Equal(t, attempts[2].Tokens, a.Task.Limits.Tokens, "the agent is held to it")
}

func TestTooSmallAShareIsRefused(t *testing.T) {
	t.Parallel()
	r := limited(t, 12_000)
	said := r.play(parts{"one": {
		costing(1000, calls(delegates("scout", "b0"), delegates("scout", "b1"))), costing(1000, submits("did it alone")),
	}})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, st.Tasks.Order, 1+1, "what the one does not get is enough for the other")
	require.Contains(t, said.at("one/1/2"), "3666 are left for this, and no agent finishes with fewer than 4096")
}

// Calls that ask for nothing take no share from the one that does, and a command takes no tokens.
func TestOnlyWhatTakesTokensHasAShare(t *testing.T) {
	t.Parallel()
	mod := spec.Role{Name: "mod", Description: "mods", Executor: spec.ExecutorCommand, Command: []string{"true"}, Writes: true}
	r := limited(t, 30_000, mod)
	list := []geminitest.Call{delegates("scout", "b")}
	for range 6 {
		list = append(list, callOf(spec.ToolDelegate, map[string]any{"role": "scout"}))
	}
	r.play(parts{
		"one": {
			costing(1000, calls(list...)), costing(22_000, calls(delegates("mod", "b", "files", []any{"f00.txt"}))), costing(1000, submits("done")),
		},
		"one-scout-1-0": {costing(1000, submits("found"))},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, st.Tasks.Order, 1+2, "neither was refused: %v", st.Tasks.Order)
	require.Equal(t, 29_000/2, st.Tasks.ByID["one-scout-1-0"].Grant)
	require.Zero(t, st.Tasks.ByID[st.Tasks.Order[2]].Grant)
}
