package run

import (
	"cmp"
	"slices"

	"divisi/internal/spec"
)

// AllowsUnread reports whether patches may land with files that no gate reads as their kind needs.
func (s *Spec) AllowsUnread() bool { return s.AllowUnread || s.AllowUnverified }

// allow folds what a resume allows to land, and what it does about doubts.
func (s *Spec) allow(d Data) {
	s.AllowUnverified = s.AllowUnverified || d.AllowUnverified
	s.AllowUnread = s.AllowUnread || d.AllowUnread
	s.OnDoubt = cmp.Or(d.OnDoubt, s.OnDoubt)
}

// UnreadIn lists those of some files that none of the gates that left receipts has read as their kind needs, by path.
func UnreadIn(receipts []spec.Receipt, files []string) (out []spec.Unread) {
	for _, file := range slices.Sorted(slices.Values(files)) {
		if best := furthest(receipts, file); best != nil {
			out = append(out, *best)
		}
	}
	return out
}

// furthest is how far gates have read a file that none of them has read far enough; nil where one has.
func furthest(receipts []spec.Receipt, file string) *spec.Unread {
	var best *spec.Unread
	for i := range receipts {
		u := receipts[i].UnreadOf(file)
		switch {
		case u == nil:
			return nil
		case best == nil:
			first := *u
			best = &first
			continue
		case slices.Index(graded, u.Grade) < slices.Index(graded, best.Grade):
			best.Grade, best.Reason = u.Grade, cmp.Or(u.Reason, best.Reason)
		}
		best.Source = best.Source || u.Source
		best.Reason = cmp.Or(best.Reason, u.Reason)
		if len(best.Command) == 0 {
			best.Command = u.Command
		}
	}
	return best
}

// graded are the grades of unread files, the best first: a file whose grade is not known may have been read.
var graded = []spec.Grade{spec.GradeOpened, spec.GradeUnknown, spec.GradeUnread}

// AllowedUnread are the unread files of the patch of the task's newest attempt that accepted doubts are about.
func (t *Task) AllowedUnread() (files []spec.Unread) {
	for _, d := range t.accepted() {
		files = append(files, d.Unread...)
	}
	return files
}

// AcceptedUnread reports whether the patch of the task's newest attempt may land with some unread files: accepted doubts are
// about each.
func (t *Task) AcceptedUnread(files []spec.Unread) bool {
	allowed := t.AllowedUnread()
	return !slices.ContainsFunc(files, func(u spec.Unread) bool {
		return !slices.ContainsFunc(allowed, func(had spec.Unread) bool { return had.Path == u.Path })
	})
}

// HeldUnread lists the tasks whose patches wait for a decision about unread files, in plan order.
func (l *Tasks) HeldUnread() (held []*Task) {
	for t := range l.In(TaskHeld) {
		if d := t.Doubt(); d != nil && d.Unread != nil {
			held = append(held, t)
		}
	}
	return held
}
