package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/run"
)

func saves(name, content string) geminitest.Call {
	return callOf(spec.ToolSaveArtifact, map[string]any{"name": name, "content": content})
}

// An agent saves artifacts; its child is given one by name, and a task that asks for one by name has its text.
func TestSavedArtifactsAreReadByChildrenAndInputs(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolReadFile, spec.ToolSaveArtifact, spec.ToolDelegate),
			agentRole("scout", spec.ToolReadFile, spec.ToolLoadArtifact), agentRole("blind", spec.ToolReadFile))
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "lead", Brief: "b"},
			spec.Task{ID: "two", Role: "scout", Brief: "b", DependsOn: []string{"one"}, Inputs: []string{"one/names.md"}},
		)
	})
	load := func(handle string) geminitest.Answer {
		return calls(callOf(spec.ToolLoadArtifact, map[string]any{"handle": handle}))
	}
	const first = "artifact:one/1/names.md@1#0a7a5070"
	said := r.play(parts{
		"one": {
			calls(saves("names.md", "older names"), callOf(spec.ToolSaveArtifact, map[string]any{"name": "f", "path": "f00.txt"})),
			calls(saves("names.md", "newer names")),
			calls(delegates("scout", "Check.", "artifacts", []any{"names.md", "names.md", first}),
				delegates("scout", "Check.", "artifacts", []any{"nmaes.md"}),
				delegates("blind", "Check.", "artifacts", []any{"names.md"})),
			submits("done"),
		},
		"one-scout-3-0": {load("artifact:one/1/names.md@2#eda9783d"), submits("checked")},
		"two":           {submits("read")},
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	saved := st.Tasks.ByID["one"].Result.Handoff.Artifacts
	require.Len(t, saved, 2, "the newest of each name, without a word of the agent: %v", saved)
	require.Contains(t, said.at("one-scout-3-0/1/1"), saved[1], "it is told what it was given")
	require.Contains(t, said.at("one-scout-3-0/1/2"), "newer names")
	require.Contains(t, said.at("one/1/4"), `artifact \"nmaes.md\" cannot be read`)
	require.Contains(t, said.at("one/1/4"), "role blind has no load_artifact")
	require.Len(t, st.Tasks.Order, 3, "what was refused made no task")
	require.Contains(t, said.at("two/1/1"), "newer names")
	require.NotContains(t, said.at("two/1/1"), "older names")
	require.Equal(t, []string{"f", "names.md"}, []string{st.Works["one"].Attempts[1].Saved[0].Name, st.Works["one"].Attempts[1].Saved[1].Name})
}

// An agent names in its result what it has saved, by its name: also what the same turn saves.
func TestAResultNamesArtifactsByTheirNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(3), func(s *run.Spec) {
		addRoles(s, agentRole("lead", spec.ToolSaveArtifact))
		s.Plan = planOf(spec.Task{ID: "one", Role: "lead", Brief: "b"})
	})
	r.play(parts{"one": {
		calls(saves("early.md", "early words")),
		calls(saves("late.md", "late words"), callOf(spec.ToolSubmitResult, map[string]any{
			"summary": "done", "artifacts": []any{"late.md", "early.md"},
		})),
	}})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, 2, st.Works["one"].Attempts[1].Turns, "nothing was refused")
	named := st.Tasks.ByID["one"].Result.Handoff.Artifacts
	require.Len(t, named, 2)
	require.Contains(t, named[0], "/late.md@1#")
	require.Contains(t, named[1], "/early.md@1#")
}
