// Package recovery decides what follows from a failed attempt: another one that learns why, parking of its task, or a run that
// stops. Every rule that meets a failure asks it.
package recovery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// OutputFile is the file with the whole output of an object's name; "" where the run keeps none.
func OutputFile(order *run.Spec, object string) string { return gate.OutputFile(order.Outputs, object) }

// Reason is a fault in one line, with the file that shows the whole of it.
func Reason(order *run.Spec, f spec.Fault) string {
	return WithOutput(f.Message, OutputFile(order, f.Output))
}

// WithOutput adds the file with the whole output to a text; file is empty where the run keeps none.
func WithOutput(text, file string) string {
	if file == "" {
		return text
	}
	return text + " (whole output: " + file + ")"
}

var output = lazyregexp.New(` \(whole output: [^)]*\)`)

// WithoutOutput is a text without what WithOutput added.
func WithoutOutput(text string) string { return output.ReplaceAllLiteralString(text, "") }

var (
	// ErrAuth reports that the model's service refused the key: every further call would fail the same way.
	ErrAuth = errors.New("the model's service refused the key")
	// ErrService reports that the model's service was unavailable for longer than retries last.
	ErrService = errors.New("the model's service is not available")
	// ErrUncounted reports that the machine cannot count what is spent of the budget of the day.
	ErrUncounted = errors.New("the use of the day cannot be counted")
)

// pauses are the faults that are not an attempt's own: every other attempt would fail too. The run stops, and the attempt is
// repeated when it is resumed.
var pauses = map[string]error{
	wire.FaultBudget:      nil,
	wire.FaultAuth:        ErrAuth,
	wire.FaultUncounted:   ErrUncounted,
	wire.FaultRateLimited: ErrService,
	wire.FaultOverloaded:  ErrService,
	wire.FaultStalled:     ErrService,
	wire.FaultUnavailable: ErrService,
}

// Pause stops the run for a fault that is not the attempt's own, after again, which puts the attempt back. ok reports whether
// it is such a fault. A fault that is older than this conductor has stopped the run already, and the next attempt of a coding
// agent waits for its quota itself: the attempt is only put back.
func Pause(order *run.Spec, agents *run.Agents, work string, f spec.Fault, again ...run.Action) (actions []run.Action, ok bool) {
	cause, ok := pauses[f.Class]
	w := agents.Works[work]
	switch {
	case !ok:
		return nil, false
	case f.Class == wire.FaultRateLimited && outwaits(order, w):
		return again, true
	case w.Attempts[w.Last].ResultPos < agents.Began:
		return again, true
	case cause == nil:
		return append(again, run.SetRun(run.Data{Exhausted: f.Message})), true
	default:
		return append(again, run.Fail{Err: fmt.Errorf("%w: %s", cause, f.Message)}), true
	}
}

// outwaits reports whether the newest attempt was of a coding agent, and one that follows begins when a quota is free again. One
// that has ended before the quota of the attempt before it was free has not waited: neither would the next.
func outwaits(order *run.Spec, w *run.Work) bool {
	a, before := w.Attempts[w.Last], w.Attempts[w.Last-1]
	at := time.UnixMilli(a.Seen)
	if before != nil && before.Quota.After(at) {
		return false
	}
	return order.Roles[a.Role].Usage != "" && a.Quota.After(at) && !a.Quota.After(at.Add(order.Project.Quota()))
}

const (
	// strongerAfter is how often a failure comes back before the next executor or a stronger model takes over, sameFailure before
	// the task is parked.
	strongerAfter = 2
	sameFailure   = 3
	// maxConflicts bounds how often a task is regenerated because others landed first: that is not its own failure.
	maxConflicts = 10
	// MaxGateTries bounds how often a gate run that ended without receipts is repeated.
	MaxGateTries = 3
)

// Hopeless reports whether another attempt would fail in the same way.
func Hopeless(f spec.Fault) bool { return f.Class == wire.FaultTooBig || f.Class == wire.FaultInput }

// Failed decides what becomes of a task whose attempt failed: another attempt that learns why, or parking.
func Failed(agenda *run.Agenda, agents *run.Agents, t *run.Task, f spec.Fault) []run.Action {
	id := t.Task.ID
	again := run.SetTask(id, run.TaskData{State: run.TaskPending, Reason: f.Message})
	if actions, ok := Pause(&agenda.Spec, agents, id, f, again); ok {
		return actions
	}
	return []run.Action{run.SetTask(id, After(agenda, agents.Works, t, f))}
}

// After is the state of a task after a failure of its own: pending again, or parked.
func After(agenda *run.Agenda, works run.Works, t *run.Task, f spec.Fault) run.TaskData {
	if soon(&agenda.Spec, works, t, f) {
		return run.TaskData{State: run.TaskPending, Reason: f.Message + onceMore, Fault: &f, Again: true}
	}
	choice, why := after(&agenda.Spec, works, t, f)
	if why != "" {
		if t.Waited && f.Class == wire.FaultCommand {
			why += TryLater
		}
		return parked(&agenda.Spec, why+whole(&agenda.Tasks, t, f)+outside(&agenda.Spec, works, t, f), &f)
	}
	return run.TaskData{State: run.TaskPending, Reason: f.Message, Fault: &f, Choice: &choice}
}

// after decides which place of the role's choices the next attempt has, or why there is none. The failures of the executors
// before do not count.
func after(order *run.Spec, works run.Works, t *run.Task, f spec.Fault) (choice run.Choice, park string) {
	if works.ByPerson(t) {
		return choice, "the patch of a person did not pass: " + f.Message
	}
	if f.Class == wire.FaultConflict {
		if n := Conflicts(t) + 1; n > maxConflicts {
			return choice, fmt.Sprintf("conflicted with landed changes %d times", n)
		}
		return t.Next, ""
	}
	if t.Task.InRound() && f.Class == wire.FaultGate {
		return choice, "the next round has what is left: " + f.Message
	}
	if works.Carried(t) && t.Task.Attempts > 1 {
		return t.Choice, "" // its role has not tried yet
	}
	role := order.Roles[t.Task.Role]
	own, same := counts(t, f, min(t.Choice.At, len(role.Chain)))
	used := fmt.Sprintf("failed %d of %d attempts", own, t.Task.Attempts)
	if t.Choice.At < len(role.Chain) { // another executor follows
		switch {
		case order.Made(t, works).Executor == spec.ExecutorCommand:
			return next(order, t, "the command failed"), ""
		case same >= strongerAfter:
			return next(order, t, sameTwice), ""
		case own >= t.Task.Attempts || Hopeless(f):
			return next(order, t, used), ""
		}
		return t.Choice, ""
	}
	switch {
	case Hopeless(f):
		return choice, f.Message
	case Repeats(order, works, t) && !byChance[f.Class]:
		return choice, "its command would do the same again on the same files: " + f.Message
	case Repeats(order, works, t) && f.Class == wire.FaultTime && same >= strongerAfter:
		return choice, "its command ran out of time twice on the same files: " + f.Message
	case same >= sameFailure:
		return choice, fmt.Sprintf("failed in the same way %d times: %s", same, f.Message)
	case own >= t.Task.Attempts:
		return choice, used + ": " + f.Message
	case same >= strongerAfter:
		return next(order, t, sameTwice), ""
	}
	return t.Choice, ""
}

// byChance are the faults that the same command on the same files need not have again.
var byChance = map[string]bool{
	wire.FaultTime: true, wire.FaultIdle: true, wire.FaultInternal: true, wire.FaultSetup: true, wire.FaultAssignment: true,
	wire.FaultMachine: true,
}

// Repeats reports whether the next attempt of a task would run the same command on the same files: the newest one was that of a
// command without network which is given its files in its arguments, and no other executor follows. A command that reads its task
// from its input finds there what failed before.
func Repeats(order *run.Spec, works run.Works, t *run.Task) bool {
	role := order.Made(t, works)
	if role.Executor != spec.ExecutorCommand || role.Network || t.Choice.At < len(order.Roles[t.Task.Role].Chain) {
		return false
	}
	args := t.Task.Command
	if len(args) == 0 || len(role.Secrets) > 0 {
		args = role.Command
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == spec.ArgFiles || arg == spec.ArgFile || slices.Contains(t.Task.Files, arg)
	})
}

const sameTwice = "the same failure twice"

// next is the place behind that of a task's newest attempt; the last one stays.
func next(order *run.Spec, t *run.Task, why string) run.Choice {
	choices, at := order.Choices(t), t.Choice.At+1
	if at >= len(choices) {
		return t.Choice
	}
	return run.Choice{At: at, Uses: choices[at], Why: why}
}

// counts returns how many attempts from a place of the choices on have failed, this one included, and how many of them like it.
func counts(t *run.Task, f spec.Fault, from int) (own, same int) {
	own, same = 1, 1
	for _, had := range t.Recent() {
		if had.Choice.At < from || had.Fault.Class == wire.FaultConflict {
			continue
		}
		own++
		if Same(had.Fault, f) {
			same++
		}
	}
	return own, same
}

// Same reports whether two attempts failed in the same way: with the same signatures, or without any, with the same class and
// message.
func Same(a, b spec.Fault) bool {
	if len(a.Signatures)+len(b.Signatures) == 0 {
		return a.Class == b.Class && a.Message == b.Message
	}
	return slices.Equal(slices.Sorted(slices.Values(a.Signatures)), slices.Sorted(slices.Values(b.Signatures)))
}

// Conflicts counts how often a task conflicted with what had landed before it.
func Conflicts(t *run.Task) (n int) {
	for _, f := range t.Recent() {
		if f.Fault.Class == wire.FaultConflict {
			n++
		}
	}
	return n
}

// Park gives a task up, with its reason and the fault, if any.
func Park(order *run.Spec, t *run.Task, reason string, f *spec.Fault) []run.Action {
	return []run.Action{run.SetTask(t.Task.ID, parked(order, reason, f))}
}

func parked(order *run.Spec, reason string, f *spec.Fault) run.TaskData {
	if f != nil {
		reason = WithOutput(reason, OutputFile(order, f.Output))
	}
	return run.TaskData{State: run.TaskParked, Reason: reason, Fault: f}
}
