package request

import (
	"cmp"

	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// share is the most tokens that a delegated task may use, where the agent that delegates has a limit. Its rest is divided evenly
// between itself and the tasks of one turn, whichever of them is made first.
func share(agenda *run.Agenda, agents *run.Agents, q *run.Request) (tokens int, limited bool) {
	rest, limited := left(&agenda.Tasks, agents, agenda.Tasks.ByID[q.Of])
	return max(0, rest) / (unmade(&agenda.Spec, agents, q) + 1), limited
}

// unmade counts the delegations in the turn of a request that are no tasks yet, this one too; those without a model need no
// share.
func unmade(order *run.Spec, agents *run.Agents, q *run.Request) int {
	n := 0
	if a := agents.Works.Attempt(q.Of, q.Attempt); a != nil {
		n = a.Delegates
	}
	for _, other := range agents.Requests.Of[q.Of] {
		made := other.Child != "" || other.Answer != nil
		same := other.Kind == wire.RequestDelegate && other.Agent() == q.Agent() && turnOf(other) == turnOf(q)
		if made && same && order.Spends(other.Role) {
			n--
		}
	}
	return max(1, n)
}

// left is how many tokens a task's newest attempt has left, where it has a limit: without what it has used, what others have
// used for it, and what its active children may still use.
func left(tasks *run.Tasks, agents *run.Agents, t *run.Task) (tokens int, limited bool) {
	a := agents.Works.Attempt(t.Task.ID, t.Attempt)
	if a == nil {
		return 0, false
	}
	limit := cmp.Or(a.Tokens, t.Task.Limits.Tokens)
	if limit == 0 {
		return 0, false
	}
	left := limit - a.Usage.Total()
	for _, q := range agents.Requests.Of[t.Task.ID] {
		if q.Attempt == t.Attempt && q.Child != "" {
			left -= claim(tasks, agents, q.Child)
		}
	}
	return left, true
}

// claim returns the use of a task, or its grant while it has not ended, where that is more.
func claim(tasks *run.Tasks, agents *run.Agents, id string) int {
	used, t := agents.Requests.Account(id, agents.Works).Total(), tasks.ByID[id]
	if t.Ended() {
		return used
	}
	return max(used, t.Grant)
}
