package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// finish ends a run in which nothing is left to do: final gates on the integration head, then the one ref in the user's
// repository, then the last event.
func (c *Conductor) finish(ctx context.Context) (bool, error) {
	if !c.st.over() {
		return false, nil
	}
	if c.st.Run != RunFinal {
		return true, c.append(ctx, contextscope.KindRun, "", RunData{State: RunFinal})
	}
	if len(c.st.Final) < len(c.st.Spec.Project.Gates) {
		return c.finalGates(ctx)
	}
	end := RunData{State: c.st.Outcome(), Head: c.st.Head}
	end.Reason, end.Unverified = c.st.why(end.State), c.st.Unverified()
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
	case !c.st.Run.Ended():
		return "", refusedf("run %s is active, or was killed: it publishes what landed at its end; stop it with: "+
			"divisi pause", c.cfg.Run)
	case c.st.Head == c.st.Spec.Base:
		return "", refusedf("nothing has landed in run %s", c.cfg.Run)
	case c.st.Published == c.st.Head:
		return c.st.Ref, nil
	}
	ref, err := c.publishHead(ctx)
	if err != nil {
		return "", err
	}
	return ref, c.append(ctx, contextscope.KindRun, "", RunData{Head: c.st.Head, Ref: ref})
}

// over reports whether nothing is left but the end.
func (s *State) over() bool {
	if s.Run != RunRunning && s.Run != RunPlanning && s.Run != RunFinal {
		return false
	}
	if s.Batch != nil || !s.quietBut(finalTask) {
		return false
	}
	if s.Spec.Plan != nil {
		return len(s.Plans) > 0
	}
	return s.MasterDone || s.masterGaveUp() != ""
}

// quietBut is Quiet, but for one thing that may be on the queue.
func (s *State) quietBut(id string) bool {
	if w := s.Works[id]; w != nil && w.Outstanding() {
		all, _ := s.AtWork()
		return all == 1 && s.Waiting() == 0 && s.tasksEnded()
	}
	return s.Quiet()
}

// finalGates runs every gate on the integration head, unless that very tree is proven. Red is run once more before it counts.
func (c *Conductor) finalGates(ctx context.Context) (bool, error) {
	tree, err := c.cfg.Mirror.Tree(ctx, c.st.Head)
	if err != nil {
		return false, fmt.Errorf("read the tree of %s: %w", c.st.Head, err)
	}
	if names := c.st.gateNames(); c.st.proven(tree, names) {
		return true, c.append(ctx, contextscope.KindRun, "", RunData{Final: c.st.receipts(tree, names)})
	}
	if c.st.Head == c.st.Spec.Base {
		return true, c.append(ctx, contextscope.KindRun, "", RunData{Final: c.st.baselineReceipts()})
	}
	w := c.st.Works[finalTask]
	if w == nil {
		return true, c.dispatchGates(ctx, finalTask, c.st.Head, 1)
	}
	r := c.st.Settled(finalTask)
	switch {
	case r == nil:
		return false, nil
	case r.Status == spec.StatusDone, len(r.Receipts) == len(c.st.Spec.Project.Gates) && w.Last > 1:
		return true, c.append(ctx, contextscope.KindRun, "", RunData{Final: r.Receipts})
	case w.Last >= maxGateTries && w.Attempts[w.Last].Epoch == c.st.Epoch: // a resumed run tries anew
		return false, fmt.Errorf("the final gates could not be run: %s", faultOf(r).Message)
	default:
		return true, c.dispatchGates(ctx, finalTask, c.st.Head, w.Last+1)
	}
}

// baselineReceipts are the base commit's, in the project's order, as the final ones of a run in which nothing landed.
func (s *State) baselineReceipts() []spec.Receipt {
	out := make([]spec.Receipt, 0, len(s.Spec.Project.Gates))
	for _, g := range s.Spec.Project.Gates {
		r := s.Baseline[g.Name]
		if r.Verdict == spec.VerdictFail || r.Verdict == spec.VerdictUnattributable {
			r.Verdict = spec.VerdictBaseline
		}
		out = append(out, r)
	}
	return out
}

// why says in words how a run ended.
func (s *State) why(end RunState) string {
	n := s.Counts()
	if end == RunDone {
		return fmt.Sprintf("%d landed, %d done without a change", n[TaskLanded], n[TaskDone])
	}
	if why := s.masterGaveUp(); why != "" {
		return why
	}
	if s.plannedNothing() {
		return withWords("the master planned nothing", s.masterWords())
	}
	if s.landedUnverified() {
		return fmt.Sprintf("%d landed unverified, %d parked: %s",
			n[TaskLanded], n[TaskParked]+n[TaskCancelled], s.Unverified())
	}
	if s.allWell() {
		return "the final gates are redder than the baseline"
	}
	return fmt.Sprintf("%d landed, %d parked", n[TaskLanded], n[TaskParked]+n[TaskCancelled])
}

// plannedNothing reports whether the master came to its end without a single task.
func (s *State) plannedNothing() bool { return s.Spec.Plan == nil && s.MasterDone && len(s.Order) == 0 }

// masterWords is what the master reported at the end of its newest turn.
func (s *State) masterWords() string {
	if r := s.Settled(MasterTask); r != nil {
		return r.Handoff.Summary
	}
	return ""
}

func withWords(text, words string) string {
	if words = strings.TrimSpace(words); words == "" {
		return text
	}
	return text + ": " + clipped(words, maxWords)
}

// maxWords bounds, in bytes, what a run's end quotes of the master.
const maxWords = 2000
