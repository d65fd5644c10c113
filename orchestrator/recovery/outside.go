package recovery

import (
	"fmt"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Widen tells how a file becomes one that a task may change.
func Widen(s *run.State, t *run.Task) string {
	again := "; then: divisi retry " + s.Spec.Run
	task := "a task"
	if t.Task.ChangeSet != "" {
		task += " with change_set: " + t.Task.ChangeSet + " and"
	} else {
		task += " with"
	}
	switch {
	case s.Spec.Plan == nil:
		return fmt.Sprintf("If it must change, dispatch %s its path in files", task)
	case t.Task.ShardOf != "":
		return fmt.Sprintf("If it must change, add %s its path in files to the plan, or have the shard rule of %s find it "+
			"(glob, match), which finds no protected file%s", task, t.Task.ShardOf, again)
	case t.Parent != "":
		return fmt.Sprintf("If it must change, add %s its path in files to the plan%s", task, again)
	}
	return "If it must change, add its path to files of this task in the plan" + again
}

// outside tells it where a patch is given up that changed other files than those of its task; "" elsewhere.
func outside(s *run.State, t *run.Task, f spec.Fault) string {
	if f.Class != wire.FaultWriteSet || s.Works.ByPerson(t) {
		return ""
	}
	return ". " + Widen(s, t)
}
