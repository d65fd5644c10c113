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
// stands for; steering stays. Descendants inherit it, so that no model summarises the same events twice.
func compacted(s contextscope.Session) contextscope.Session {
	h := compaction.HorizonOf(s)
	if h.Snapshot == "" {
		return s
	}
	note := s[h.By]
	note.Author, note.Data = note.Agent, nil
	note.Content = genai.NewContentFromText(noted+h.Snapshot, genai.RoleModel)
	out := contextscope.Session{note}
	for i, e := range s {
		if e.Kind != contextscope.KindCompaction && (i >= h.Covered || e.Kind == contextscope.KindSteering) {
			out = append(out, e)
		}
	}
	return out
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
