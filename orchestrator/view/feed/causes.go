package feed

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/gate"
)

const (
	// causeOver is how long a count of the same failure stays open for more, maxSame how many of its tasks are named.
	causeOver = 30 * time.Second
	maxSame   = 6
	// parked is the ending of a task that has no other attempt.
	parked = "parked"
)

// causes keep the cause of a failure from being shown for each task that has it: it is shown once, and then counted.
type causes struct {
	// first are the tasks with which each cause was shown, by its shape; shown has what became of tasks for it, with the shape.
	first map[string]string
	shown map[string]bool
	// newest is the newest cause of each task, as it was worded.
	newest map[string]string
	// words describe further tasks with the same cause, the last one at a time; they are counted.
	words string
	tasks []string
	last  time.Time
}

func newCauses() causes {
	return causes{first: map[string]string{}, shown: map[string]bool{}, newest: map[string]string{}}
}

// digits differ in the same failure of two tasks as it happens; places are those of them that only tell where it happened.
var digits, places = lazyregexp.New(`\d+`), lazyregexp.New(`(:|\bline )\d+`)

// shape is a cause without the names of its task.
func (v *Followed) shape(cause, task string) string {
	if t := v.Tasks.ByID[task]; t != nil {
		cause = shapeOf(t, cause)
	}
	return digits.ReplaceAllLiteralString(cause, "N")
}

// shapeOf is a cause without the names of its task, and without places.
func shapeOf(t *run.Task, cause string) string {
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(t.Task.ID) + `\b`)
	cause = name.ReplaceAllLiteralString(recovery.WithoutOutput(cause), "·")
	return places.ReplaceAllString(t.Shape(cause), "${1}N")
}

// Shorten names the task with which the cause of a line was shown before, in the place of the cause. Where a line was shown too
// that differs in its task alone, it returns what a count of such lines says.
func (v *Followed) Shorten(l *Line, e *contextscope.Event) (count string) {
	if l.Cause == "" {
		return ""
	}
	task := strings.TrimSuffix(e.Task, run.VerifySuffix)
	shape, ended := v.shape(l.Cause, task), ending(l, e)
	first, shown := v.causes.first[shape], v.causes.shown[shape+ended]
	v.causes.shown[shape+ended] = true
	if first == "" {
		v.causes.first[shape], v.causes.newest[task] = task, l.Cause
		return ""
	}
	if strings.HasPrefix(first, "--") && ended == parked && !shown {
		l.Text += v.source(first)
		return ""
	}
	again := v.causes.newest[task] == l.Cause
	v.causes.newest[task] = l.Cause
	as := sameAs(first)
	switch {
	case first == task && !again:
		return ""
	case first == task:
		as = cmp.Or(l.Why, "same cause as before")
	}
	l.Text = strings.TrimSuffix(l.Text, l.Cause) + as
	if shown && first != task {
		count = ended + ", " + as
	}
	return count
}

// source is the line of the source that gates of a work failed in first, with the tasks that changed its file.
func (v *Followed) source(work string) string {
	a := v.Works[work].Newest()
	if a == nil || a.Result == nil {
		return ""
	}
	for _, r := range a.Result.Receipts {
		if r.Verdict != spec.VerdictFail || len(r.Errors) == 0 || r.Errors[0].Source == "" {
			continue
		}
		said, by := fmt.Sprintf(", in %q", r.Errors[0].Source), []string(nil)
		for t := range v.Tasks.All() {
			if t.Result != nil && t.Result.Patch != nil && slices.Contains(t.Result.Patch.Files, r.Errors[0].File) {
				by = append(by, t.Task.ID)
			}
		}
		if len(by) > 0 {
			said += "; changed by " + text.Some(by, maxSame)
		}
		return said
	}
	return ""
}

// sameAs names the task that had a cause first, or the gates.
func sameAs(first string) string {
	gates, own := strings.CutPrefix(first, "--")
	if !own {
		return "same cause as " + first
	}
	return "the same failure as " + strings.Replace(gates, "batch-", "batch ", 1)
}

// ending describes the end of a line's task.
func ending(l *Line, e *contextscope.Event) string {
	switch {
	case e.Kind != contextscope.KindTask:
		return "failed"
	case l.Tone == Bad:
		return parked
	}
	return "retried"
}

// Count counts the task of an event whose line is not shown, and returns the count for the cause before.
func (v *Followed) Count(e *contextscope.Event, words string, at time.Time) (done string) {
	c, task := &v.causes, strings.TrimSuffix(e.Task, run.VerifySuffix)
	if c.words != words {
		done = v.Flush()
		c.words = words
	}
	if c.last = at; !slices.Contains(c.tasks, task) {
		c.tasks = append(c.tasks, task)
	}
	return done
}

// more words the present count; "" for none.
func (c *causes) more() string {
	if len(c.tasks) == 0 {
		return ""
	}
	return text.Count(len(c.tasks), "more task") + " " + c.words
}

// Flush ends the present count, and returns it with some of its tasks.
func (v *Followed) Flush() string {
	c := &v.causes
	said := c.more()
	if said != "" {
		said += ": " + text.Some(c.tasks, maxSame)
	}
	c.words, c.tasks = "", nil
	return said
}

// FlushOld ends a count that has had no more for a while.
func (v *Followed) FlushOld(now time.Time) string {
	if now.Sub(v.causes.last) < causeOver {
		return ""
	}
	return v.Flush()
}

// Repeats reports whether another line tells the same: the one about the task of a failed attempt, or the one about its batch.
func (v *Followed) Repeats(e *contextscope.Event, l *Line) bool {
	if l.Tone < Warn || e.Kind != contextscope.KindResult && e.Kind != contextscope.KindReceipt {
		return false
	}
	batch := strings.HasPrefix(e.Task, run.BatchTask)
	return batch || e.Kind == contextscope.KindResult && v.Tasks.ByID[strings.TrimSuffix(e.Task, run.VerifySuffix)] != nil
}

// Failures names the first failure in the gates of a batch, behind the line about it. It is empty for all other events, and where
// the failure leads to a task: the line about that names it.
func (v *Followed) Failures(e *contextscope.Event) string {
	if e.Kind != contextscope.KindLanding {
		return ""
	}
	d := data[run.LandingData](e)
	if d.State != run.LandingRed && (d.State != run.LandingSplit || len(d.Parts) < 2) {
		return ""
	}
	i := slices.IndexFunc(v.Batches.Testing, func(b *run.Batch) bool { return b.Number == d.Batch })
	if i < 0 {
		return ""
	}
	var failed []string
	if r := v.Works.Tested(v.Batches.Testing[i]); r != nil {
		for _, red := range r.Receipts {
			if red.Verdict == spec.VerdictFail {
				failed = append(failed, "gate "+red.Gate, gate.Reason(red, v.Proofs.Before(red)))
			}
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return " (" + strings.Join(failed[:min(2, len(failed))], ": ") + ")"
}

// Alike are, for each task that was parked, those that were parked by the same cause, itself among them, in their order.
func Alike(tasks []view.Task) [][]string {
	by, out := map[string][]string{}, make([][]string, len(tasks))
	shapes := make([]string, len(tasks))
	for i := range tasks {
		if t := &tasks[i]; t.State == run.TaskParked && t.Reason != "" {
			own := run.Task{Task: spec.Task{ID: t.ID, Files: t.WriteSet}}
			shapes[i] = shapeOf(&own, t.Reason)
			by[shapes[i]] = append(by[shapes[i]], t.ID)
		}
	}
	for i := range tasks {
		out[i] = by[shapes[i]]
	}
	return out
}
