package schedule

import (
	"errors"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// OutputFile is the file with the whole output of an object's name; "" where the run keeps none.
func OutputFile(s *run.State, object string) string { return gate.OutputFile(s.Spec.Outputs, object) }

// Reason is a fault in one line, with the file that shows the whole of it.
func Reason(s *run.State, f spec.Fault) string { return WithOutput(f.Message, OutputFile(s, f.Output)) }

// WithOutput adds the file with the whole output to a text; file is empty where the run keeps none.
func WithOutput(text, file string) string {
	if file == "" {
		return text
	}
	return text + " (whole output: " + file + ")"
}

var (
	// ErrAuth reports that the model's service refused the key: every further call would fail the same way.
	ErrAuth = errors.New("the model's service refused the key")
	// ErrService reports that the model's service was unavailable for longer than retries last.
	ErrService = errors.New("the model's service is not available")
)

// pauses are the faults that are not an attempt's own: every other attempt would fail too. The run stops, and the attempt is
// repeated when it is resumed.
var pauses = map[string]error{
	wire.FaultBudget:      nil,
	wire.FaultAuth:        ErrAuth,
	wire.FaultRateLimited: ErrService,
	wire.FaultOverloaded:  ErrService,
	wire.FaultStalled:     ErrService,
	wire.FaultUnavailable: ErrService,
}

// Pause stops the run for a fault that is not the attempt's own, after again, which puts the attempt back. ok reports whether
// it is such a fault. A fault that is older than this conductor has stopped the run already: the attempt is only put back.
func Pause(s *run.State, work string, f spec.Fault, again ...run.Action) (actions []run.Action, ok bool) {
	cause, ok := pauses[f.Class]
	w := s.Works[work]
	switch {
	case !ok:
		return nil, false
	case w.Attempts[w.Last].ResultPos < s.Began:
		return again, true
	case cause == nil:
		return append(again, run.Stop(run.ReasonBudget+": "+f.Message)), true
	default:
		return append(again, run.Fail{Err: fmt.Errorf("%w: %s", cause, f.Message)}), true
	}
}

const (
	// sameFailure is how often the same signatures may come back before a task is parked.
	sameFailure = 3
	// maxConflicts bounds how often a task is regenerated because others landed first: that is not its own failure.
	maxConflicts = 10
	// MaxGateTries bounds how often a gate run that ended without receipts is repeated.
	MaxGateTries = 3
)

// Hopeless reports whether another attempt would fail in the same way.
func Hopeless(f spec.Fault) bool { return f.Class == wire.FaultTooBig || f.Class == wire.FaultInput }

// Failed decides what becomes of a task whose attempt failed: another attempt that learns why, or parking.
func Failed(s *run.State, t *run.Task, f spec.Fault) []run.Action {
	id := t.Task.ID
	if actions, ok := Pause(s, id, f, run.SetTask(id, run.TaskData{State: run.TaskPending, Reason: f.Message})); ok {
		return actions
	}
	return []run.Action{run.SetTask(id, After(s, t, f))}
}

// After is what a task becomes after a failure of its own: pending again, or parked.
func After(s *run.State, t *run.Task, f spec.Fault) run.TaskData {
	if why := givenUp(s, t, f); why != "" {
		return parked(s, why+whole(s, t, f), &f)
	}
	return run.TaskData{State: run.TaskPending, Reason: f.Message, Fault: &f}
}

// givenUp returns why a task gets no other attempt after a failure; "" when it gets one.
func givenUp(s *run.State, t *run.Task, f spec.Fault) string {
	role := s.Spec.Roles[t.Task.Role]
	own, conflicts, same, executor := 1, 0, 1, min(t.Executor, len(role.Chain))
	for _, had := range t.Recent() {
		if had.Fault.Class == wire.FaultConflict {
			conflicts++
			continue
		}
		if had.Executor < executor {
			continue // the executor before has had its attempts
		}
		own++
		if len(f.Signatures) > 0 && slices.Equal(had.Fault.Signatures, f.Signatures) {
			same++
		}
	}
	switch {
	case f.Class == wire.FaultConflict && conflicts >= maxConflicts:
		return fmt.Sprintf("conflicted with what landed before it %d times", conflicts+1)
	case f.Class == wire.FaultConflict, executor < len(role.Chain):
		return ""
	case Hopeless(f):
		return f.Message
	case same >= sameFailure:
		return fmt.Sprintf("failed in the same way %d times: %s", same, f.Message)
	case own >= t.Task.Attempts:
		return fmt.Sprintf("failed %d of %d attempts: %s", own, t.Task.Attempts, f.Message)
	}
	return ""
}

// Park gives a task up, with its reason and the fault, if any.
func Park(s *run.State, t *run.Task, reason string, f *spec.Fault) []run.Action {
	return []run.Action{run.SetTask(t.Task.ID, parked(s, reason, f))}
}

func parked(s *run.State, reason string, f *spec.Fault) run.TaskData {
	if f != nil {
		reason = WithOutput(reason, OutputFile(s, f.Output))
	}
	return run.TaskData{State: run.TaskParked, Reason: reason, Fault: f}
}
