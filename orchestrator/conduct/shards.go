package conduct

import (
	"context"

	"divisi/orchestrator/plan"
	"divisi/orchestrator/shard"
)

// Tree reads a commit for shard rules; their commands run confined in a slot of their own, over an environment.
func (h *Half) Tree(commit, environment string) plan.Tree {
	run := func(ctx context.Context, commit string, command []string) ([]byte, error) {
		if err := h.from().runs(command); err != nil {
			return nil, err
		}
		r := shard.Runner{
			Run: h.Spec.Run, Created: h.Spec.Created, Env: h.Spec.Project.Env, Git: h.Git, Mirror: h.Mirror, Caches: h.Caches,
			Environments: h.Environments, Log: h.Log,
		}
		return r.Shards(ctx, commit, environment, command)
	}
	return shard.Tree(h.Mirror, commit, run)
}
