package schedule

import (
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// hindrance is why a pending task does not begin now. It has no words, since most of those that are made are not read. what is
// the task or the template that is waited for, and more counts the other dependencies that are not over; of a lost dependency
// what is the reason.
type hindrance struct {
	by   cause
	what string
	more int
}

type cause int

// The causes, in the order in which they are asked for.
const (
	nothing      cause = iota
	lost               // a dependency never will be over
	dependency         // is not over
	held               // its template waits for a decision
	setLost            // its change set was given up
	approval           // its plan waits for one
	places             // all agents that the run may have are at work
	placesOfRole       // all that the role may have are
	writeSet           // another task may write the same files
	waiters            // too many agents wait for others
	firstShards        // the gates have passed on no shard of its template
	conflicts          // it takes turns with tasks that conflict as often
)

// Why returns why pending tasks do not begin now, by id; one that is about to has no reason. It is one pass, with the conditions
// of Ready. The words stay the same as long as what hinders the task.
func Why(s *run.State) map[string]string {
	why := map[string]string{}
	still, x := still(s), newTurns(s)
	for _, t := range inTurn(s) {
		if still != "" {
			why[t.Task.ID] = still
		} else if h := x.take(t); h.by != nothing {
			why[t.Task.ID] = x.words(t, h)
		}
	}
	return why
}

// still is why no task of the run begins; "" where some may.
func still(s *run.State) string {
	switch {
	case s.Status.Ended():
		return "the run is " + string(s.Status)
	case s.Line != "":
		return "the line is stopped: " + s.Line
	case s.Halted():
		return s.Reason
	case s.Status != run.Running && s.Status != run.Planning:
		return "waits for the end of the phase " + string(s.Status)
	}
	return ""
}

func (x *turns) words(t *run.Task, h hindrance) string {
	switch h.by {
	case dependency:
		if h.more > 0 {
			return fmt.Sprintf("waits for %s and %d more", h.what, h.more)
		}
		return "waits for " + h.what
	case held:
		return fmt.Sprintf("template %s is held and waits for a decision", x.Templates.Held[t].Template)
	case setLost:
		return fmt.Sprintf("its change set %s is given up with %s", t.Task.ChangeSet, h.what)
	case approval:
		return "its plan waits for approval"
	case places:
		return "waits for a place: " + x.taken(t)
	case placesOfRole:
		most := x.Spec.Roles[t.Task.Role].Concurrency
		return fmt.Sprintf("waits for a place: role %s has at most %s at once", t.Task.Role, agents(most))
	case writeSet:
		return fmt.Sprintf("waits for %s, which may write the same files", h.what)
	case waiters:
		return fmt.Sprintf("waits for agents that wait for others: there are %d", x.Queue.Waiting())
	case firstShards:
		return fmt.Sprintf("waits for the gates to pass on one of the first shards of %s", t.Task.ShardOf)
	case conflicts:
		return "takes turns with another task that has conflicted as often"
	default: // a dependency that is lost
		return h.what
	}
}

// taken is by what the places of agents are taken.
func (x *turns) taken(t *run.Task) string {
	if of := group(x.State, t); x.joined[of] >= maxJoined {
		return fmt.Sprintf("%d shards of %s share a process", maxJoined, of)
	}
	if x.AwaitQuota() {
		return "all agents wait for a quota"
	}
	return fmt.Sprintf("the run has at most %s at once", agents(x.Crew.Room(x.Spec.Parallel)))
}

func agents(n int) string { return text.Count(n, "agent") }
