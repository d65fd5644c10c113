package adk

import (
	"slices"
	"strings"

	"divisi/contextscope/content"
	"divisi/contextscope/pairing"

	"google.golang.org/genai"
)

// transferTool hands a conversation over in ADK; its events never start a turn.
const transferTool = "transfer_to_agent"

// frameworkTools are calls that the framework makes to its caller; the model never made them and must not see them.
var frameworkTools = []string{"adk_framework", "adk_request_credential", "adk_request_confirmation"}

// viewer is whose request is being compiled: what it may see depends on it.
type viewer struct {
	agent  string
	branch string
}

// foreign reports whether another agent wrote the item.
func (v viewer) foreign(it pairing.Item) bool {
	return v.agent != "" && it.Author != v.agent && it.Author != pairing.User
}

// leftOut gives the reason why the viewer must not see the item, or "" when it does see it.
func (v viewer) leftOut(it pairing.Item, calls map[string]bool) string {
	switch {
	case content.Empty(it.Content):
		return "nothing in it that a model can see"
	case !v.sees(it.Branch):
		return "branch " + it.Branch + " is not visible from " + v.branch
	case framework(it.Content):
		return "a call or result of the framework"
	case v.toolBranch(it.Branch, calls):
		return "progress of a tool, on branch " + it.Branch
	default:
		return ""
	}
}

// sees reports whether a branch is visible: its own and its ancestors' are, its siblings' and descendants' are not.
// The dot is part of the comparison: agent_0 is no ancestor of agent_00.
func (v viewer) sees(branch string) bool {
	return v.branch == "" || branch == "" || branch == v.branch || strings.HasPrefix(v.branch, branch+".")
}

// toolBranch reports whether the branch lies below the viewer's own on a segment tool@call: what a tool publishes there is
// progress for people; the model gets the tool's result.
func (v viewer) toolBranch(branch string, calls map[string]bool) bool {
	if !strings.Contains(branch, "@") {
		return false
	}
	below, ok := branch, true
	if v.branch != "" {
		below, ok = strings.CutPrefix(branch, v.branch+".")
	}
	if !ok {
		return false
	}
	return slices.ContainsFunc(strings.Split(below, "."), func(segment string) bool {
		at := strings.LastIndex(segment, "@")
		return at >= 0 && segment[:at] != v.agent && calls[segment[at+1:]]
	})
}

func framework(c *genai.Content) bool {
	return slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && slices.Contains(frameworkTools, p.FunctionCall.Name) ||
			p.FunctionResponse != nil && slices.Contains(frameworkTools, p.FunctionResponse.Name))
	})
}

// transfer reports whether the item hands the conversation over, or is the result of that.
func transfer(c *genai.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && p.FunctionCall.Name == transferTool ||
			p.FunctionResponse != nil && p.FunctionResponse.Name == transferTool)
	})
}
