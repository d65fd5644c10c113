package contextscope

import (
	"slices"
	"strings"

	"google.golang.org/genai"
)

// authorUser is the author of what a person, or the conductor in a person's place, says.
const authorUser = "user"

// transferTool hands a conversation over in ADK; its events never start a turn.
const transferTool = "transfer_to_agent"

// frameworkTools are calls that the framework makes to its caller; the model never made them and must not see them.
var frameworkTools = []string{"adk_framework", "adk_request_credential", "adk_request_confirmation"}

// item is one event on its way into a request. Steps replace items and contents; they never write into them.
type item struct {
	author  string
	branch  string
	content *genai.Content
	// src is the event's place in the session; -1 for a content that no event holds.
	src int
	// told says that the content is a narrative of another agent's event.
	told bool
	// merged are the places of further events that the content was merged from.
	merged []int
}

// viewer is whose request is being compiled: what it may see depends on it.
type viewer struct {
	agent  string
	branch string
}

// foreign says whether another agent wrote the item.
func (v viewer) foreign(it item) bool {
	return v.agent != "" && it.author != v.agent && it.author != authorUser
}

// leftOut says why the viewer must not see the item, or "" when it does see it.
func (v viewer) leftOut(it item, calls map[string]bool) string {
	switch {
	case empty(it.content):
		return "nothing in it that a model can see"
	case !v.sees(it.branch):
		return "branch " + it.branch + " is not visible from " + v.branch
	case framework(it.content):
		return "a call or result of the framework"
	case v.toolBranch(it.branch, calls):
		return "progress of a tool, on branch " + it.branch
	default:
		return ""
	}
}

// sees says whether a branch is visible: its own and its ancestors' are, its siblings' and descendants' are not.
// The dot is part of the comparison: agent_0 is no ancestor of agent_00.
func (v viewer) sees(branch string) bool {
	return v.branch == "" || branch == "" || branch == v.branch || strings.HasPrefix(v.branch, branch+".")
}

// toolBranch says whether the branch lies below the viewer's own on a segment tool@call: what a tool publishes there is
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

// empty says whether a content holds nothing for a model: no role, no parts, or only invisible ones.
func empty(c *genai.Content) bool {
	return c == nil || c.Role == "" || !slices.ContainsFunc(c.Parts, visible)
}

// visible says whether a model gets something from a part. Calls, results, signatures and what a server-side tool left
// must be echoed even on a thought; other thoughts, and parts with nothing in them, are invisible.
func visible(p *genai.Part) bool {
	if p == nil {
		return false
	}
	if p.FunctionCall != nil || p.FunctionResponse != nil || len(p.ThoughtSignature) > 0 ||
		p.ToolCall != nil || p.ToolResponse != nil {
		return true
	}
	return !p.Thought && (p.Text != "" || p.InlineData != nil || p.FileData != nil || p.ExecutableCode != nil ||
		p.CodeExecutionResult != nil)
}

func framework(c *genai.Content) bool {
	return slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && slices.Contains(frameworkTools, p.FunctionCall.Name) ||
			p.FunctionResponse != nil && slices.Contains(frameworkTools, p.FunctionResponse.Name))
	})
}

func hasCalls(c *genai.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionCall != nil })
}

func hasResponses(c *genai.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionResponse != nil })
}

// transfer says whether the item hands the conversation over, or is the result of that.
func transfer(c *genai.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && p.FunctionCall.Name == transferTool ||
			p.FunctionResponse != nil && p.FunctionResponse.Name == transferTool)
	})
}

// callIDs returns the ids of all calls.
func callIDs(items []item) map[string]bool {
	ids := map[string]bool{}
	for _, it := range items {
		eachCall(it.content, func(fc *genai.FunctionCall) {
			if fc.ID != "" {
				ids[fc.ID] = true
			}
		})
	}
	return ids
}

func eachCall(c *genai.Content, visit func(*genai.FunctionCall)) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil {
			visit(p.FunctionCall)
		}
	}
}

func eachResponse(c *genai.Content, visit func(*genai.FunctionResponse)) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p != nil && p.FunctionResponse != nil {
			visit(p.FunctionResponse)
		}
	}
}

// turnStart finds where the current turn begins, for the scope `none`: the newest item that starts may begin a turn at,
// walking back past every result that posted counts and whose call has not been met yet. It is -1 when there is none.
func turnStart(items []item, calls map[string]bool, starts func(item) bool, posted func(item) bool) int {
	open := map[string]bool{}
	for i := len(items) - 1; i >= 0; i-- {
		it := items[i]
		eachCall(it.content, func(fc *genai.FunctionCall) { delete(open, fc.ID) })
		result := posted(it)
		if result {
			eachResponse(it.content, func(fr *genai.FunctionResponse) {
				if calls[fr.ID] {
					open[fr.ID] = true
				}
			})
		}
		if len(open) == 0 && !result && starts(it) {
			return i
		}
	}
	return -1
}
