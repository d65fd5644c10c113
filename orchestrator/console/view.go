package console

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// view is the state of a run with what only a display needs. It passes over events that the fold cannot read, because a display
// must not end a run.
type view struct {
	*run.State

	run    string
	passed map[run.Status]bool
	ended  time.Time
}

// agent is one attempt with a worker.
type agent struct {
	id, role, doing string
	since           time.Time
}

func newView() *view { return &view{State: run.NewState(), passed: map[run.Status]bool{}} }

// data reads an event's data; data that does not fit its kind reads as empty.
func data[T any](e *contextscope.Event) T {
	var d T
	if json.Unmarshal(e.Data, &d) != nil {
		var none T
		return none
	}
	return d
}

func (v *view) apply(e *contextscope.Event) {
	v.run = cmp.Or(v.run, e.Run)
	if v.Apply(e) != nil || e.Kind != contextscope.KindRun {
		return
	}
	v.passed[v.Status] = true
	if v.Status.Ended() && v.ended.IsZero() {
		v.ended = e.Time
	} else if !v.Status.Ended() {
		v.ended = time.Time{}
	}
}

// status is the run's state for people: one that waits for a person is waiting, whatever its phase.
func (v *view) status() string {
	if v.Wait.For != "" {
		return "waiting"
	}
	return string(v.Status)
}

// agents lists the attempts that are with a worker, the longest first.
func (v *view) agents() []*agent {
	var out []*agent
	for id, w := range v.Active() {
		a := w.Attempts[w.Last]
		if v.Status.Ended() || !w.Outstanding() || !a.Started || a.Stopped || a.Lacks != nil {
			continue
		}
		doing := a.Doing
		switch {
		case w.Waits():
			doing = waitsFor(v.newest(id, w.Last))
		case a.Turns == 0 && doing == "":
			doing = "starting"
		}
		out = append(out, &agent{wire.AgentID(id, w.Last), w.RoleAt(w.Last), doing, time.UnixMilli(a.Began)})
	}
	slices.SortFunc(out, func(a, b *agent) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
	return out
}

// newest is the newest request without an answer of an attempt.
func (v *view) newest(id string, attempt int) wire.Request {
	for _, q := range slices.Backward(v.RequestsOf(id)) {
		if q.Attempt == attempt && q.Answer == nil {
			return q.Request
		}
	}
	return wire.Request{}
}

// receipts counts the gates that have run in the newest attempt of one of the run's own gate runs.
func (v *view) receipts(id string) int {
	if w := v.Works[id]; w != nil && w.Attempts[w.Last] != nil {
		return len(w.Attempts[w.Last].Receipts)
	}
	return 0
}

// rows returns the planned tasks in plan order.
func (v *view) rows() []TaskRow {
	out := make([]TaskRow, 0, len(v.Order))
	for _, id := range v.Order {
		t := v.Tasks[id]
		out = append(out, TaskRow{
			ID: id, Title: t.Task.Title, Role: t.Task.Role, State: v.stateOf(t), Reason: t.Reason, Attempt: t.Attempt,
			Tokens: v.Used(id).Total(), Commit: t.Commit, Added: t.Landed.Added, Deleted: t.Landed.Deleted, Files: t.Landed.Files,
			Unverified: t.State == run.TaskLanded && v.Unverified != "",
		})
	}
	return out
}

func (v *view) stateOf(t *run.Task) run.TaskState {
	if t.State == run.TaskProven && v.Unverified != "" {
		return run.TaskUnverified
	}
	return t.State
}

// isRed reports whether a gate failed beyond the baseline.
func isRed(r spec.Receipt) bool {
	return r.Verdict == spec.VerdictFail || r.Verdict == spec.VerdictUnattributable
}
