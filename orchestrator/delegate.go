package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// delegate makes a task of a request, and answers it when that task has ended.
func (c *Conductor) delegate(ctx context.Context, q *RequestView) (bool, error) {
	if q.Child != "" {
		return c.handBack(ctx, q)
	}
	if why := c.st.mayDelegate(q); why != "" {
		return true, c.refuse(ctx, q, why)
	}
	parent := c.st.Tasks[q.Of]
	data, problems, err := Prepare(ctx, spec.Plan{Tasks: []spec.Task{c.st.child(q)}}, c.st.Spec, c.st.tasks(),
		c.cfg.Tree(c.st.Head))
	if err != nil {
		return false, fmt.Errorf("make a task of %s: %w", q.ID, err)
	}
	if len(problems) > 0 {
		return true, c.refuse(ctx, q, problemText(&PlanError{problems}))
	}
	if share, limited := c.st.share(q); limited && c.st.spends(q.Role) {
		data.Grant, data.Ceiling = share, min(data.Ceiling, share)
	}
	data.Tasks[0].Unlocked = nil // only a person and the master unlock
	data.By, data.Request, data.DecisionRecord = q.Agent(), q.ID, c.st.Plans[parent.Plan].DecisionRecord
	return true, c.append(ctx, contextscope.KindPlan, "", data)
}

// tasks are all of the run's, in plan order.
func (s *State) tasks() []spec.Task {
	out := make([]spec.Task, 0, len(s.Order))
	for _, id := range s.Order {
		out = append(out, s.Tasks[id].Task)
	}
	return out
}

// child is the task that an agent asks for.
func (s *State) child(q *RequestView) spec.Task {
	return spec.Task{
		ID: s.childID(q), Title: q.Title, Role: q.Role, Brief: q.Brief, Files: q.Files,
		IncludeContents: q.IncludeContents,
	}
}

// maxParentID bounds how much of its parent's id a child has in its own, so that the deepest id is one too.
const maxParentID = 20

var (
	// callPlace is the end of a request's id: the turn, and the call's place in it.
	callPlace = regexp.MustCompile(`[0-9]+-[0-9]+$`)
	// dashes in a row are kept for tasks that Divisi adds itself.
	dashes = regexp.MustCompile(`--+`)
)

// childID names a child after its parent, its role and the call that asked for it, so that the same calls give the same ids
// however they overtake each other.
func (s *State) childID(q *RequestView) string {
	stem := strings.Join([]string{q.Of[:min(len(q.Of), maxParentID)], q.Role, callPlace.FindString(q.ID)}, "-")
	stem = strings.Trim(dashes.ReplaceAllString(stem, "-"), "-_")
	id := stem
	for n := 2; s.Tasks[id] != nil || len(s.Shards[id]) > 0; n++ {
		id = fmt.Sprintf("%s-%d", stem, n)
	}
	return id
}

// mayDelegate says why an agent may not have a task done that it asks for; "" when it may.
func (s *State) mayDelegate(q *RequestView) string {
	parent := s.Tasks[q.Of]
	if parent == nil {
		return "only the agent of a task can delegate: who plans has dispatch, and a judge works alone"
	}
	if why := s.callable(parent, q.Role); why != "" {
		return why
	}
	bounds := s.Spec.Project.Delegation.WithDefaults()
	if parent.Depth+1 > bounds.Depth {
		return fmt.Sprintf("%d agents stand above you already, and no more than %d may stand above another: do this yourself",
			parent.Depth, bounds.Depth)
	}
	if n := s.atWorkFor(q); n >= bounds.FanOut {
		return fmt.Sprintf("%d tasks are at work for you, and no more than %d may be: wait for one of them, then ask again",
			n, bounds.FanOut)
	}
	if share, limited := s.share(q); limited && share < leastTokens && s.spends(q.Role) {
		advice := "do it yourself"
		if s.unmade(q) > 1 {
			advice = "ask for less at once, or " + advice
		}
		return fmt.Sprintf("of your limit in tokens, which what others do for you counts against, %d are left for this, and no "+
			"agent comes to an end with fewer than %d: %s", share, leastTokens, advice)
	}
	if role := s.Spec.Roles[q.Role]; role.ChangesFiles() {
		return cmp.Or(s.unplanned(q.Files), s.mayWrite(parent, q.Files))
	}
	return ""
}

// callees are the roles that the agents of a role can name, sorted.
func (s *State) callees(role *spec.Role) []string {
	if len(role.Delegates) > 0 {
		return slices.Sorted(slices.Values(role.Delegates))
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Spec.Roles)), func(name string) bool {
		return name == spec.RoleMaster || name == spec.RoleTester
	})
}

// calleesOf are the same, as the agent is told of them.
func (s *State) calleesOf(role *spec.Role) []wire.Callee {
	var out []wire.Callee
	for _, name := range s.callees(role) {
		r := s.Spec.Roles[name]
		out = append(out, wire.Callee{Name: name, Description: r.Description, Writes: r.ChangesFiles()})
	}
	return out
}

// callable says why the agent of a task cannot call a role; "" when it can.
func (s *State) callable(t *TaskView, name string) string {
	role := s.Spec.Roles[t.Task.Role]
	can := s.callees(&role)
	if !slices.Contains(can, name) {
		text := fmt.Sprintf("role %q is none that you can name; there are %s", name, strings.Join(can, ", "))
		if near := spec.Nearest(name, can); near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return text
	}
	if chain := s.chain(t); slices.Contains(chain, name) {
		return fmt.Sprintf("this would go round in a circle: %s asks for %s", strings.Join(chain, " asks for "), name)
	}
	return ""
}

// chain are the roles that stand above what the agent of a task asks for, the outermost first: its own, those that gave the
// task to it, and those of the agents that had asked for it.
func (s *State) chain(t *TaskView) []string {
	var roles []string
	for up := t; up != nil; up = s.Tasks[up.Parent] {
		roles = append(roles, up.Task.Role)
		for _, h := range slices.Backward(up.Handovers) {
			roles = append(roles, h.Role)
		}
	}
	slices.Reverse(roles)
	return roles
}

// atWorkFor counts the tasks that have not ended and for which the agent of a request waits.
func (s *State) atWorkFor(q *RequestView) int {
	n := 0
	for _, id := range s.Asked {
		if other := s.Requests[id]; other.Agent() == q.Agent() && other.Child != "" && other.Answer == nil {
			n++
		}
	}
	return n
}

// mayWrite says why a child that writes the files can never begin, or was never agreed to; "" when neither is so. Nobody who
// waits gives up what he holds, so that what he holds is not for those that others wait for.
func (s *State) mayWrite(parent *TaskView, files []string) string {
	if !s.taken(parent) {
		return "your plan only reads, and was shown to nobody: say in your findings what is to be changed"
	}
	for _, h := range s.heldSets() {
		above := s.above(parent, h.task)
		if above && len(files) == 0 {
			return "say which files it may change: " + h.task + " holds its own while it waits"
		}
		at, meet := Intersect(h.files, files)
		switch {
		case !meet:
		case h.task == parent.Task.ID:
			return fmt.Sprintf("%s is your own to write: change it yourself, or hand your whole task over with transfer", at)
		case above || s.waits(h.task):
			return fmt.Sprintf("%s is held by %s, which waits itself: leave it out, or name it in deviations", at, h.task)
		}
	}
	return ""
}

// above reports whether a task is another one, or stands above it.
func (s *State) above(t *TaskView, id string) bool {
	for ; t != nil; t = s.Tasks[t.Parent] {
		if t.Task.ID == id {
			return true
		}
	}
	return false
}

// handBack answers a request whose task has ended.
func (c *Conductor) handBack(ctx context.Context, q *RequestView) (bool, error) {
	t := c.st.Tasks[q.Child]
	if !t.Ended() {
		return false, nil
	}
	a := wire.Answer{Task: q.Child, Status: spec.StatusDone, Usage: c.st.account(q.Child)}
	if t.Result != nil {
		a.Handoff = t.Result.Handoff
	}
	switch t.State {
	case TaskLanded:
		a.Commit = t.Commit
		a.Text = "its change has landed as " + t.Commit + "; your own tree is still what you began from, without it"
	case TaskParked:
		a.Status, a.Fault = spec.StatusFailed, &spec.Fault{Class: "parked", Message: t.Reason}
	case TaskCancelled:
		a.Status, a.Fault = spec.StatusCancelled, &spec.Fault{Class: "cancelled", Message: t.Reason}
	}
	return true, c.answerTo(ctx, q, a)
}
