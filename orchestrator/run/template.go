package run

import (
	"fmt"
	"maps"
	"slices"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Hold keeps the shards of a template from starting, since several of them failed in the same way: their brief may be wrong.
type Hold struct {
	Template string `json:"template"`
	// Shape is the failure without what is a shard's own. Shards have failed with it; Example is the newest attempt that did, and
	// Message its failure.
	Shape   string `json:"shape"`
	Shards  int    `json:"shards"`
	Example string `json:"example"`
	Message string `json:"message"`
	// Answer is nil while it is open.
	Answer *Answer `json:"-"`
	// Pos is where in the log it began, and Plans how many there were.
	Pos   uint64 `json:"-"`
	Plans int    `json:"-"`
}

// Why is why the template is held, in one line.
func (h *Hold) Why() string {
	return fmt.Sprintf("%d shards fail in the same way, such as %s: %s", h.Shards, h.Example, h.Message)
}

// Alike is how many shards have to fail in the same way before their template is held.
const Alike = 3

// Templates are those with a shard that failed or passed.
type Templates struct {
	Of map[string]*Template
	// Doubtful are those with a failure that enough shards have had.
	Doubtful map[string]*Template
	// Held are the tasks that a hold keeps from starting.
	Held  map[*Task]*Hold
	tasks *Tasks
}

func newTemplates(of *Tasks) Templates {
	return Templates{Doubtful: map[string]*Template{}, Of: map[string]*Template{}, tasks: of, Held: map[*Task]*Hold{}}
}

// Template is the common knowledge about a template's shards.
type Template struct {
	// Failed has by shape the shards whose attempts failed so, since they were revised, in the order of the log.
	Failed map[string][]*Task
	// waits has by shape the shards whose commands failed so and run once more, until they have.
	waits map[string][]*Task
	// Often are the shapes that enough shards have had.
	Often []string
	// Passed counts the shards that have ended well, landed those of them with a change.
	Passed, landed int
	// Holds are all of its holds, oldest first.
	Holds []*Hold
}

// Open is the hold that waits for an answer; nil for none.
func (x *Template) Open() *Hold {
	if x == nil || len(x.Holds) == 0 || x.Holds[len(x.Holds)-1].Answer != nil {
		return nil
	}
	return x.Holds[len(x.Holds)-1]
}

// Answered reports whether a hold was answered with an option.
func (x *Template) Answered(option string) bool {
	return slices.ContainsFunc(x.Holds, func(h *Hold) bool { return h.Answer != nil && h.Answer.Option == option })
}

// red counts the shards whose newest failure is one of the gates.
func (x *Template) red() int {
	red := map[*Task]bool{}
	for _, list := range x.Failed {
		for _, t := range list {
			if t.Faults[len(t.Faults)-1].Fault.Class == wire.FaultGate {
				red[t] = true
			}
		}
	}
	return len(red)
}

func (x *Templates) template(t *Task) *Template {
	name := t.Task.ShardOf
	if x.Of[name] == nil {
		x.Of[name] = &Template{Failed: map[string][]*Task{}, waits: map[string][]*Task{}}
	}
	return x.Of[name]
}

// ended folds that a task ended.
func (x *Templates) ended(t *Task) {
	if t.State != TaskDone && t.State != TaskLanded || t.Task.ShardOf == "" {
		return
	}
	of := x.template(t)
	of.Passed++
	if t.State == TaskLanded {
		of.landed++
	}
	x.forgive(t)
}

// failed notes the shapes of a shard's failure. Rounds end by themselves where they make no progress.
func (x *Templates) failed(t *Task) {
	if t.Task.ShardOf == "" || t.Task.InRound() {
		return
	}
	of := x.template(t)
	for _, shape := range shapes(&t.Task, t.Faults[len(t.Faults)-1].Fault) {
		if !slices.Contains(of.Failed[shape], t) {
			of.Failed[shape] = append(of.Failed[shape], t)
		}
		if len(of.Failed[shape]) >= Alike && !slices.Contains(of.Often, shape) {
			of.Often = append(of.Often, shape)
			x.Doubtful[t.Task.ShardOf] = of
		}
	}
}

// forgive forgets the failures of a shard that has passed, or begins again.
func (x *Templates) forgive(t *Task) {
	of := x.Of[t.Task.ShardOf]
	if of == nil {
		return
	}
	without(of.Failed, t)
}

// without removes a shard from lists of them.
func without(by map[string][]*Task, t *Task) {
	for shape, list := range by {
		if list = slices.DeleteFunc(list, func(other *Task) bool { return other == t }); len(list) == 0 {
			delete(by, shape)
		} else {
			by[shape] = list
		}
	}
}

// wait notes that a shard runs once more, since what its command needs may be away.
func (x *Templates) wait(t *Task, f spec.Fault) {
	if t.Task.ShardOf == "" || t.Task.InRound() {
		return
	}
	of := x.template(t)
	for _, shape := range shapes(&t.Task, f) {
		of.waits[shape] = append(of.waits[shape], t)
	}
}

// back notes that a shard has run once more, or will not.
func (x *Templates) back(t *Task) {
	if of := x.Of[t.Task.ShardOf]; of != nil {
		without(of.waits, t)
	}
}

// Waits reports whether what the shards of a template need may be away: some run once more, and with them so many have failed in
// the same way as would hold the template.
func (x *Templates) Waits(template string) bool {
	of := x.Of[template]
	if of == nil {
		return false
	}
	for shape, list := range of.waits {
		if n := len(list) + len(of.Failed[shape]); n >= Alike && n >= of.Passed {
			return true
		}
	}
	return false
}

// hold folds that a template is held. plans counts those that there are.
func (x *Templates) hold(h Hold, pos uint64, plans int) {
	if of := x.Of[h.Template]; of != nil && of.Open() == nil {
		h.Pos, h.Plans = pos, plans
		of.Holds = append(of.Holds, &h)
		x.findHeld()
	}
}

// answer folds the answer to the hold of a template.
func (x *Templates) answer(template string, a Answer) {
	if open := x.Of[template].Open(); open != nil {
		open.Answer = &a
		x.findHeld()
	}
}

// findHeld finds the tasks that are held: the shards of held templates, and with a shard of a change set all of that.
func (x *Templates) findHeld() {
	clear(x.Held)
	for _, name := range slices.Sorted(maps.Keys(x.Of)) {
		h := x.Of[name].Open()
		if h == nil {
			continue
		}
		for _, id := range x.tasks.Shards[name] {
			t := x.tasks.ByID[id]
			x.Held[t] = h
			if c := x.tasks.Set(t); c != nil {
				for _, m := range c.Members {
					x.Held[m] = h
				}
			}
		}
	}
}

// FailsAlike reports whether a fault of a shard has the shape of one that another shard of its template went back with, which is
// none of some tasks.
func (x *Templates) FailsAlike(t *Task, f spec.Fault, but []string) bool {
	of := x.Of[t.Task.ShardOf]
	return of != nil && slices.ContainsFunc(shapes(&t.Task, f), func(shape string) bool {
		return slices.ContainsFunc(of.Failed[shape], func(other *Task) bool {
			return other != t && !slices.Contains(but, other.Task.ID)
		})
	})
}

// BriefProven reports whether the gates have passed on a shard of a template, or its shards continue although they fail.
func (x *Templates) BriefProven(template string) bool {
	of := x.Of[template]
	return of != nil && (of.landed > 0 || of.Answered(Accept))
}

// Doubted reports whether the gates have failed on shards of a template, fewer than hold it, and passed on none.
func (x *Templates) Doubted(template string) bool {
	if x.Of[template] == nil || x.BriefProven(template) {
		return false
	}
	red := x.Of[template].red()
	return red > 0 && red < Alike
}

// Holds are the open holds, by template, but for those whose shards have all ended.
func (x *Templates) Holds() (out []*Hold) {
	for _, name := range slices.Sorted(maps.Keys(x.Of)) {
		if h := x.Of[name].Open(); h != nil && x.tasks.OpenShards(name) {
			out = append(out, h)
		}
	}
	return out
}

// HoldsOf are all holds of a template, oldest first. It is not to be changed.
func (x *Templates) HoldsOf(template string) []*Hold {
	if of := x.Of[template]; of != nil {
		return of.Holds
	}
	return nil
}
