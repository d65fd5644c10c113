package schedule

import (
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// slowGates is above how long the gates take on the base commit that one in firstShare shards of a template may run before they
// have passed on one: waiting for them would cost more than attempts do.
const (
	slowGates  = time.Minute
	firstShare = 10
)

// canaries bounds how many shards of a template models and coding agents work on before the gates have passed on one of them: the
// brief may be wrong. Attempts of other commands cost no tokens, and a shard of a change set never passes alone.
type canaries struct {
	*run.State

	templates map[string]*canary
}

// canary is a template whose brief is unproven: room is how many more of its shards may begin; fresh reports that one is on its
// way that has not failed yet.
type canary struct {
	room  int
	fresh bool
}

// lets reports whether a task may begin. A shard that failed waits for those that have not: where they fail as it did, the
// template is held, and its attempt would be wasted.
func (x *canaries) lets(t *run.Task) bool {
	switch c := x.of(t); {
	case c == nil:
		return true
	case !x.begun(t):
		return c.room > 0
	default:
		return !c.fresh || !failedLast(t)
	}
}

// take notes that a task begins.
func (x *canaries) take(t *run.Task) {
	if c := x.of(t); c != nil && !x.begun(t) {
		c.room--
	}
}

// of returns the template of a task whose next attempt costs tokens; nil where all of its shards may begin.
func (x *canaries) of(t *run.Task) *canary {
	name := t.Task.ShardOf
	if name == "" || t.Task.InRound() || t.Task.ChangeSet != "" || x.Templates.BriefProven(name) {
		return nil
	}
	role := x.Spec.Roles[t.Task.Role]
	if len(role.Chain) > 0 {
		role = x.Spec.RoleOn(t, t.Next.At)
	}
	if !role.Thinks() || !role.ChangesFiles() {
		return nil
	}
	c, known := x.templates[name]
	if !known {
		c = x.look(t)
		x.templates[name] = c
	}
	return c
}

// look counts the shards of a template. A held one takes no room, as its answer may be long in coming; under review all are held,
// and a person sees the first ones before others begin.
func (x *canaries) look(shard *run.Task) *canary {
	c, unchanged := &canary{room: x.size(shard)}, 0
	for _, id := range x.Tasks.Shards[shard.Task.ShardOf] {
		switch t := x.Tasks.ByID[id]; {
		case t.State == run.TaskDone:
			unchanged++
		case !t.Ended() && (t.State != run.TaskHeld || x.Spec.Review) && x.begun(t):
			c.room--
			c.fresh = c.fresh || t.State != run.TaskPending && len(t.Recent()) == 0
		}
	}
	if unchanged >= x.size(shard) {
		return nil // there is nothing that a gate could pass on
	}
	return c
}

// size is how many shards of a template may run before the gates have passed on one.
func (x *canaries) size(shard *run.Task) int {
	if shard.Task.Canary > 0 {
		return shard.Task.Canary
	}
	var gates time.Duration
	for _, g := range x.Spec.GatesOf(shard.Task) {
		gates += x.Proofs.Baseline[g].Duration
	}
	if gates <= slowGates {
		return spec.DefaultCanary
	}
	return max(spec.DefaultCanary, (len(x.Tasks.Shards[shard.Task.ShardOf])+firstShare-1)/firstShare)
}

// begun reports whether a model or a coding agent has had a task since it was last revised.
func (x *canaries) begun(t *run.Task) bool {
	made := x.Spec.Made(t, x.Works)
	return t.Attempt > t.Revised && made.Thinks()
}

// failedLast reports whether the newest attempt of a task failed.
func failedLast(t *run.Task) bool {
	faults := t.Recent()
	return len(faults) > 0 && faults[len(faults)-1].Attempt == t.Attempt
}
