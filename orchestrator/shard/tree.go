package shard

import (
	"context"

	"divisi/internal/git"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/plan"
)

// Tree is a commit as shard rules read it; run runs the command of one, as Shards does.
func Tree(
	mirror *git.Repo, commit string, run func(ctx context.Context, commit string, command []string) ([]byte, error),
) plan.Tree {
	return &evidence.CommitTree{Repo: mirror, Commit: commit, Run: run}
}
