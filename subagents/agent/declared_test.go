package agent

import (
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func TestToolsAreDeclaredOnceTheyCanBeUsed(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(nil, nil, artifacts.Tools(artifacts.Config{})...)
	require.NoError(t, err)
	names := func(in *compile.Input, events ...contextscope.Event) (out []string) {
		s, err := restore(events)
		require.NoError(t, err)
		for _, d := range declared(set.Declarations(), in, s) {
			if d.Name != spec.ToolSaveArtifact { // each role that lists it can use it
				out = append(out, d.Name)
			}
		}
		return out
	}
	started := func(notes bool) contextscope.Event {
		return wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1, Notes: notes})
	}
	kept := wire.Draft(contextscope.KindTool, wire.Tooled{Kept: []contextscope.Listed{{Handle: "artifact:a@1#aa"}}})
	none := wire.Draft(contextscope.KindTool, wire.Tooled{})
	memory, load := []string{spec.ToolLoadMemory, spec.ToolSaveMemory}, []string{spec.ToolLoadArtifact}
	require.Empty(t, names(&compile.Input{}, started(false), none))
	require.Equal(t, memory, names(&compile.Input{}, started(true)))
	require.Empty(t, names(&compile.Input{}, started(true), started(false)), "the newest delivery counts")
	require.Equal(t, load, names(&compile.Input{}, started(false), kept, none), "it stays")
	for name, in := range map[string]compile.Input{
		"handoffs": {Brief: compile.Brief{Inputs: []compile.Handoff{{Task: "a"}}}},
		"attempts": {Brief: compile.Brief{Prior: []compile.Prior{{Attempt: 1}}}},
		"events":   {Events: []contextscope.Event{{}}},
		"rules":    {Role: spec.Role{Context: spec.ContextRules{DropAfter: 1}}},
	} {
		require.Equal(t, load, names(&in), name)
	}
}
