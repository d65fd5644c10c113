package run

import (
	"iter"
	"slices"
)

// Unlike is an edit of a shard that no other shard of its template makes. Was and Is are its lines; Usual is an edit that most of
// them make, in the same form. All of it is text of the repository.
type Unlike struct {
	File string `json:"file"`
	// Line is the place after the edit, from 1.
	Line     int    `json:"line"`
	Was      string `json:"was,omitempty"`
	Is       string `json:"is,omitempty"`
	UsualWas string `json:"usual_was,omitempty"`
	UsualIs  string `json:"usual_is,omitempty"`
}

// AboutUnlike begins the one decision about all patches that are unlike others: it is about no single task.
const AboutUnlike = "unlike"

// Unlike are the held patches that are unlike those of other shards, in plan order.
func (l *Tasks) Unlike() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for t := range l.In(TaskHeld) {
			if t.Doubt().Unlike != nil && !yield(t) {
				return
			}
		}
	}
}

// unlikeSince is where in the log the decision about them began as it is now: each patch and each answer makes it another one.
func (l *Tasks) unlikeSince() uint64 {
	pos := l.unliked
	for t := range l.Unlike() {
		pos = max(pos, t.Doubt().Pos)
	}
	return pos
}

// AllowedUnlike returns the accepted doubts about edits of the newest attempt that no other shard makes.
func (t *Task) AllowedUnlike() []Doubt {
	return slices.DeleteFunc(t.accepted(), func(d Doubt) bool { return d.Unlike == nil })
}

// WasUnlike reports whether a patch of the task was asked about before for such edits.
func (t *Task) WasUnlike() bool {
	return slices.ContainsFunc(t.Doubts, func(d Doubt) bool { return d.Unlike != nil && d.Answer != nil })
}
