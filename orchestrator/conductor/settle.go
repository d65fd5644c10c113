package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

var (
	// ErrAuth says that the model's service refused the key: every further call would fail the same way.
	ErrAuth = errors.New("the model's service refused the key")
	// ErrService says that the model's service could not be used for longer than retries go on.
	ErrService = errors.New("the model's service is not available")
)

// pauses are the faults that are not an attempt's own: nobody else would fare better, so the run stops, and the attempt is
// made anew when it is resumed.
var pauses = map[string]error{
	wire.FaultBudget:      nil,
	wire.FaultAuth:        ErrAuth,
	wire.FaultRateLimited: ErrService,
	wire.FaultOverloaded:  ErrService,
	wire.FaultStalled:     ErrService,
	wire.FaultUnavailable: ErrService,
}

// pause stops the run for a fault that is not the attempt's own. again puts the attempt back. It reports whether it did. A fault
// from before this conductor took over has stopped the run already: then the attempt is only put back.
func (c *Conductor) pause(ctx context.Context, work string, f spec.Fault, again func() error) (bool, error) {
	cause, ok := pauses[f.Class]
	if !ok {
		return false, nil
	}
	w := c.st.Works[work]
	stale := w.Attempts[w.Last].ResultPos < c.st.Began
	if err := again(); err != nil || stale {
		return true, err
	}
	if cause == nil {
		return true, c.stopped(ctx, run.ReasonBudget+": "+f.Message)
	}
	return true, fmt.Errorf("%w: %s", cause, f.Message)
}

// settleTasks acts upon the first task whose attempt has a result that nothing was made of yet.
func (c *Conductor) settleTasks(ctx context.Context) (bool, error) {
	for _, id := range c.st.Order {
		t := c.st.Tasks[id]
		if t.State != run.TaskRunning || t.Result == nil || t.Result.Attempt != t.Attempt {
			continue
		}
		return true, c.settle(ctx, t)
	}
	return false, nil
}

func (c *Conductor) settle(ctx context.Context, t *run.Task) error {
	r := t.Result
	given := c.st.Transfer(t)
	switch {
	case r.Status == spec.StatusDone && r.HandedOver && given != nil:
		return c.handOver(ctx, t, given)
	case r.Status == spec.StatusDone && r.Patch == nil:
		return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{State: run.TaskDone})
	case r.Status == spec.StatusDone:
		return c.receive(ctx, t)
	case r.Status == spec.StatusCancelled:
		return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{State: run.TaskCancelled, Reason: run.FaultOf(r).Message})
	default:
		return c.failed(ctx, t, run.FaultOf(r))
	}
}

// tellUnheard tells people of the first message that came too late: its task has ended well, and no agent of it was told.
func (c *Conductor) tellUnheard(ctx context.Context) (bool, error) {
	for _, m := range c.st.Messages {
		t := c.st.Tasks[m.Task]
		if t == nil || len(m.Receipts) > 0 || t.State != run.TaskDone && t.State != run.TaskLanded {
			continue
		}
		said := strings.Join(strings.Fields(strings.TrimPrefix(m.Text, "Message of "+m.From+":\n")), " ")
		notice := fmt.Sprintf("%s is %s, and no agent of it was told %q: it came too late. Where the result does not do, "+
			"start another run", m.Task, t.State, text.Clip(said, text.MaxLine))
		if !slices.Contains(c.st.Notices, notice) {
			return true, c.append(ctx, contextscope.KindRun, "", run.Data{Notices: []string{notice}})
		}
	}
	return false, nil
}

// receive takes a patch into the mirror, strictly, and has it verified.
func (c *Conductor) receive(ctx context.Context, t *run.Task) error {
	p := t.Result.Patch
	if err := c.importPatch(ctx, t, p); err != nil {
		if refused(err) {
			return c.failed(ctx, t, spec.Fault{Class: wire.FaultWriteSet, Message: "the patch was refused", Detail: err.Error()})
		}
		return fmt.Errorf("receive the patch of %s/%d: %w", t.Task.ID, t.Attempt, err)
	}
	fault, err := c.accept(ctx, p)
	if err != nil {
		return fmt.Errorf("check the patch of %s/%d: %w", t.Task.ID, t.Attempt, err)
	}
	if fault != nil {
		return c.park(ctx, t, fault.Message, fault)
	}
	return c.verify(ctx, t)
}

// refused tells a patch that is at fault from a machine that is: the first would come back at every resume.
func refused(err error) bool {
	var bad *git.PatchError
	return errors.As(err, &bad) || errors.Is(err, git.ErrPack) || errors.Is(err, git.ErrTooLarge) ||
		errors.Is(err, bus.ErrNotFound)
}

func (c *Conductor) importPatch(ctx context.Context, t *run.Task, p *spec.Patch) error {
	has, err := c.cfg.Mirror.Has(ctx, p.Commit)
	if err != nil {
		return err
	}
	if !has {
		pack, err := c.cfg.Bus.Get(ctx, p.Pack)
		if err != nil {
			return fmt.Errorf("its pack %s: %w", p.Pack, err)
		}
		if err := c.cfg.Mirror.Import(ctx, pack); err != nil {
			return err
		}
		if has, err = c.cfg.Mirror.Has(ctx, p.Commit); err != nil {
			return err
		}
	}
	want := *p
	want.Base = c.st.Works[t.Task.ID].Attempts[t.Attempt].Head
	if !has || p.Base != want.Base {
		return &git.PatchError{Commit: p.Commit, Faults: []git.PatchFault{{
			Kind: git.FaultCommit, Text: fmt.Sprintf("is not a commit on %s in its pack", want.Base),
		}}}
	}
	set := t.Task.WriteSet(c.st.Spec.Project.Protected)
	return git.CheckPatch(ctx, c.cfg.Mirror, want, func(path string) bool { return set.Refuse(path) == "" })
}

// verify puts the task's tester on the queue. A patch whose tree is already proven needs none.
func (c *Conductor) verify(ctx context.Context, t *run.Task) error {
	id := t.Task.ID
	judges := c.st.Spec.Roles[t.Task.Verify].Executor != ""
	if !judges && c.st.IsProven(t.Result.Patch.Tree, c.st.GatesOf(t.Task)) {
		return c.append(ctx, contextscope.KindTask, id, run.TaskData{State: acceptance.TestedAs(c.st)})
	}
	d := run.Dispatch{Task: id + run.VerifySuffix, Attempt: t.Verify + 1, Role: t.Task.Verify, Head: t.Result.Patch.Commit}
	return c.dispatchAttempt(ctx, &d, contextscope.KindTask, id, run.TaskData{State: run.TaskVerifying, Dispatch: &d})
}

// settleVerifies acts upon the first verdict of a tester that nothing was made of yet.
func (c *Conductor) settleVerifies(ctx context.Context) (bool, error) {
	for _, id := range c.st.Order {
		t := c.st.Tasks[id]
		if t.State != run.TaskVerifying || t.VerifyR == nil || t.VerifyR.Attempt != t.Verify {
			continue
		}
		return true, c.judge(ctx, t)
	}
	return false, nil
}

func (c *Conductor) judge(ctx context.Context, t *run.Task) error {
	r := t.VerifyR
	if !acceptance.ProvedOn(t.Result.Patch.Tree, r.Receipts) {
		other := spec.Fault{Class: wire.FaultInternal, Message: "the gates ran on another tree than the patch's"}
		return c.testerFailed(ctx, t, other)
	}
	if r.Status == spec.StatusDone {
		return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{State: acceptance.TestedAs(c.st)})
	}
	f := run.FaultOf(r)
	if paused, err := c.pause(ctx, t.Task.ID+run.VerifySuffix, f, func() error { return c.verify(ctx, t) }); paused || err != nil {
		return err
	}
	if len(r.Receipts) == 0 && f.Class != wire.FaultGate {
		return c.testerFailed(ctx, t, f)
	}
	f.Signatures = acceptance.NewSignatures(r.Receipts, c.st.Baseline)
	return c.failed(ctx, t, f)
}

// testerFailed tries the tester again: it said nothing about the patch.
func (c *Conductor) testerFailed(ctx context.Context, t *run.Task, f spec.Fault) error {
	tries := 0
	for _, a := range c.st.Works[t.Task.ID+run.VerifySuffix].Attempts {
		if a.Result != nil && a.Head == t.Result.Patch.Commit {
			tries++
		}
	}
	if tries >= maxGateTries || hopeless(f) {
		return c.park(ctx, t, "its tester could not be run: "+f.Message, &f)
	}
	return c.verify(ctx, t)
}

// hopeless says that another attempt would fail in the same way.
func hopeless(f spec.Fault) bool { return f.Class == wire.FaultTooBig || f.Class == wire.FaultInput }

// sameFailure is how often the same signatures may come back before a task is parked.
const sameFailure = 3

// maxConflicts bounds how often a task is regenerated because others landed first: that is not its own failure.
const maxConflicts = 10

// failed decides what becomes of a task whose attempt failed: another attempt that is told why, or parking.
func (c *Conductor) failed(ctx context.Context, t *run.Task, f spec.Fault) error {
	paused, err := c.pause(ctx, t.Task.ID, f, func() error {
		return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{State: run.TaskPending, Reason: f.Message})
	})
	if paused || err != nil {
		return err
	}
	role := c.st.Spec.Roles[t.Task.Role]
	own, conflicts, same, executor := 1, 0, 1, t.ExecutorAt(&role, t.Attempt)
	for _, had := range t.Faults {
		if had.Fault.Class == wire.FaultConflict {
			conflicts++
			continue
		}
		if t.ExecutorAt(&role, had.Attempt) < executor {
			continue // the one before has had its try
		}
		own++
		if len(f.Signatures) > 0 && slices.Equal(had.Fault.Signatures, f.Signatures) {
			same++
		}
	}
	switch {
	case f.Class == wire.FaultConflict && conflicts >= maxConflicts:
		return c.park(ctx, t, fmt.Sprintf("conflicted with what landed before it %d times", conflicts+1), &f)
	case f.Class == wire.FaultConflict:
	case executor < len(role.Chain):
	case hopeless(f):
		return c.park(ctx, t, f.Message, &f)
	case same >= sameFailure:
		return c.park(ctx, t, fmt.Sprintf("failed in the same way %d times: %s", same, f.Message), &f)
	case own >= t.Task.Attempts:
		return c.park(ctx, t, fmt.Sprintf("failed %d of %d attempts: %s", own, t.Task.Attempts, f.Message), &f)
	}
	return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{State: run.TaskPending, Reason: f.Message, Fault: &f})
}

func (c *Conductor) park(ctx context.Context, t *run.Task, reason string, f *spec.Fault) error {
	if f != nil {
		reason = schedule.WithOutput(reason, schedule.OutputFile(c.st, f.Output))
	}
	return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{State: run.TaskParked, Reason: reason, Fault: f})
}

// keepBudget stops a run that has spent what it may. Calls that are under way are paid for; none is begun.
func (c *Conductor) keepBudget(ctx context.Context) (bool, error) {
	if c.st.Budget <= 0 || c.st.Usage.Total() < c.st.Budget || !c.st.NeedsModel() {
		return false, nil
	}
	return true, c.stopped(ctx, fmt.Sprintf("%s: %d of %d tokens", run.ReasonBudget, c.st.Usage.Total(), c.st.Budget))
}
