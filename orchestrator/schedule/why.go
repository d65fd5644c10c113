package schedule

import (
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// hindrance is why a pending task does not begin now. It has no words, since most of those that are made are not read. what is
// the task, the template or the role that it is about, and more counts the other dependencies that are not over; of a lost
// dependency what is the reason.
type hindrance struct {
	by   cause
	what string
	more int
	// gate is a gate that another task mends.
	gate string
}

type cause int

// The causes, in the order in which they are asked for.
const (
	nothing      cause = iota
	lost               // a dependency never will be over
	dependency         // is not over
	mending            // a gate that it needs is not mended
	held               // its template waits for a decision
	later              // what its command needs may be away
	setLost            // its change set was given up
	approval           // its plan waits for one
	expansion          // it is a template, which becomes its shards
	budget             // what is left of the budget is less than it needs
	process            // as many shards as may share a process do
	places             // all agents that the run may have are at work
	placesOfRole       // all that the role may have are
	passage            // it is no part of the open passage
	writeSet           // another task may write the same files
	waiters            // too many agents wait for others
	firstShards        // the gates have passed on no shard of its template
	laterShards        // the same for shards of its template that run once more
	conflicts          // it takes turns with tasks that conflict as often
)

// Why returns why pending tasks do not begin now, by id; one that is about to has no reason. It is one pass, with the conditions
// of Ready. The words stay the same as long as what hinders the task.
func Why(s *run.State) map[string]string {
	why, words := map[string]string{}, map[hindrance]string{}
	still, x := still(&s.Agenda), newTurns(s)
	for _, t := range inTurn(&s.Tasks) {
		if still != "" {
			why[t.Task.ID] = still
		} else if h := x.take(t); h.by != nothing {
			if words[h] == "" { // thousands wait for the same
				words[h] = x.words(h)
			}
			why[t.Task.ID] = words[h]
		}
	}
	return why
}

// still is why no task of the run begins; "" where some may.
func still(agenda *run.Agenda) string {
	switch {
	case agenda.Status.Ended():
		return "the run is " + string(agenda.Status)
	case agenda.Line != "":
		return "the line is stopped: " + agenda.Line
	case agenda.Halted():
		return agenda.Reason
	case agenda.Status != run.Running && agenda.Status != run.Planning:
		return "waits for the end of the phase " + string(agenda.Status)
	}
	return ""
}

func (x *turns) words(h hindrance) string {
	switch h.by {
	case dependency:
		if h.more > 0 {
			return fmt.Sprintf("waits for %s and %d more", h.what, h.more)
		}
		return "waits for " + h.what
	case mending:
		return fmt.Sprintf("waits for %s, which mends gate %s", h.what, h.gate)
	case passage:
		return "waits for the end of the passage through " + h.what
	case held:
		return fmt.Sprintf("template %s is held and waits for a decision", h.what)
	case later:
		return "waits for a service of its command, and runs once more"
	case setLost:
		return "its change set was parked with " + h.what
	case approval:
		return "its plan waits for approval"
	case expansion:
		return "expands to its shards"
	case budget:
		return "waits: what is left of the budget is less than a task of its role needs"
	case process:
		return fmt.Sprintf("waits for a place: at most %d shards of %s share a process", maxJoined, h.what)
	case places:
		if x.AwaitQuota() {
			return "waits for a place: all agents wait for a quota"
		}
		return fmt.Sprintf("waits for a place: the run has at most %s at once", agents(x.Crew.Room(x.Spec.Parallel)))
	case placesOfRole:
		return fmt.Sprintf("waits for a place: role %s has at most %s at once", h.what, agents(x.Spec.Roles[h.what].Concurrency))
	case writeSet:
		return fmt.Sprintf("waits for %s, which may write the same files", h.what)
	case waiters:
		return fmt.Sprintf("waits for agents that wait for others: there are %d", x.Queue.Waiting())
	case firstShards:
		return fmt.Sprintf("waits for the gates to pass on one of the first shards of %s", h.what)
	case laterShards:
		return fmt.Sprintf("waits for shards of %s that run once more: a service of their command may be away", h.what)
	case conflicts:
		return "takes turns with another task that has conflicted as often"
	default: // a dependency that is lost
		return h.what
	}
}

func agents(n int) string { return text.Count(n, "agent") }
