package schedule

import (
	"cmp"
	"fmt"

	"divisi/orchestrator/run"
)

// Allowance is the limit in tokens of a task's next attempt where the task has a grant; 0 where it has none. What the attempts
// before have used is subtracted: a fresh limit for each attempt would be no bound.
func Allowance(agents *run.Agents, t *run.Task) int {
	if t.Grant == 0 {
		return 0
	}
	left := max(1, t.Grant-agents.Requests.Account(t.Task.ID, agents.Works).Total())
	return min(left, cmp.Or(t.Task.Limits.Tokens, left))
}

// UsedUp returns why a task gets no other attempt: too little is left of what it was granted. "" while there is enough.
func UsedUp(agents *run.Agents, t *run.Task) string {
	if t.Grant == 0 || t.Attempt == 0 {
		return ""
	}
	left := t.Grant - agents.Requests.Account(t.Task.ID, agents.Works).Total()
	if left >= run.LeastTokens {
		return ""
	}
	return fmt.Sprintf("of the %d tokens that the limit of %s left it, %d are left, too few for another attempt: %s",
		t.Grant, t.Parent, max(0, left), t.Reason)
}
