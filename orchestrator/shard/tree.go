package shard

import (
	"context"

	"divisi/internal/git"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
)

// Tree is a commit as shard rules read it; run runs the command of one, as Shards does.
func Tree(
	mirror *git.Repo, commit string, run func(ctx context.Context, commit string, command []string) ([]byte, error),
) plan.Tree {
	return &evidence.CommitTree{Repo: mirror, Commit: commit, Run: run}
}

// NoCommands is why a command is not run where the run is conducted by a host that runs none.
func NoCommands(command []string) error {
	return request.Refusedf("a shard rule by: command runs %.80q where the run is conducted, "+
		"and that host runs no commands: shard by file, dir, package or owner, "+
		"or have the host take tasks too", command)
}
