package slice

import (
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// compacted returns the session with its newest snapshot, as one event that its agent noted, in place of the events that it
// stands for; steering stays. Descendants take it over: nobody summarises the same events again.
func compacted(s contextscope.Session) contextscope.Session {
	for i, e := range slices.Backward(s) {
		c, ok := compaction.Of(e)
		if !ok || !c.Effective() || c.Snapshot == "" {
			continue
		}
		note := s[i]
		note.Author, note.Data = note.Agent, nil
		note.Content = genai.NewContentFromText(noted+c.Snapshot, genai.RoleModel)
		rest := slices.DeleteFunc(slices.Clone(s), func(e contextscope.Event) bool {
			return e.Kind == contextscope.KindCompaction || e.Seq <= c.To && e.Kind != contextscope.KindSteering
		})
		return append(contextscope.Session{note}, rest...)
	}
	return s
}

// noted opens a snapshot that another agent inherits.
const noted = "My notes on everything before this:\n"

// withoutEnd returns the session without the call with which its agent ended, and the result of that call; what it said with
// them stays.
func withoutEnd(s contextscope.Session) contextscope.Session {
	turn := s.LastTurn()
	out := slices.Clone(s)
	for i := max(0, turn); i < len(out); i++ {
		if out[i].Content == nil || out[i].Kind != contextscope.KindTurn && out[i].Kind != contextscope.KindTool {
			continue
		}
		out[i].Content = content.Keep(out[i].Content, func(p *genai.Part) bool {
			return (p.FunctionCall == nil || !ends(p.FunctionCall.Name)) &&
				(p.FunctionResponse == nil || !ends(p.FunctionResponse.Name))
		})
	}
	return slices.DeleteFunc(out, func(e contextscope.Event) bool { return e.Kind == contextscope.KindTurn && e.Content == nil })
}

// ends says whether an agent ends with a tool, and hands over what the call holds.
func ends(tool string) bool { return tool == spec.ToolSubmitResult || tool == spec.ToolTransfer }
