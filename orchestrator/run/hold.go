package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/contextscope"
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
	// Answer is what was decided, and By who decided; both are empty while it is open.
	Answer string `json:"answer,omitempty"`
	By     string `json:"by,omitempty"`
	// Pos is where in the log it began, and Plans how many there were.
	Pos   uint64 `json:"-"`
	Plans int    `json:"-"`
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Why is why the template is held, in one line.
func (h *Hold) Why() string {
	return fmt.Sprintf("%d shards fail in the same way, such as %s: %s", h.Shards, h.Example, h.Message)
}

// The answers to a hold.
const (
	HoldRevised  = "revised"  // the shards begin again with another brief
	HoldAccepted = "accepted" // the shards go on as they are, also when more fail so
	HoldParked   = "parked"   // the shards that have not begun are given up
)

// alike is how many shards have to fail in the same way before their template is held.
const alike = 3

// shards is what is known of a template's shards together.
type shards struct {
	// failed has by shape the shards whose attempts failed so, since they were revised, in the order of the log.
	failed map[string][]*Task
	// often are the shapes that enough shards have had.
	often []string
	// passed counts the shards that have ended well, landed those of them with a change.
	passed, landed int
	holds          []*Hold
}

// open is the hold that waits for an answer; nil for none.
func (x *shards) open() *Hold {
	if x == nil || len(x.holds) == 0 || x.holds[len(x.holds)-1].Answer != "" {
		return nil
	}
	return x.holds[len(x.holds)-1]
}

func (x *index) template(t *Task) *shards {
	name := t.Task.ShardOf
	if x.templates[name] == nil {
		x.templates[name] = &shards{failed: map[string][]*Task{}}
	}
	return x.templates[name]
}

// failAlike notes the shapes of a shard's failure. That of a command before another executor of its chain is no sign of a wrong
// brief: the next one has what the command cannot do.
func (s *State) failAlike(t *Task) {
	f := t.Faults[len(t.Faults)-1]
	if t.Task.ShardOf == "" || f.Choice.At < len(s.Spec.Roles[t.Task.Role].Chain) {
		return
	}
	x := s.template(t)
	for _, shape := range shapes(&t.Task, f.Fault) {
		if !slices.Contains(x.failed[shape], t) {
			x.failed[shape] = append(x.failed[shape], t)
		}
		if len(x.failed[shape]) >= alike && !slices.Contains(x.often, shape) {
			x.often = append(x.often, shape)
			s.doubtful[t.Task.ShardOf] = x
		}
	}
}

// FailsAlike reports whether a fault of a shard has the shape of one that another shard of its template went back with, which is
// none of some tasks.
func (s *State) FailsAlike(t *Task, f spec.Fault, but []string) bool {
	x := s.templates[t.Task.ShardOf]
	if x == nil {
		return false
	}
	return slices.ContainsFunc(shapes(&t.Task, f), func(shape string) bool {
		return slices.ContainsFunc(x.failed[shape], func(other *Task) bool {
			return other != t && !slices.Contains(but, other.Task.ID)
		})
	})
}

// BriefProven reports whether the gates have passed on a shard of a template, or its shards go on although they fail.
func (s *State) BriefProven(template string) bool {
	x := s.templates[template]
	accepted := func(h *Hold) bool { return h.Answer == HoldAccepted }
	return x != nil && (x.landed > 0 || slices.ContainsFunc(x.holds, accepted))
}

// Doubted reports whether the gates have failed on shards of a template, fewer than hold it, and passed on none.
func (s *State) Doubted(template string) bool {
	x := s.templates[template]
	if x == nil || s.BriefProven(template) {
		return false
	}
	red := map[*Task]bool{}
	for _, list := range x.failed {
		for _, t := range list {
			if t.Faults[len(t.Faults)-1].Fault.Class == wire.FaultGate {
				red[t] = true
			}
		}
	}
	return len(red) > 0 && len(red) < alike
}

// forgive forgets the failures of a shard that has passed, or begins again.
func (x *index) forgive(t *Task) {
	tm := x.templates[t.Task.ShardOf]
	if tm == nil {
		return
	}
	for shape, list := range tm.failed {
		if list = slices.DeleteFunc(list, func(other *Task) bool { return other == t }); len(list) == 0 {
			delete(tm.failed, shape)
		} else {
			tm.failed[shape] = list
		}
	}
}

// ToHold returns the holds that are due: the failure that most shards of a template have, where they are enough, no more of them
// have passed, and others could still fail so. A failure that was accepted is none.
func (s *State) ToHold() (out []Hold) {
	for _, name := range slices.Sorted(maps.Keys(s.doubtful)) {
		x := s.doubtful[name]
		parked := slices.ContainsFunc(x.holds, func(h *Hold) bool { return h.Answer == HoldParked })
		waits := func(id string) bool {
			return s.Tasks[id].State == TaskPending || s.Tasks[id].State == TaskAccepted && !parked
		}
		if x.open() != nil || s.shardsOpen[name] == 0 {
			continue
		}
		var h Hold
		for _, shape := range x.often {
			list := x.failed[shape]
			accepted := func(had *Hold) bool { return had.Shape == shape && had.Answer == HoldAccepted }
			if n := len(list); n < alike || n < x.passed || n <= h.Shards || slices.ContainsFunc(x.holds, accepted) {
				continue
			}
			t := list[len(list)-1]
			f := t.Faults[len(t.Faults)-1]
			h = Hold{Template: name, Shape: shape, Shards: len(list), Message: firstLine(f.Fault.Message)}
			h.Example = wire.AgentID(t.Task.ID, f.Attempt)
		}
		if h.Shards > 0 && slices.ContainsFunc(s.Shards[name], waits) {
			out = append(out, h)
		}
	}
	return out
}

// applyHold folds that a template is held, or the answer to its hold.
func (s *State) applyHold(e *contextscope.Event, h Hold) {
	x := s.templates[h.Template]
	switch open := x.open(); {
	case x == nil:
	case h.Answer == "" && open == nil:
		h.Pos, h.Plans = e.Pos, len(s.Plans)
		x.holds = append(x.holds, &h)
		s.findHeld()
	case h.Answer != "" && open != nil:
		open.Answer, open.By = h.Answer, h.By
		s.findHeld()
	}
}

// findHeld finds the tasks that are held: the shards of held templates, and with a shard of a change set all of that.
func (s *State) findHeld() {
	clear(s.held)
	s.holds = nil
	for _, name := range slices.Sorted(maps.Keys(s.templates)) {
		h := s.templates[name].open()
		if h == nil {
			continue
		}
		s.holds = append(s.holds, h)
		for _, id := range s.Shards[name] {
			s.held[s.Tasks[id]] = h
			if c := s.Set(s.Tasks[id]); c != nil {
				for _, m := range c.Members {
					s.held[m] = h
				}
			}
		}
	}
}

// HoldOf returns the hold that keeps a task from starting; nil for none.
func (s *State) HoldOf(t *Task) *Hold { return s.held[t] }

// Holds are the open holds, by template, but for those whose shards have all ended.
func (s *State) Holds() (out []*Hold) {
	for _, h := range s.holds {
		if s.shardsOpen[h.Template] > 0 {
			out = append(out, h)
		}
	}
	return out
}

// HoldsOf are all holds of a template, oldest first. It is not to be changed.
func (s *State) HoldsOf(template string) []*Hold {
	if x := s.templates[template]; x != nil {
		return x.holds
	}
	return nil
}

// OpenHold is the open hold of a template; nil for none.
func (s *State) OpenHold(template string) *Hold { return s.templates[template].open() }

// PlanAfter returns the place of the first plan that the master made in a turn that began with a hold; -1 for none.
func (s *State) PlanAfter(h *Hold) int {
	for i := h.Plans; i < len(s.Plans); i++ {
		p := &s.Plans[i]
		author, turn, _ := SplitAgent(p.By)
		if author == MasterTask && s.Works.CalledAt(turn) > h.Pos && p.Request == "" && p.Follows == "" && len(p.Tasks) > 0 {
			return i
		}
	}
	return -1
}
