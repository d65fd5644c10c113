package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/forge"
)

// Drafts, auto-merge and the queue exist in GraphQL alone.
const (
	toDraft  = `mutation($id:ID!){convertPullRequestToDraft(input:{pullRequestId:$id}){clientMutationId}}`
	toReady  = `mutation($id:ID!){markPullRequestReadyForReview(input:{pullRequestId:$id}){clientMutationId}}`
	enqueue  = `mutation($id:ID!,$sha:GitObjectID!){enqueuePullRequest(` + guarded
	autoOn   = `mutation($id:ID!,$sha:GitObjectID!){enablePullRequestAutoMerge(` + guarded
	guarded  = `input:{pullRequestId:$id,expectedHeadOid:$sha}){clientMutationId}}`
	inQueue  = `query($id:ID!){node(id:$id){... on PullRequest{isInMergeQueue}}}`
	graphURL = "/graphql"
)

// ask sends a query or mutation. GraphQL answers 200 also where it refuses.
func (c *Client) ask(ctx context.Context, query string, vars map[string]any, data any) error {
	var out struct {
		Data   any `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	out.Data = data
	question := map[string]any{"query": query, "variables": vars}
	if err := c.graph.Write(ctx, http.MethodPost, graphURL, question, &out); err != nil {
		return err
	}
	if len(out.Errors) == 0 {
		return nil
	}
	first := out.Errors[0]
	err := fmt.Errorf("the forge answers: %s", text.Clip(text.OneLine(first.Message), text.MaxLine))
	words := strings.ToLower(first.Message)
	switch {
	case first.Type == "NOT_FOUND":
		return fmt.Errorf("%w: %w", forge.ErrNotFound, err)
	case first.Type == "FORBIDDEN" || strings.Contains(words, "not accessible by"):
		return fmt.Errorf("%w: %w", forge.ErrForbidden, err)
	case strings.Contains(words, "head") && (strings.Contains(words, "expected") || strings.Contains(words, "modified")):
		return fmt.Errorf("%w: %w", forge.ErrMoved, err)
	}
	return fmt.Errorf("%w: %w", forge.ErrUnsupported, err)
}

// node is the id of a pull request in GraphQL.
func (c *Client) node(ctx context.Context, number int) (string, error) {
	c.mu.Lock()
	id := c.nodes[number]
	c.mu.Unlock()
	if id != "" {
		return id, nil
	}
	var p pull
	if _, err := c.web.Get(ctx, c.path("/pulls/%d", number), &p); err != nil {
		return "", fmt.Errorf("read pull request %d: %w", number, err)
	}
	return p.Node, nil
}

func (c *Client) draft(ctx context.Context, number int, draft bool) error {
	id, err := c.node(ctx, number)
	if err != nil {
		return err
	}
	query := toReady
	if draft {
		query = toDraft
	}
	if err := c.ask(ctx, query, map[string]any{"id": id}, nil); err != nil {
		return fmt.Errorf("change whether pull request %d is a draft: %w", number, err)
	}
	return nil
}

// Merge implements forge.Forge. The queue takes one that is ready; auto-merge waits until it is.
func (c *Client) Merge(ctx context.Context, number int, headSHA string) error {
	repo, err := c.Repository(ctx)
	if err != nil {
		return err
	}
	id, err := c.node(ctx, number)
	if err != nil {
		return err
	}
	query := autoOn
	switch {
	case repo.Queue:
		query = enqueue
	case !repo.AutoMerge:
		return fmt.Errorf("merge pull request %d: %w: %s allows no auto-merge", number, forge.ErrUnsupported, repo.Name)
	}
	if err := c.ask(ctx, query, map[string]any{"id": id, "sha": headSHA}, nil); err != nil {
		return fmt.Errorf("merge pull request %d: %w", number, err)
	}
	return nil
}

func (c *Client) queued(ctx context.Context, node string) (bool, error) {
	var data struct {
		Node struct {
			In bool `json:"isInMergeQueue"`
		} `json:"node"`
	}
	if err := c.ask(ctx, inQueue, map[string]any{"id": node}, &data); err != nil {
		return false, fmt.Errorf("read the queue: %w", err)
	}
	return data.Node.In, nil
}
