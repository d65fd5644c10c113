package conduct

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/orchestrator/depot"
)

// behind tells that a base commit lacks commits of the branch of a remote. It is compared with what the person has fetched; a run
// fetches nothing.
func (h *Half) behind(ctx context.Context, base string) []string {
	b, err := h.Git.Behind(ctx, h.Checkout, base)
	if err != nil {
		h.Log.Warn().Err(err).Msg("the base was not compared with its remote")
		return nil
	}
	return tellBehind(b, base)
}

func tellBehind(b git.Behind, base string) []string {
	if b.Commits == 0 {
		return nil
	}
	as := "as your repository has it"
	if !b.Fetched.IsZero() {
		as = fmt.Sprintf("as you fetched it %s ago", text.Age(depot.Now().Sub(b.Fetched)))
	}
	return []string{fmt.Sprintf("the run begins at %.12s, %s behind %s, %s; to begin there: git pull, then start it again",
		base, text.Count(b.Commits, "commit"), b.Ref, as)}
}
