package worker

import (
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/brief"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func judges(args map[string]any) modeltest.Step {
	return modeltest.CallsTool(spec.ToolSubmitResult, args)
}

// item is a judge's answer on one constraint.
func item(number int, kept bool, note string) map[string]any {
	return map[string]any{"number": number, "kept": kept, "note": note}
}

func TestTheConstraintsAreTheJudgesChecklist(t *testing.T) {
	t.Parallel()
	judge := spec.Role{Name: "tester", Executor: spec.ExecutorModel, Model: "m", Tools: []string{spec.ToolReadFile}}
	verdict := func(v string, items ...any) map[string]any {
		return map[string]any{
			"summary": v, "output": map[string]any{"verdict": v, "reasons": []any{}}, "constraints": items,
		}
	}
	tests := map[string]struct {
		Steps  []modeltest.Step
		class  string
		detail string
		calls  int
	}{
		"kept": {[]modeltest.Step{judges(verdict("pass", item(1, true, ""), item(2, true, "a.txt:1")))}, "", "", 1},
		"broken": {
			[]modeltest.Step{judges(verdict("fail", item(1, true, ""), item(2, false, "c.txt is new")))},
			wire.FaultConstraint, "Not kept: no new files (c.txt is new)", 1,
		},
		"a-pass-with-one-broken": {
			[]modeltest.Step{judges(verdict("pass", item(1, true, ""), item(2, false, "c.txt is new")))},
			wire.FaultNoResult, "Not kept: no new files (c.txt is new)", 1,
		},
		"a-fail-without-a-fault": {
			[]modeltest.Step{judges(verdict("fail", item(1, true, ""), item(2, true, "")))}, wire.FaultNoResult, "", 1,
		},
		"every-item-is-answered": {
			[]modeltest.Step{judges(verdict("pass", item(1, true, ""))), judges(verdict("pass", item(2, true, ""), item(1, true, "")))},
			"", "", 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "changed line\n"), modeltest.Submits("ok")}}, "generator")
			gen := s.assignment(writer, "t1")
			s.enqueue(gen)
			patch := s.result(gen).Patch
			m := &modeltest.Script{Steps: tt.Steps}
			s.work(m, "tester")
			a := s.assignment(judge, "t1--verify")
			a.Patch, a.Task.Constraints = patch, []string{"keep the API", "no new files", "keep the API"}
			a.Inputs = []wire.Input{{Task: "t1", Role: "generator", Handoff: spec.Handoff{
				Summary: "did it", Constraints: []spec.ConstraintEcho{{Text: "keep the API", Kept: true}},
			}}}
			s.enqueue(a)
			r := s.result(a)
			require.Len(t, m.Sent(), tt.calls)
			require.Len(t, r.Handoff.Constraints, 2)
			if tt.class == "" {
				require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
			} else {
				require.Equal(t, tt.class, r.Error.Class)
				require.Contains(t, r.Error.Detail, tt.detail)
			}
			brief := m.Sent()[0].Contents[0].Parts[0].Text
			require.Contains(t, brief, "1. keep the API\n2. no new files\n\n")
			require.Contains(t, brief, "- kept: keep the API", "the author's claim is shown")
			require.Contains(t, brief, "The constraints are your checklist.")
		})
	}
}

func TestATaskThatFitsNoRequestCostsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("never")}}
	s.work(m, "generator", "tester")
	a := s.assignment(writer, "t1")
	a.Project.Models = map[string]spec.Model{"m": {Name: "m", Window: 8_000, MaxOutput: 1_000}}
	a.Task.Brief = strings.Repeat("much to do ", 4_000)
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusFailed, r.Status)
	require.Equal(t, wire.FaultTooBig, r.Error.Class)
	require.Regexp(t, `t1/1 has about 1\d{4} tokens before its first turn, and a request of role generator can have 7000: brief 11\d{3}, tools`,
		r.Error.Message)
	require.Empty(t, m.Sent())
	require.Zero(t, r.Usage.Total())
}

func TestAJudgesDiffLeavesRoomInItsWindow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", strings.Repeat("changed line\n", 9_000)), modeltest.Submits("ok")}}, "generator")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	patch := s.result(gen).Patch
	m := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool(spec.ToolSubmitResult, map[string]any{
		"summary": "s", "output": map[string]any{"verdict": "pass", "reasons": []any{}},
	})}}
	s.work(m, "tester")
	a := s.assignment(spec.Role{Name: "tester", Executor: spec.ExecutorModel, Model: "m"}, "t1--verify")
	a.Patch, a.Project.Models = patch, map[string]spec.Model{"m": {Name: "m", Window: 16_000}}
	s.enqueue(a)
	require.Equal(t, spec.StatusDone, s.result(a).Status)
	brief := m.Sent()[0].Contents[0].Parts[0].Text
	require.Contains(t, brief, "the whole is in your tree")
	require.Less(t, len(brief), 6_500*4)
	require.Greater(t, len(brief), 5_000*4)
}

func TestInputHasTheInstructionFilesOfTheCommitThatTheAttemptStartsFrom(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{
		writesFile("AGENTS.md", "Obey the patch.\n"), writesFile("sub/CLAUDE.md", "Sub.\n@gone.md\n"), modeltest.Submits("ok"),
	}}, "generator")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	patch := s.result(gen).Patch
	require.NoError(t, fetch(t.Context(), s.mirror, s.bus, patch))

	a := s.assignment(writer, "t2")
	a.Task.Files, a.Project.Models = []string{"sub/*.txt", "sub/deep/x.txt"}, map[string]spec.Model{"m": {Name: "m", Window: 4_000}}
	in, err := brief.Input(t.Context(), s.bus, s.bus, nil, s.mirror, a)
	require.NoError(t, err)
	require.Empty(t, in.Guides)
	require.Equal(t, 3_000, in.Window)
	a.Head = patch.Commit
	in, err = brief.Input(t.Context(), s.bus, s.bus, nil, s.mirror, a)
	require.NoError(t, err)
	require.Equal(t, []contextscope.Guide{
		{Path: "AGENTS.md", Text: "Obey the patch."},
		{Path: "sub/CLAUDE.md", Text: "Sub.\n@gone.md"},
		{Path: "What was left out of them", Text: "sub/gone.md is referred to and is not there"},
	}, in.Guides)
	a.Patch = patch
	in, err = brief.Input(t.Context(), s.bus, s.bus, nil, s.mirror, a)
	require.NoError(t, err)
	require.Empty(t, in.Guides, "a patch does not guide its own judge")
}
