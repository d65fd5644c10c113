package page

import (
	"time"

	"divisi/orchestrator/run"
)

// The rate of landing is that of the newest recentShare of a run's own time, and of at least leastRecent. Fewer tasks or batches
// than these tell nothing.
const (
	recentShare   = 3
	leastRecent   = 10 * time.Minute
	fewestLanded  = 3
	fewestBatches = 2
)

// projected is when all tasks of a run have landed if they go on to land as they did: now + left · window / landed. left are the
// tasks that have not ended and are to land. landed are those that landed in the window: the newest third of the run's own time,
// at least ten minutes, and no more than since it runs. It is zero where fewer than three tasks in two batches landed in the
// window, and for a run that does not run.
func projected(s *run.State, now time.Time) time.Time {
	began, runs := s.Times.Entered[run.Running]
	open := left(s)
	if !runs || s.Status != run.Running || s.Line != "" || s.Wait.For != "" || s.Halted() || open == 0 {
		return time.Time{}
	}
	at := s.Times.Clock(now)
	from := max(began, at-max(leastRecent, at/recentShare))
	landed, batches := 0, 0
	for i := len(s.Batches.Landed) - 1; i >= 0 && s.Batches.Landed[i].At >= from; i-- {
		landed, batches = landed+len(s.Batches.Landed[i].Tasks), batches+1
	}
	if landed < fewestLanded || batches < fewestBatches {
		return time.Time{}
	}
	return now.Add(time.Duration(float64(at-from) * float64(open) / float64(landed)))
}

// left counts the tasks that have not ended and are to land.
func left(s *run.State) (n int) {
	for t := range s.Tasks.Open() {
		if s.Spec.Roles[t.Task.Role].Writes {
			n++
		}
	}
	return n
}
