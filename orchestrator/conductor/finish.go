package conductor

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// finish ends a run in which nothing is left to do: final gates on the integration head, then the one ref in the user's
// repository, then the last event.
func (c *Conductor) finish(ctx context.Context) (bool, error) {
	if !phase.Over(c.st) {
		return false, nil
	}
	if c.st.Status != run.Final {
		return true, c.append(ctx, contextscope.KindRun, "", run.Data{State: run.Final})
	}
	if len(c.st.Final) < len(c.st.Spec.Project.Gates) {
		return c.finalGates(ctx)
	}
	end := run.Data{State: phase.Outcome(c.st), Head: c.st.Head}
	end.Reason, end.Unverified = phase.Why(c.st, end.State), acceptance.Unverified(c.st)
	if c.cfg.Closing != nil {
		end.Notices = c.cfg.Closing()
	}
	if c.st.Head != c.st.Spec.Base {
		ref, err := c.publishHead(ctx)
		if err != nil {
			return false, err
		}
		end.Ref = ref
	}
	return true, c.append(ctx, contextscope.KindRun, "", end)
}

func (c *Conductor) publishHead(ctx context.Context) (string, error) {
	ref, err := c.cfg.Publish(ctx, c.st.Head, c.st.Spec.Base, c.st.Published)
	if err != nil {
		return "", fmt.Errorf("put the branch into the repository: %w", err)
	}
	return ref, nil
}

// PublishLanded puts what has landed in a run that was stopped or cancelled into the user's repository, and returns the ref.
// Where nothing can be published it is a *RefusedError.
func (c *Conductor) PublishLanded(ctx context.Context) (string, error) {
	switch {
	case !c.st.Status.Ended():
		return "", request.Refusedf("run %s is active, or was killed: it publishes what landed at its end; stop it with: "+
			"divisi pause", c.cfg.Run)
	case c.st.Head == c.st.Spec.Base:
		return "", request.Refusedf("nothing has landed in run %s", c.cfg.Run)
	case c.st.Published == c.st.Head:
		return c.st.Ref, nil
	}
	ref, err := c.publishHead(ctx)
	if err != nil {
		return "", err
	}
	return ref, c.append(ctx, contextscope.KindRun, "", run.Data{Head: c.st.Head, Ref: ref})
}

// finalGates runs every gate on the integration head, unless that very tree is proven. Red is run once more before it counts.
func (c *Conductor) finalGates(ctx context.Context) (bool, error) {
	tree, err := c.cfg.Mirror.Tree(ctx, c.st.Head)
	if err != nil {
		return false, fmt.Errorf("read the tree of %s: %w", c.st.Head, err)
	}
	if names := c.st.GateNames(); c.st.IsProven(tree, names) {
		return true, c.append(ctx, contextscope.KindRun, "", run.Data{Final: c.st.Receipts(tree, names)})
	}
	if c.st.Head == c.st.Spec.Base {
		return true, c.append(ctx, contextscope.KindRun, "", run.Data{Final: phase.BaselineReceipts(c.st)})
	}
	w := c.st.Works[run.FinalTask]
	if w == nil {
		return true, c.dispatchGates(ctx, run.FinalTask, c.st.Head, 1)
	}
	r := c.st.Settled(run.FinalTask)
	switch {
	case r == nil:
		return false, nil
	case r.Status == spec.StatusDone, len(r.Receipts) == len(c.st.Spec.Project.Gates) && w.Last > 1:
		return true, c.append(ctx, contextscope.KindRun, "", run.Data{Final: r.Receipts})
	case w.Last >= maxGateTries && w.Attempts[w.Last].Epoch == c.st.Epoch: // a resumed run tries anew
		return false, fmt.Errorf("the final gates could not be run: %s", run.FaultOf(r).Message)
	default:
		return true, c.dispatchGates(ctx, run.FinalTask, c.st.Head, w.Last+1)
	}
}
