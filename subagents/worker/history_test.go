package worker

import (
	"encoding/json"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// toldBy returns what the tools answered in a request, by name; the newest of each.
func toldBy(contents []*genai.Content) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				out[p.FunctionResponse.Name] = p.FunctionResponse.Response
			}
		}
	}
	return out
}

// land puts a commit with files on the integration branch, as landing does.
func (s *site) land(task string) string {
	s.t.Helper()
	s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("sub/"+task+".txt", "made by "+task+"\n"), modeltest.Submits("did it")}}, "generator")
	a := s.assignment(writer, task)
	s.enqueue(a)
	p := s.result(a).Patch
	require.NotNil(s.t, p)
	pack, err := s.bus.Get(s.t.Context(), p.Pack)
	require.NoError(s.t, err)
	require.NoError(s.t, s.mirror.Import(s.t.Context(), pack))
	message := "Add " + task + "\n\nDivisi-Run: r1\nDivisi-Task: " + task + "\nDivisi-Attempt: 1\nDivisi-Role: generator\n"
	id, err := s.mirror.CommitTree(p.Tree, []string{s.head}, message, author, author, time.Unix(1e9, 0))
	require.NoError(s.t, err)
	return id
}

func TestAgentSeesHistoryAndItsOwnChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	landed := s.land("t0")
	role := writer
	role.Name = "reader"
	role.Tools = []string{spec.ToolWriteFile, spec.ToolGitLog, spec.ToolGitDiff, spec.ToolGlob, spec.ToolRunCommand}
	call := func(name string, args map[string]any) *genai.Part { return genai.NewPartFromFunctionCall(name, args) }
	m := &modeltest.Script{Steps: []modeltest.Step{
		{Parts: []*genai.Part{
			call(spec.ToolWriteFile, map[string]any{"path": ".gitignore", "content": "*.o\n"}),
			call(spec.ToolWriteFile, map[string]any{"path": "x.o", "content": "object\n"}),
			call(spec.ToolGitLog, nil),
			call(spec.ToolGitDiff, nil),
			call(spec.ToolGlob, map[string]any{"patterns": []any{"*.o", "t0.*"}}),
		}},
		{Parts: []*genai.Part{
			call(spec.ToolGitLog, map[string]any{"path": "a.txt"}),
			call(spec.ToolGitDiff, map[string]any{"commit": landed[:12]}),
		}},
		modeltest.CallsTool(spec.ToolGitDiff, map[string]any{"commit": s.head}),
		modeltest.CallsTool(spec.ToolGitDiff, map[string]any{"commit": "--output=x"}),
		modeltest.CallsTool(spec.ToolGitDiff, map[string]any{"path": "sub"}),
		modeltest.Submits("seen"),
	}}
	s.work(m, "reader")
	a := s.assignment(role, "t1")
	a.Head = landed
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	seen := make([]map[string]map[string]any, 6)
	for i := range seen {
		seen[i] = toldBy(m.Sent()[i].Contents)
	}
	require.Equal(t, landed[:12]+" Add t0 (task t0, attempt 1, role generator)\n"+s.head[:12]+
		" first (here the run began)\n", seen[1][spec.ToolGitLog]["output"])
	require.Contains(t, seen[1][spec.ToolGitDiff]["output"], "+++ b/.gitignore\n")
	require.NotContains(t, seen[1][spec.ToolGitDiff]["output"], "x.o", "what git ignores is no change")
	require.Equal(t, "sub/t0.txt\n[1 more match that git ignores; set ignored to see them]\n", seen[1][spec.ToolGlob]["output"])
	require.Contains(t, seen[2][spec.ToolGitLog]["output"], "no commit of this run changed a.txt")
	require.Contains(t, seen[2][spec.ToolGitDiff]["output"], "+made by t0\n")
	require.Contains(t, seen[3][spec.ToolGitDiff]["error"], "the run began on that commit")
	require.Contains(t, seen[4][spec.ToolGitDiff]["error"], "there is no commit")
	require.Equal(t, "[nothing has changed]", seen[5][spec.ToolGitDiff]["output"])
}

func TestAgentRunsGatesInItsOwnTree(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	role := writer
	role.Tools = []string{spec.ToolWriteFile, spec.ToolRunGates, spec.ToolUpdatePlan}
	m := &modeltest.Script{Steps: []modeltest.Step{
		writesFile("a.txt", "bad\n"), modeltest.CallsTool(spec.ToolRunGates, nil),
		modeltest.CallsTool(spec.ToolUpdatePlan, map[string]any{"items": []any{"doing: half of it"}}), modeltest.Submits("tried"),
	}}
	s.work(m, "generator")
	a := s.assignment(role, "t1")
	a.Task.Gates = []string{"no-bad", "env"}
	a.Project.Gates = []spec.Gate{
		{Name: "never", Command: []string{"false"}},
		{Name: "no-bad", Command: []string{"sh", "-c", "echo a.txt:1: bad; echo b.txt:1: worse; exit 1"}},
		{Name: "env", Command: []string{"sh", "-c", `test -z "$GIT_DIR" && echo "$GOCACHE" | grep /agents/ && echo litter > litter`}},
	}
	a.Baseline = map[string]spec.Receipt{"no-bad": {Gate: "no-bad", ExitCode: 1, Signatures: []string{"b.txt: worse"}}}
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Empty(t, r.Receipts, "what an agent runs is no proof")
	got := toldBy(m.Sent()[2].Contents)[spec.ToolRunGates]
	require.EqualValues(t, 1, got["red"], "%v", got)
	require.Regexp(t, `^no-bad: fail \(exit code 1\): sh -c .*\n- new: a.txt: bad\na.txt:1: bad\nb.txt:1: worse\nenv: pass`,
		got["output"])
	require.Equal(t, []string{"a.txt", "litter"}, r.Patch.Files, "what a gate leaves is saved like all else")
	require.Equal(t, []spec.Step{{State: spec.StepDoing, Text: "half of it"}}, s.steps(a))
}

// steps are the newest plan that the agent of an attempt keeps.
func (s *site) steps(a *wire.Assignment) (newest []spec.Step) {
	for e := range s.tail(s.t.Context(), a) {
		var d wire.Tooled
		switch e.Kind {
		case contextscope.KindTool:
			require.NoError(s.t, json.Unmarshal(e.Data, &d))
			if len(d.Steps) > 0 {
				newest = d.Steps
			}
		case contextscope.KindResult:
			return newest
		}
	}
	return newest
}
