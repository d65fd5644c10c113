package recovery

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

const (
	// within is how soon a command fails that does not find what it needs.
	within = 30 * time.Second
	// Wait is how long it then waits for that.
	Wait = 30 * time.Second
	// TryLater is added to the reason at the end of a task that has waited.
	TryLater = ", also after a wait: if a service that the command needs is away for longer, trying again later may do"
)

var onceMore = fmt.Sprintf("; a service that it needs may be away: it runs once more after %s, and this attempt does not "+
	"count", Wait)

// soon reports whether an attempt failed so soon that a service which its command needs may be away, and the task has not waited
// for that. A command without network needs none, and a command before another executor leaves its task to that.
func soon(order *run.Spec, works run.Works, t *run.Task, f spec.Fault) bool {
	role, a := order.Made(t, works), works[t.Task.ID].Newest()
	if t.Waited || f.Class != wire.FaultCommand || role.Executor != spec.ExecutorCommand || !role.Network ||
		t.Choice.At < len(order.Roles[t.Task.Role].Chain) {
		return false
	}
	return a != nil && a.Result != nil && a.Result.Status != spec.StatusDone && a.Life.Ended-a.Life.Began < within
}

// Again lets the tasks run once more that have waited for what their commands need. A clock that was set back prolongs no wait.
func Again(agents *run.Agents, now time.Time, wait time.Duration) (actions []run.Action) {
	for _, id := range slices.Sorted(maps.Keys(agents.Later)) {
		if had := now.Sub(agents.Later[id]); had >= wait || had < 0 {
			d := run.TaskData{State: run.TaskPending, Reason: "runs once more", Again: true}
			actions = append(actions, run.SetTask(id, d))
		}
	}
	return actions
}
