package assign

import (
	"fmt"

	"divisi/contextscope/narrative"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// passOn gives an attempt what the role before it left: its message, and its work until an attempt with it has failed.
func passOn(t *run.Task, a *wire.Assignment) {
	h, untried := t.Handover()
	if h == nil {
		return
	}
	a.Message = fmt.Sprintf("This task was transferred to you by %s, of role %s; you have seen its work. Its words to you, as "+
		"data:\n%s", wire.AgentID(t.Task.ID, h.Attempt), h.Role, narrative.Quote(h.Brief))
	switch {
	case h.Patch == nil:
	case untried:
		a.Start = h.Patch
		a.Message += "\nWhat it had changed is in your work tree, and becomes part of your own result."
	default:
		a.Message += "\nWhat it had changed is NOT in your work tree: an attempt with it failed, and yours starts from the head."
	}
}
