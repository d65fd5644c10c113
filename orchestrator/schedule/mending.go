package schedule

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// unmended returns what hinders a task that needs a gate which others mend: the first of them that is not over. Where all are and
// the gate can still not be compared, nothing would prove the task.
func unmended(agenda *run.Agenda, proofs *run.Proofs, t *run.Task) (h hindrance) {
	for _, name := range proof.Needed(agenda, proofs, t) {
		tasks := agenda.Mending(name)
		for _, id := range tasks {
			if m := agenda.Tasks.ByID[id]; m != nil && !m.Ended() && !waitsFor(&agenda.Tasks, m, t, map[*run.Task]bool{}) {
				return hindrance{by: mending, what: id, gate: name}
			}
		}
		now, known := proofs.Now(name)
		if why := gate.Incomparable(now); known && why != "" && !agenda.Spec.AllowUnverified && ended(&agenda.Tasks, tasks) {
			return hindrance{by: lost, what: fmt.Sprintf("gate %s, which %s should mend, proves nothing yet: %s", name,
				strings.Join(text.Few(tasks, maxNamed), ", "), why)}
		}
	}
	return h
}

// maxNamed bounds the tasks that a reason names.
const maxNamed = 4

func ended(tasks *run.Tasks, ids []string) bool {
	for _, id := range ids {
		if m := tasks.ByID[id]; m == nil || !m.Ended() {
			return false
		}
	}
	return true
}

// waitsFor reports whether a task waits for another one, directly or through others.
func waitsFor(tasks *run.Tasks, t, other *run.Task, seen map[*run.Task]bool) bool {
	if t == other || seen[t] {
		return t == other
	}
	seen[t] = true
	for _, ref := range t.After {
		for _, id := range tasks.Members(ref) {
			if waitsFor(tasks, tasks.ByID[id], other, seen) {
				return true
			}
		}
	}
	return false
}
