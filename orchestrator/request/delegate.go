package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// child is the task that an agent asks for.
func child(tasks *run.Tasks, q *run.Request) spec.Task {
	t := spec.Task{
		ID: childID(tasks, q), Title: q.Title, Role: q.Role, Brief: q.Brief, Files: q.Files,
		IncludeContents: q.IncludeContents,
	}
	if up := tasks.ByID[q.Of]; up != nil {
		t.Mends, t.Through = up.Task.Mends, up.Task.Through
	}
	return t
}

// maxParentID bounds how much of its parent's id a child has in its own, so that the deepest id is one too.
const maxParentID = 20

var (
	// callPlace is the end of a request's id: the turn, and the call's place in it.
	callPlace = lazyregexp.New(`[0-9]+-[0-9]+$`)
	// dashes in a row are kept for tasks that Divisi adds itself.
	dashes = lazyregexp.New(`--+`)
)

// childID names a child after its parent, its role and the call that asked for it, so that the same calls give the same ids
// however they overtake each other.
func childID(tasks *run.Tasks, q *run.Request) string {
	stem := strings.Join([]string{q.Of[:min(len(q.Of), maxParentID)], q.Role, callPlace.FindString(q.ID)}, "-")
	stem = strings.Trim(dashes.ReplaceAllString(stem, "-"), "-_")
	id := stem
	for n := 2; tasks.ByID[id] != nil || len(tasks.Shards[id]) > 0; n++ {
		id = fmt.Sprintf("%s-%d", stem, n)
	}
	return id
}

// mayDelegate returns why an agent may not delegate a task; "" when it may.
func mayDelegate(agenda *run.Agenda, agents *run.Agents, q *run.Request) string {
	parent := agenda.Tasks.ByID[q.Of]
	if parent == nil {
		return "only the agent of a task can delegate: the master uses dispatch, and a tester works alone"
	}
	if why := callable(agenda, parent, q.Role); why != "" {
		return why
	}
	bounds := agenda.Spec.Project.Delegation.WithDefaults()
	if parent.Depth+1 > bounds.Depth {
		return fmt.Sprintf("%d agents are above you, and at most %d may be: do this yourself",
			parent.Depth, bounds.Depth)
	}
	if n := atWorkFor(&agents.Requests, q); n >= bounds.FanOut {
		return fmt.Sprintf("%d tasks are active for you, and no more than %d may be: wait for one of them, then ask again",
			n, bounds.FanOut)
	}
	if tokens, limited := share(agenda, agents, q); limited && tokens < run.LeastTokens && agenda.Spec.Spends(q.Role) {
		advice := "do it yourself"
		if unmade(&agenda.Spec, agents, q) > 1 {
			advice = "ask for less at once, or " + advice
		}
		return fmt.Sprintf("of your token limit, which your delegates share, %d are left for this, and no "+
			"agent finishes with fewer than %d: %s", tokens, run.LeastTokens, advice)
	}
	role := agenda.Spec.Roles[q.Role]
	if len(q.Artifacts) > 0 && !slices.Contains(role.Tools, spec.ToolLoadArtifact) {
		return fmt.Sprintf("role %s has no load_artifact: put the text of the artifact into the brief", q.Role)
	}
	if role.ChangesFiles() {
		return cmp.Or(unplanned(&agenda.Spec, q.Files), mayWrite(agenda, agents.Works, parent, q.Files))
	}
	return ""
}

// atWorkFor counts the tasks that have not ended and for which the agent of a request waits.
func atWorkFor(requests *run.Requests, q *run.Request) int {
	n := 0
	for _, other := range requests.Of[q.Of] {
		if other.Agent() == q.Agent() && other.Child != "" && other.Answer == nil {
			n++
		}
	}
	return n
}

// mayWrite returns why a child that writes the files can never begin, or was not approved; "" when it can. A waiting agent keeps
// its write set, so that no task that it waits for can have a part of it.
func mayWrite(agenda *run.Agenda, works run.Works, parent *run.Task, files []string) string {
	if !agenda.Approval(parent) {
		return "your plan only reads and was not approved for writing: report the needed change in your findings"
	}
	for _, l := range agenda.Tasks.Locked() {
		above := above(&agenda.Tasks, parent, l.Task)
		if above && len(files) == 0 {
			return "name the files that it may change: " + l.Task + " locks its own while it waits"
		}
		at, meet := spec.Intersect(l.Files, files)
		switch {
		case !meet:
		case l.Task == parent.Task.ID:
			return fmt.Sprintf("%s is your own to write: change it yourself, or hand your whole task over with transfer", at)
		case above || works[l.Task].Waits():
			return fmt.Sprintf("%s is locked by %s, which waits itself: leave it out, or name it in deviations", at, l.Task)
		case agenda.Tasks.Set(agenda.Tasks.ByID[l.Task]) != nil && lands(&agenda.Tasks, parent, l.Task):
			return fmt.Sprintf("%s is locked by %s until your change set lands: leave it out, or name it in deviations",
				at, l.Task)
		}
	}
	return ""
}

// lands reports whether the change set of a task lands only after the agent that waits, or one above it, has ended.
func lands(tasks *run.Tasks, t *run.Task, id string) bool {
	for ; t != nil; t = tasks.ByID[t.Parent] {
		if tasks.Set(t) == tasks.Set(tasks.ByID[id]) {
			return true
		}
	}
	return false
}

// above reports whether a task is another one, or above it.
func above(tasks *run.Tasks, t *run.Task, id string) bool {
	for ; t != nil; t = tasks.ByID[t.Parent] {
		if t.Task.ID == id {
			return true
		}
	}
	return false
}

// problemText lists the problems of a plan that was made of a request, with the names that the agent used.
func problemText(e *spec.PlanError) string {
	return "nothing was dispatched; fix:\n- " +
		strings.ReplaceAll(strings.ReplaceAll(e.Error(), "tasks[0].", ""), "\n", "\n- ")
}
