package orchestrator

import (
	"cmp"
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// leastTokens is the smallest share of a limit with which a task is begun: with less no agent comes to an end.
const leastTokens = 4096

// share is what a task that an agent asks for may use in all, where the agent has a limit. What it has left is divided evenly
// between itself and the tasks of one turn, whichever of them is made first.
func (s *State) share(q *RequestView) (tokens int, limited bool) {
	left, limited := s.left(s.Tasks[q.Of])
	return max(0, left) / (s.unmade(q) + 1), limited
}

// spends says whether a role uses a model, and with it tokens.
func (s *State) spends(role string) bool {
	r := s.Spec.Roles[role]
	return r.Runs(spec.ExecutorModel)
}

// unmade counts the tasks that are asked for in the turn of a request and that nothing was made of yet, this one too; those that
// take no model need no share.
func (s *State) unmade(q *RequestView) int {
	n := 0
	if a := s.attempt(q.Of, q.Attempt); a != nil {
		n = a.Delegates
	}
	for _, id := range s.Asked {
		other := s.Requests[id]
		made := other.Child != "" || other.Answer != nil
		same := other.Kind == wire.RequestDelegate && other.Agent() == q.Agent() && turnOf(other) == turnOf(q)
		if made && same && s.spends(other.Role) {
			n--
		}
	}
	return max(1, n)
}

// left is how many tokens a task's newest attempt has left, where it has a limit: without what it has used, what others have
// used for it, and what those may still use that are at work for it.
func (s *State) left(t *TaskView) (tokens int, limited bool) {
	a := s.attempt(t.Task.ID, t.Attempt)
	if a == nil {
		return 0, false
	}
	limit := cmp.Or(a.Tokens, t.Task.Limits.Tokens)
	if limit == 0 {
		return 0, false
	}
	left := limit - a.Usage.Total()
	for _, id := range s.Asked {
		if q := s.Requests[id]; q.Of == t.Task.ID && q.Attempt == t.Attempt && q.Child != "" {
			left -= s.claim(q.Child)
		}
	}
	return left, true
}

// claim is what a task has used, and while it has not ended what it was granted, where that is more.
func (s *State) claim(id string) int {
	used, t := s.account(id).Total(), s.Tasks[id]
	if t.Ended() {
		return used
	}
	return max(used, t.Grant)
}

// allowance is the limit in tokens of a task's next attempt where the task has a grant; 0 where it has none. What the attempts
// before have used is gone: a limit that each had anew would be no bound.
func (s *State) allowance(t *TaskView) int {
	if t.Grant == 0 {
		return 0
	}
	left := max(1, t.Grant-s.account(t.Task.ID).Total())
	return min(left, cmp.Or(t.Task.Limits.Tokens, left))
}

// usedUp says why a task gets no other attempt: too little is left of what it was granted. "" while there is enough.
func (s *State) usedUp(t *TaskView) string {
	left := t.Grant - s.account(t.Task.ID).Total()
	if t.Grant == 0 || t.Attempt == 0 || left >= leastTokens {
		return ""
	}
	return fmt.Sprintf("of the %d tokens that the limit of %s left it, %d are left, too few for another attempt: %s",
		t.Grant, t.Parent, max(0, left), t.Reason)
}

// delegations counts the calls of a turn that ask for a task which takes a model. A call without what the tool requires is
// answered by the tool itself, and nothing comes of it.
func (s *State) delegations(turn *contextscope.Event) int {
	if turn.Content == nil {
		return 0
	}
	n := 0
	for _, p := range turn.Content.Parts {
		if p == nil || p.FunctionCall == nil || p.FunctionCall.Name != spec.ToolDelegate {
			continue
		}
		role, _ := p.FunctionCall.Args["role"].(string)
		if brief, _ := p.FunctionCall.Args["brief"].(string); strings.TrimSpace(brief) != "" && s.spends(role) {
			n++
		}
	}
	return n
}
