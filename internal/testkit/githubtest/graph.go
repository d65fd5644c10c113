package githubtest

import (
	"strings"
)

// graph answers the queries and mutations that exist in GraphQL alone.
func (h *Hub) graph(c *call) (any, *fault) {
	var in struct {
		Query     string
		Variables struct{ ID, SHA string }
	}
	if bad := c.in(&in); bad != nil {
		return nil, bad
	}
	refused := func(message string) (any, *fault) {
		return map[string]any{"data": nil, "errors": []any{map[string]string{
			"type":    "UNPROCESSABLE",
			"message": message,
		}}}, nil
	}
	n := number(strings.TrimPrefix(in.Variables.ID, "PR_"))
	if n < 1 || int(n) > len(h.Pulls) {
		return refused("Could not resolve to a node")
	}
	p := h.Pulls[n-1]
	guarded := strings.Contains(in.Query, "expectedHeadOid")
	switch {
	case strings.Contains(in.Query, "isInMergeQueue"):
		return map[string]any{"data": map[string]any{"node": map[string]bool{"isInMergeQueue": p.Queued}}}, nil
	case !c.as.Push:
		return refused("Resource not accessible by personal access token")
	case guarded && in.Variables.SHA != h.Head(p.Head):
		return refused("Head sha didn't match the expected head")
	case strings.Contains(in.Query, "enqueuePullRequest") && h.o.Queue:
		p.Queued = true
	case strings.Contains(in.Query, "enablePullRequestAutoMerge") && h.o.AutoMerge && !h.o.Queue:
		p.Auto = true
	case strings.Contains(in.Query, "convertPullRequestToDraft"):
		p.Draft = true
	case strings.Contains(in.Query, "markPullRequestReadyForReview"):
		p.Draft = false
	default:
		return refused("Pull request auto merge is not allowed for this repository")
	}
	h.settle()
	return map[string]any{"data": map[string]any{}}, nil
}
