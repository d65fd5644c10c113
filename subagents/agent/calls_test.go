package agent

import (
	"context"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"github.com/stretchr/testify/require"
)

// nestedTree cannot be saved the first time.
type nestedTree struct{ fakeTree }

func (n *nestedTree) Save(ctx context.Context) (*spec.Patch, error) {
	if n.saves++; n.saves == 1 {
		return nil, &workspace.ContentError{Why: "git repositories within the work tree (sub): remove their .git"}
	}
	return n.fakeTree.Save(ctx)
}

func TestWhatCannotBeSavedCannotBeHandedIn(t *testing.T) {
	t.Parallel()
	both := modeltest.Submits("too early")
	both.Parts = append(both.Parts, modeltest.CallsTool("write", map[string]any{"text": "x"}).Parts...)
	s := &modeltest.Script{Steps: []modeltest.Step{both, modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, echo("write", false))
	a.Tree = &nestedTree{fakeTree{files: []string{"a.go"}}}
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "ok", r.Handoff.Summary)
	require.Equal(t, []string{"a.go"}, r.Patch.Files)
	parts := s.Sent()[1].Contents[len(s.Sent()[1].Contents)-1].Parts
	require.Contains(t, parts[0].FunctionResponse.Response["error"], "sub")
}

func TestWordsOfAPlannerAfterALimitSaySo(t *testing.T) {
	t.Parallel()
	s := &modeltest.Script{Steps: []modeltest.Step{modeltest.Says("that is all")}}
	a := testAgent(t, journaltest.New(), s, echo(spec.ToolDispatch, false))
	a.Bounds.Turns = 1
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, wire.FaultTurns, r.LimitHit)
}
