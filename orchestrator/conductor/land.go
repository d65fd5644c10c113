package conductor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// land takes what is proven as one batch: merges it in memory onto the integration head, sends back what conflicts, and has
// the rest tested, unless its tree is proven already.
func (c *Conductor) land(ctx context.Context) (bool, error) {
	ids := landing.Proven(c.st)
	if c.st.Batch != nil || len(ids) == 0 {
		return false, nil
	}
	chain, err := landing.Build(ctx, merger{c.cfg.Mirror}, c.st.Head, c.candidates(ids), c.cfg.Clock())
	if err != nil {
		return false, err
	}
	for _, k := range chain.Conflicts {
		wait, err := c.mayWait(ctx, k, chain)
		if err == nil && !wait {
			err = c.conflicted(ctx, k)
		}
		if err != nil {
			return false, err
		}
	}
	if len(chain.Merged) == 0 {
		return true, nil
	}
	return true, c.testBatch(ctx, chain)
}

func (c *Conductor) candidates(ids []string) []landing.Candidate {
	out := make([]landing.Candidate, 0, len(ids))
	for _, id := range ids {
		t := c.st.Tasks[id]
		role := c.st.Spec.Roles[t.Task.Role]
		role = run.WithExecutor(role, t.ExecutorAt(&role, t.Attempt))
		model := ""
		if role.Executor == spec.ExecutorModel {
			model = c.st.Spec.Project.ModelName(role.Model)
		}
		out = append(out, landing.Candidate{
			Run: c.cfg.Run, Task: id, Title: t.Task.Title, Role: role.Name, Model: model,
			Attempt: t.Attempt, Commit: t.Result.Patch.Commit, Unverified: acceptance.Unverified(c.st),
		})
	}
	return out
}

// mayWait reports whether a patch conflicts only with what is in the same batch. It then stays proven until the batch has
// landed or not: regenerated now, it would start from the old head and conflict once more.
func (c *Conductor) mayWait(ctx context.Context, k landing.Conflict, chain landing.Chain) (bool, error) {
	if len(chain.Merged) == 0 {
		return false, nil
	}
	alone, err := landing.Build(ctx, merger{c.cfg.Mirror}, c.st.Head, []landing.Candidate{k.Candidate}, c.cfg.Clock())
	return len(alone.Merged) == 1, err
}

func (c *Conductor) conflicted(ctx context.Context, k landing.Conflict) error {
	f := spec.Fault{
		Class:   wire.FaultConflict,
		Message: "it conflicts with what landed before it in " + strings.Join(k.Paths, ", "),
		Detail:  k.Message,
	}
	return c.failed(ctx, c.st.Tasks[k.Task], f)
}

func (c *Conductor) testBatch(ctx context.Context, chain landing.Chain) error {
	d := run.LandingData{Batch: c.st.Batches + 1, State: run.LandingTesting, Old: c.st.Head, Head: chain.Head, Tasks: c.landed(chain)}
	gates := landing.Gates(c.st, d.Tasks)
	if c.st.IsProven(chain.Tree, gates) {
		d.State, d.Receipts = run.LandingLanded, c.st.Receipts(chain.Tree, gates)
		return c.move(ctx, d)
	}
	return c.runBatch(ctx, d)
}

func (c *Conductor) landed(chain landing.Chain) []run.Landed {
	out := make([]run.Landed, 0, len(chain.Merged))
	for _, m := range chain.Merged {
		p := c.st.Tasks[m.Task].Result.Patch
		out = append(out, run.Landed{
			Task: m.Task, Attempt: m.Attempt, Commit: m.Landed, Added: p.Added, Deleted: p.Deleted, Files: len(p.Files),
		})
	}
	return out
}

// runBatch puts the batch's gates on the queue.
func (c *Conductor) runBatch(ctx context.Context, d run.LandingData) error {
	next := 1
	if w := c.st.Works[run.BatchTask]; w != nil {
		next = w.Last + 1
	}
	d.Dispatch = &run.Dispatch{
		Task: run.BatchTask, Attempt: next, Role: spec.RoleTester, Head: d.Head, Gates: landing.Gates(c.st, d.Tasks),
	}
	return c.dispatchAttempt(ctx, d.Dispatch, contextscope.KindLanding, "", d)
}

// settleBatch moves the branch on green. Red is run once more, because it may be a flake; then the batch is cut in half,
// down to the one task that is to blame, which goes back with the error.
func (c *Conductor) settleBatch(ctx context.Context) (bool, error) {
	b := c.st.Batch
	if b == nil {
		return false, nil
	}
	w := c.st.Works[run.BatchTask]
	a := w.Attempts[b.Attempt]
	if a == nil || a.Result == nil {
		return false, nil
	}
	tree, err := c.cfg.Mirror.Tree(ctx, b.Head)
	if err != nil {
		return false, fmt.Errorf("read the tree of %s: %w", b.Head, err)
	}
	r := *a.Result
	same := acceptance.ProvedOn(tree, r.Receipts)
	if !same {
		r.Receipts = nil // they prove nothing of what would land: as if the gates had not run
	}
	d := run.LandingData{Batch: b.Number, Old: b.Old, Head: b.Head, Tasks: b.Tasks, Receipts: r.Receipts}
	if same && r.Status == spec.StatusDone {
		d.State = run.LandingLanded
		return true, c.move(ctx, d)
	}
	tries := 2
	if len(r.Receipts) == 0 {
		tries = maxGateTries + 1
	}
	if b.Tries < tries {
		d.State = run.LandingRed
		if err := c.append(ctx, contextscope.KindLanding, "", d); err != nil {
			return false, err
		}
		d.State, d.Receipts = run.LandingTesting, nil
		return true, c.runBatch(ctx, d)
	}
	return true, c.redBatch(ctx, d, r)
}

func (c *Conductor) redBatch(ctx context.Context, d run.LandingData, r spec.Result) error {
	d.State = run.LandingSplit
	if err := c.append(ctx, contextscope.KindLanding, "", d); err != nil {
		return err
	}
	if len(d.Tasks) > 1 {
		return nil
	}
	f := run.FaultOf(&r)
	if len(r.Receipts) > 0 {
		f.Signatures = acceptance.NewSignatures(r.Receipts, c.st.Baseline)
		f.Message = "red together with what landed before it: " + f.Message
	}
	return c.failed(ctx, c.st.Tasks[d.Tasks[0].Task], f)
}

// move advances the integration branch: first the event, which is the truth, then the ref, which follows it.
func (c *Conductor) move(ctx context.Context, d run.LandingData) error {
	d.Unverified = acceptance.Unverified(c.st)
	if err := c.append(ctx, contextscope.KindLanding, "", d); err != nil {
		return err
	}
	return c.syncHead(ctx)
}

// syncHead puts the mirror's integration branch where the log says that it is. It keeps the commits reachable.
func (c *Conductor) syncHead(ctx context.Context) error {
	ref := IntegrationRef(c.cfg.Run)
	at, err := c.cfg.Mirror.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	if at == c.st.Head {
		return nil
	}
	return c.cfg.Mirror.UpdateRef(ctx, ref, c.st.Head, at)
}

// IntegrationRef is the ref of a run's integration branch, in Divisi's mirror and, at the end, in the user's repository.
func IntegrationRef(run string) string { return "refs/heads/divisi/" + run }
