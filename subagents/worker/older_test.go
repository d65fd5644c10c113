package worker

import (
	"fmt"
	"strings"
	"testing"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

// olderLog is what a worker of the version before appended for an attempt: usage without the size of the request, a patch that
// was applied, and, in a turn whose calls were not run before the worker stopped, another patch and an edit_file in its old form.
var olderLog = []string{
	`[{"kind":"started","data":{"delivery":1,"worker":"w","slot":"slot0","time":"2026-11-20T10:00:00Z"}}]`,
	`[{"kind":"brief","author":"user","content":{"role":"user","parts":[{"text":"change it"}]}}]`,
	`[{"kind":"turn","data":{"model":"m","finish":"STOP"},"content":{"role":"model","parts":[
		{"functionCall":{"id":"c1","name":"apply_patch","args":{"patch":"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+uno\n"}}}]}},
	  {"kind":"usage","data":{"calls":1,"prompt":40,"output":9}}]`,
	`[{"kind":"tool","author":"user","data":{"clean":true},"content":{"role":"user","parts":[
		{"functionResponse":{"id":"c1","name":"apply_patch","response":{"output":"a.txt: 1 hunk"}}}]}}]`,
	`[{"kind":"turn","data":{"model":"m","finish":"STOP"},"content":{"role":"model","parts":[
		{"functionCall":{"id":"c2","name":"apply_patch","args":{"patch":"--- a/a.txt\n"}}},
		{"functionCall":{"id":"c3","name":"edit_file","args":{"path":"a.txt","old_text":"one","new_text":"two"}}}]}},
	  {"kind":"usage","data":{"calls":1,"prompt":60,"output":12}}]`,
}

// appendOlder puts the messages on the subject of an attempt, with the fields that every event has.
func (s *site) appendOlder(a *wire.Assignment, messages []string) {
	s.t.Helper()
	var last uint64
	seq := 0
	for _, m := range messages {
		events := strings.SplitAfter(m, `{"kind"`)
		for i := range events[:len(events)-1] {
			seq++
			head := fmt.Sprintf(`{"v":1,"id":"old%d","run":%q,"task":%q,"attempt":1,"agent":%q,"role":%q,"seq":%d,`+
				`"time":"2026-11-20T10:00:00Z",`, seq, a.Run, a.Task.ID, a.Agent(), a.Role.Name, seq)
			events[i] = strings.TrimSuffix(events[i], `{"kind"`) + head + `"kind"`
		}
		var err error
		last, err = s.bus.Append(s.t.Context(), bus.AttemptSubject(a.Run, a.Role.Name, a.Task.ID, 1),
			[]byte(strings.Join(events, "")), last)
		require.NoError(s.t, err)
	}
}

func TestAnAttemptOfTheVersionBeforeIsContinued(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	role := writer
	role.Tools = []string{"apply_patch", "report_progress", spec.ToolReadFile, spec.ToolEditFile}
	a := s.assignment(role, "t1")
	s.appendOlder(a, olderLog)
	edit := map[string]any{"path": "a.txt", "old_text": "one", "new_text": "two"}
	s.work(&modeltest.Script{Steps: []modeltest.Step{
		{}, {}, // the older version asked for these
		modeltest.CallsTool(spec.ToolEditFile, map[string]any{"edits": []any{edit}}), modeltest.Submits("edited"),
	}}, "generator")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Equal(t, []string{"a.txt"}, r.Patch.Files)
	require.Equal(t, 4, r.Usage.Calls, "the older version's calls count")
	var answered []string
	for e := range s.tail(t.Context(), a) {
		require.NotEqual(t, contextscope.KindUnreadable, e.Kind, "%s", e.Data)
		if e.Kind == contextscope.KindTool && answered == nil && e.Seq > 6 {
			for _, p := range e.Content.Parts {
				answered = append(answered, fmt.Sprint(p.FunctionResponse.Response["error"]))
			}
		}
		if e.Kind == contextscope.KindResult {
			break
		}
	}
	require.Len(t, answered, 2)
	require.Contains(t, answered[0], `there is no tool "apply_patch"`)
	require.Contains(t, answered[1], "edits")
	explainer, err := Explain(t.Context(), s.bus, s.mirror, a, nil)
	require.NoError(t, err)
	x, err := explainer.Turn(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 4, x.Turns)
	require.Equal(t, 40, x.Reported.Prompt)
}
