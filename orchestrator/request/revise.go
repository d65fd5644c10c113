package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Revise changes a task, or what is left of a template's shards, and lets it begin again: also one that was parked, with the
// tasks that were parked since they depend on it, and those of its change set, whose patches wait for it in the queue. The error
// is a *RefusedError; nothing is changed then. A revision with the ID of an earlier one changes only the tasks that lack it.
func Revise(agenda *run.Agenda, works run.Works, ref string, r run.Revision) ([]run.Action, error) {
	if agenda.Status.Ended() && agenda.Status != run.Stopped || agenda.Status == run.Final {
		return nil, Refusedf("run %s has no tasks to revise any more: it is %s", agenda.Spec.Run, agenda.Status)
	}
	ids := slices.DeleteFunc(slices.Clone(agenda.Tasks.Members(ref)), func(id string) bool {
		return ref != id && (kept(agenda.Tasks.ByID[id]) || agenda.Tasks.ByID[id].State == run.TaskLanding)
	})
	if len(ids) == 0 {
		return nil, unknown(agenda, ref)
	}
	if r.Files != nil {
		if len(ids) > 1 {
			return nil, Refusedf("the files of the shards of %s come from its rule: revise one shard, %s", ref, ids[0])
		}
		if problems := pathProblems(*r.Files); problems != "" {
			return nil, Refusedf("%s", problems)
		}
		if why := meets(&agenda.Tasks, agenda.Tasks.ByID[ids[0]], *r.Files); why != "" {
			return nil, Refusedf("%s", why)
		}
		if r.Unlocked = spec.Unlocks(*r.Files, agenda.Spec.Project.Protected); !wire.IsPerson(r.By) && len(r.Unlocked) > 0 {
			return nil, Refusedf("%s is protected: dispatch a task that names it, so that a person approves it", r.Unlocked[0])
		}
	}
	if _, known := agenda.Spec.Roles[r.Role]; r.Role != "" && !known {
		return nil, Refusedf("run %s has no role %q", agenda.Spec.Run, r.Role)
	}
	for _, id := range ids {
		if why := cmp.Or(fixed(agenda.Tasks.ByID[id], r.By), unfit(&agenda.Spec, agenda.Tasks.ByID[id], &r)); why != "" {
			return nil, Refusedf("%s", why)
		}
	}
	actions := begin(&agenda.Tasks, works, ids, r, nil)
	if h := agenda.Templates.Of[ref].Open(); h != nil {
		actions = append(actions, answerHold(h, run.Answer{Option: run.Revise, Text: r.Comment, By: r.By}))
	}
	return actions, nil
}

// unfit returns why a task cannot have the role of a revision: the tests of the role must fail first, or the role has the command
// of its task, which has none; "" where it can.
func unfit(order *run.Spec, t *run.Task, r *run.Revision) string {
	role, own := order.Roles[r.Role], t.OwnCommand(order)
	if r.Command != nil {
		own = *r.Command
	}
	switch {
	case role.Proves != "" && t.Task.ChangeSet == "":
		return fmt.Sprintf("%s is in no change set, and tests of role %s are proven with the change of their set",
			t.Task.ID, r.Role)
	case role.Executor == spec.ExecutorCommand && len(role.Command) == 0 && len(own) == 0:
		return fmt.Sprintf("role %s runs the command of its task, and %s has none: write a command into the role, or "+
			"name another role",
			r.Role, t.Task.ID)
	}
	return ""
}

// meets returns why a task cannot have these files: they belong to its change set, or to a task that an agent waits for, which
// could then wait for this one; "" where it can.
func meets(tasks *run.Tasks, t *run.Task, files []string) string {
	if why := inSet(tasks, t, files); why != "" {
		return why
	}
	for child := range tasks.Open() {
		if at, meet := spec.Intersect(child.Task.Files, files); meet && child.Parent != "" && child != t {
			return fmt.Sprintf("%s is for %s to write, which the agent of %s waits for", at, child.Task.ID, child.Parent)
		}
	}
	return ""
}

// inSet returns which of the files another task of the change set may change; "" for none.
func inSet(tasks *run.Tasks, t *run.Task, files []string) string {
	set := tasks.Set(t)
	if set == nil {
		return ""
	}
	for _, m := range set.Members {
		if at, meet := spec.Intersect(m.Task.Files, files); meet && m != t {
			return fmt.Sprintf("%s belongs to %s of the same change set: each file belongs to one of its tasks", at, m.Task.ID)
		}
	}
	return ""
}

// kept reports whether a task has ended well.
func kept(t *run.Task) bool { return t.Ended() && !t.GivenUp() }

func unknown(agenda *run.Agenda, ref string) error {
	if shards := agenda.Tasks.Members(ref); len(shards) > 0 {
		return Refusedf("all shards of %s have landed", ref)
	}
	text := fmt.Sprintf("run %s has no task %q", agenda.Spec.Run, ref)
	if near := spec.Nearest(ref, agenda.Tasks.Order); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return Refusedf("%s", text)
}

// fixed returns why a task cannot be revised; "" where it can.
func fixed(t *run.Task, by string) string {
	id := t.Task.ID
	switch {
	case kept(t):
		return fmt.Sprintf("%s is %s: dispatch another task for the remaining change", id, t.State)
	case t.Drops != nil:
		return onlyDrops(t)
	case t.State == run.TaskLanding:
		return id + " is being tested: revise it when that has ended"
	case t.Parent != "":
		return fmt.Sprintf("%s belongs to the agent of %s: revise that one", id, t.Parent)
	case t.State == run.TaskCancelled && !wire.IsPerson(by):
		return id + " was cancelled: only a person can open it again"
	case !wire.IsPerson(by) && revisedBy(t) >= maxRevisions:
		return fmt.Sprintf("%s was revised %d times, which did not help: a person decides about it", id, maxRevisions)
	}
	return ""
}

// maxRevisions bounds how often a master revises one task. A person does it as often as it takes, and lets the master begin anew.
const maxRevisions = 5

// revisedBy counts the revisions of a task by the master since a person's.
func revisedBy(t *run.Task) (n int) {
	for _, r := range slices.Backward(t.Revisions) {
		if wire.IsPerson(r.By) {
			break
		}
		if r.Changes() {
			n++
		}
	}
	return n
}

// begin lets tasks begin again, each with its own revision where it has one. What was given up because of them, or of others that
// are opened, is opened before: a kill in between leaves it to be given up again, and the tasks to be opened again.
func begin(
	tasks *run.Tasks, works run.Works, ids []string, all run.Revision, own map[string]run.Revision,
	opened ...string) (actions []run.Action,
) {
	begun := map[string]bool{}
	for _, id := range opened {
		begun[id] = true
	}
	for _, id := range ids {
		t, r := tasks.ByID[id], all
		if o, ok := own[id]; ok {
			r = o
		}
		begun[id] = true
		if n := len(t.Revisions); r.ID != "" && n > 0 && t.Revisions[n-1].ID == r.ID {
			continue // before a kill
		}
		d := run.TaskData{State: run.TaskPending, Reason: tried(&r), Revision: &r}
		actions = append(append(actions, run.SetTask(id, d)), callBack(works, id)...)
	}
	return append(freed(tasks, begun, run.Revision{ID: all.ID, By: all.By}, false), actions...)
}

// tried words why tasks begin again.
func tried(r *run.Revision) string {
	if !r.Changes() {
		return "tried again by " + wire.Speaker(r.By)
	}
	return "revised by " + wire.Speaker(r.By)
}

// freed opens the tasks that were given up only because of others, which begin again or are skipped.
func freed(tasks *run.Tasks, begun map[string]bool, again run.Revision, skipped bool) (actions []run.Action) {
	for more := true; more; {
		more = false
		for _, id := range tasks.Order {
			t := tasks.ByID[id]
			if begun[id] || t.State != run.TaskParked || !lostWith(tasks, t, begun, skipped) {
				continue
			}
			begun[id], more = true, true
			actions = append(actions, run.SetTask(id, reopened(t, &again)))
		}
	}
	return actions
}

// reopened is how a task begins again that was given up only because of others: what it handed in is tested, or decided about,
// without another attempt.
func reopened(t *run.Task, r *run.Revision) run.TaskData {
	d := run.TaskData{State: run.TaskPending, Revision: r}
	switch undecided := t.Undecided(); {
	case t.HandedIn() && undecided != nil:
		same := *undecided
		d.State, d.Doubt = run.TaskHeld, &same
	case t.HandedIn():
		d.State = run.TaskAccepted
	}
	return d
}

// lostWith reports whether a parked task was given up only since one of others was: it depends on it, and on no other that is
// given up, or is in its change set. A set lands as a whole: with a task that begins again all of its tasks do, with one that is
// skipped those that did not fail themselves.
func lostWith(tasks *run.Tasks, t *run.Task, begun map[string]bool, skipped bool) bool {
	again := func(m *run.Task) bool { return begun[m.Task.ID] }
	failed := len(t.Faults) > 0 && t.Faults[len(t.Faults)-1].Attempt == t.Attempt
	if set := tasks.Set(t); set != nil && slices.ContainsFunc(set.Members, again) && (!skipped || !failed) {
		return true
	}
	found := false
	for _, ref := range t.After {
		for _, id := range tasks.Members(ref) {
			if tasks.ByID[id].GivenUp() && !begun[id] {
				return false
			}
			found = found || begun[id]
		}
	}
	return found && t.Attempt == 0
}

// callBack takes the attempts of a task from the queue and from their agents.
func callBack(works run.Works, id string) (actions []run.Action) {
	for _, work := range []string{id, id + run.VerifySuffix, id + run.RedSuffix} {
		w := works[work]
		if w != nil && w.Attempts[w.Last] != nil && w.Attempts[w.Last].Result == nil {
			actions = append(actions, run.TakeBack{Work: w}, run.Tell{Work: work})
		}
	}
	return actions
}

// reviseFor does what the master asks with revise or cancel.
func reviseFor(agenda *run.Agenda, agents *run.Agents, q *run.Request) []run.Action {
	var actions []run.Action
	var err error
	outcome := q.Task + " begins again"
	switch {
	case q.Of != run.MasterTask:
		return refuse(q, "only the master can change the tasks of others")
	case q.Task == run.MasterTask || strings.TrimSpace(q.Task) == "":
		return refuse(q, "name the task: the master itself ends with submit_result")
	case q.Kind == wire.RequestCancel:
		outcome = q.Task + " is cancelled"
		actions, err = cancelFor(agenda, agents, q)
	case q.Brief == "" && q.Files == nil && q.Constraints == nil:
		return refuse(q, "name the change: brief, files or constraints")
	default:
		r := run.Revision{ID: q.ID, By: q.Agent(), Brief: q.Brief}
		if q.Files != nil {
			r.Files = &q.Files
		}
		if q.Constraints != nil {
			r.Constraints = &q.Constraints
		}
		actions, err = Revise(agenda, agents.Works, q.Task, r)
	}
	if err != nil {
		return refuse(q, err.Error())
	}
	return append(actions, answer(q, wire.Answer{Text: outcome})...)
}

// cancelFor gives up a task that the goal does not need, which is no failure of the run.
func cancelFor(agenda *run.Agenda, agents *run.Agents, q *run.Request) ([]run.Action, error) {
	t := agenda.Tasks.ByID[q.Task]
	if agenda.Tasks.ByID[q.Task] == nil && decided(agents.Decisions, q, q.Reason) > 0 { // before a kill
		return nil, nil
	}
	if t != nil && t.State == run.TaskSkipped && t.Reason == q.Reason { // before a kill
		return nil, nil
	}
	for other := range agenda.Tasks.Open() {
		if slices.ContainsFunc(other.After, func(ref string) bool { return slices.Contains(agenda.Tasks.Members(ref), q.Task) }) {
			return nil, Refusedf("%s depends on %s: cancel or revise that one first", other.Task.ID, q.Task)
		}
	}
	if t != nil && t.State == run.TaskParked && agenda.Tasks.Set(t) == nil {
		return end(agents.Works, t, run.TaskSkipped, q.Reason), nil
	}
	actions, err := Cancel(agenda, agents.Works, q.Task, q.Reason, q.Agent())
	if err != nil || t == nil || agenda.Tasks.Set(t) != nil {
		return actions, err
	}
	return end(agents.Works, t, run.TaskSkipped, q.Reason), nil
}

// Accept lets a held patch continue, or the shards of a held template. The error is a *RefusedError.
func Accept(agenda *run.Agenda, works run.Works, id string, a run.Answer) ([]run.Action, error) {
	a = run.Answer{Option: run.Accept, By: a.By, Alike: a.Alike, Standing: a.Standing}
	if h, err := heldOnly(agenda, id); h != nil {
		return []run.Action{answerHold(h, a)}, nil
	} else if err != nil {
		return nil, err
	}
	t, over := agenda.Tasks.ByID[id], Over(agenda)
	switch {
	case over != nil:
		return nil, over
	case t == nil:
		return nil, unknown(agenda, id)
	case t.Doubt() == nil:
		return nil, Refusedf("the patch of %s is not held: the task is %s", id, t.State)
	}
	return rule(agenda, works, t, a)
}

// rule decides about a held patch. What a person is to see, only a person decides.
func rule(agenda *run.Agenda, works run.Works, t *run.Task, a run.Answer) ([]run.Action, error) {
	switch d := t.Doubt(); {
	case d.Review && !wire.IsPerson(a.By):
		return nil, Refusedf("the patch of %s waits for a person, who reviews each patch of this run", t.Task.ID)
	case d.Unread != nil && a.Option == run.Accept && !wire.IsPerson(a.By):
		return nil, Refusedf("the patch of %s waits for a person: no gate reads files of it", t.Task.ID)
	}
	return recovery.Decide(agenda, works, t, a), nil
}

// decided counts the decisions about the task of a request of the master that its agent has made with a text, or accepted.
func decided(decisions run.Decisions, q *run.Request, text string) (n int) {
	for _, d := range decisions {
		a := d.Answer
		if d.Closed && d.About == q.Task && a.By == q.Agent() && a.Text == text && (a.Option == run.Accept) == q.Accept {
			n++
		}
	}
	return n
}
