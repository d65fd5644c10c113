package decision

import (
	"fmt"
	"maps"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// worker is a role that none of the workers serves. It is closed when one does.
var worker = kind{
	name: run.DecideWorker,
	open: func(s *run.State) (out []run.Decision) {
		if s.Status.Ended() {
			return nil
		}
		for _, role := range slices.Sorted(maps.Keys(s.Unserved)) {
			out = append(out, unserved(role, s.Unserved[role]))
		}
		return out
	},
	waits: func(_ *run.Templates, d *run.Decision, t *run.Task) bool {
		return t.Task.Role == d.About || d.About == spec.RoleTester // nothing lands without gates
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		if a.Option == run.StopRun {
			return []run.Action{run.Stop("a person ended the wait for a worker: " + d.Evidence[0])}, "the run stops", nil
		}
		var tasks []string
		for t := range s.Tasks.Open() {
			if t.Task.Role == d.About {
				tasks = append(tasks, t.Task.ID)
			}
		}
		if len(tasks) == 0 {
			return nil, "", request.Refusedf("no task of the role %s is left", d.About)
		}
		actions, _, err := request.Skip(&s.Agenda, s.Works, tasks, run.Revision{By: a.By}, "no worker serves the role "+d.About)
		return actions, fmt.Sprintf("%d tasks of the role %s are given up", len(tasks), d.About), err
	},
}

func unserved(role string, u run.Unserved) run.Decision {
	return run.Decision{
		ID: run.DecisionID(role, u.Pos), About: role, Pos: u.Pos,
		Text: fmt.Sprintf("a worker for the role %s: %s", role, u.Why), Evidence: []string{u.Why},
		Options: []run.Option{
			{Name: run.StopRun, Does: "stop the run; it can be resumed"},
			{Name: run.Skip, Does: "skip the tasks of the role"},
		},
		Decider: run.ByPerson, Why: "it takes another worker, or a change to one",
	}
}
