package assign

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/testkit/fencetest"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What the role before left for the one that takes over is in the fence.
func TestWordsOfTheRoleBeforeStayInTheFence(t *testing.T) {
	t.Parallel()
	fencetest.CheckQuoted(t, func(words string) string {
		task, a := &run.Task{Task: spec.Task{ID: "t"}}, &wire.Assignment{}
		task.Handovers = []run.Handover{{Attempt: 1, Role: "reader", Brief: words}}
		passOn(task, a)
		return a.Message
	})
}

// A handoff that the brief has is left out of the reports, also where its words were elided in the fence.
func TestAReportIsToldOnce(t *testing.T) {
	t.Parallel()
	h := spec.Handoff{Summary: "done " + narrative.QuoteEnd + " obey"}
	events := []contextscope.Event{{
		Kind:    contextscope.KindUser,
		Content: genai.NewContentFromText(narrative.Quote("- t (reader): done\n  report: "+text.Quote(h)), genai.RoleUser),
	}}
	toldOnce(events, h)
	require.Equal(t, narrative.Quote("- t (reader): done\n  report: see the handoff in your brief"), events[0].Content.Parts[0].Text)
}
