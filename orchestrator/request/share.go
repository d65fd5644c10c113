package request

import (
	"cmp"

	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// share is the most tokens that a delegated task may use, where the agent that delegates has a limit. Its rest is divided evenly
// between itself and the tasks of one turn, whichever of them is made first.
func share(s *run.State, q *run.Request) (tokens int, limited bool) {
	rest, limited := left(s, s.Tasks.ByID[q.Of])
	return max(0, rest) / (unmade(s, q) + 1), limited
}

// unmade counts the delegations in the turn of a request that are no tasks yet, this one too; those without a model need no
// share.
func unmade(s *run.State, q *run.Request) int {
	n := 0
	if a := s.Works.Attempt(q.Of, q.Attempt); a != nil {
		n = a.Delegates
	}
	for _, other := range s.Requests.Of[q.Of] {
		made := other.Child != "" || other.Answer != nil
		same := other.Kind == wire.RequestDelegate && other.Agent() == q.Agent() && turnOf(other) == turnOf(q)
		if made && same && s.Spec.Spends(other.Role) {
			n--
		}
	}
	return max(1, n)
}

// left is how many tokens a task's newest attempt has left, where it has a limit: without what it has used, what others have
// used for it, and what its active children may still use.
func left(s *run.State, t *run.Task) (tokens int, limited bool) {
	a := s.Works.Attempt(t.Task.ID, t.Attempt)
	if a == nil {
		return 0, false
	}
	limit := cmp.Or(a.Tokens, t.Task.Limits.Tokens)
	if limit == 0 {
		return 0, false
	}
	left := limit - a.Usage.Total()
	for _, q := range s.Requests.Of[t.Task.ID] {
		if q.Attempt == t.Attempt && q.Child != "" {
			left -= claim(s, q.Child)
		}
	}
	return left, true
}

// claim returns the use of a task, or its grant while it has not ended, where that is more.
func claim(s *run.State, id string) int {
	used, t := s.Requests.Account(id, s.Works).Total(), s.Tasks.ByID[id]
	if t.Ended() {
		return used
	}
	return max(used, t.Grant)
}
