package orchestrator

import (
	"context"

	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/shard"
)

// tree reads a commit for shard rules; their commands run confined in a slot of their own, over an environment.
func (h *conduct) tree(commit, environment string) plan.Tree {
	run := func(ctx context.Context, commit string, command []string) ([]byte, error) {
		if h.ordered && !h.runsCommands {
			return nil, request.Refusedf("a shard rule by: command runs %.80q where the run is conducted, "+
				"and that host runs no commands: shard by file, dir, package or owner, "+
				"or have the host take tasks too", command)
		}
		r := shard.Runner{
			Run: h.spec.Run, Created: h.spec.Created, Env: h.spec.Project.Env, Git: h.git, Mirror: h.mirror, Caches: h.caches,
			Environments: h.environments, Log: h.log,
		}
		return r.Shards(ctx, commit, environment, command)
	}
	return shard.Tree(h.mirror, commit, run)
}
