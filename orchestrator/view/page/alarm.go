package page

import (
	"fmt"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// An alarm comes at the earliest after leastQuiet without a landing, before the first one after firstQuiet, and after usualTimes
// the usual time between two batches, or that of the gates.
const (
	leastQuiet = 5 * time.Minute
	firstQuiet = 10 * time.Minute
	usualTimes = 3
)

// alarm tells that nothing has landed for long at a time, though tasks are there that would, and why; "" for no alarm. Long is at
// least five minutes, ten before the first task has landed, and three times what lies between two batches of the run, or what its
// gates take on the base commit.
func alarm(s *run.State, now time.Time) string {
	began, runs := s.Times.Entered[run.Running]
	if !runs || s.Status != run.Running || left(s) == 0 {
		return ""
	}
	usual, least := time.Duration(0), firstQuiet
	for _, r := range s.Proofs.Baseline {
		usual += r.Duration
	}
	if n := len(s.Batches.Landed); n > 0 {
		usual, least = max(usual, (s.Batches.Landed[n-1].At-began)/time.Duration(n)), leastQuiet
	}
	quiet := s.Times.Clock(now) - max(began, s.Times.Moved)
	if quiet < max(least, usualTimes*usual) {
		return ""
	}
	return fmt.Sprintf("nothing has landed for %s%s", minutes(quiet), text.Because(stuck(s, now)))
}

// stuck is the most likely reason why nothing lands; "" for none that the log tells.
func stuck(s *run.State, now time.Time) string {
	open := decision.ForPerson(s)
	switch {
	case s.Line != "":
		return "the line is stopped: " + s.Line
	case s.Halted():
		return s.Reason
	case s.Wait.For != "":
		return "the run waits for " + s.Wait.For
	case s.AwaitQuota():
		return "all agents wait for a quota"
	}
	if gates := longestGates(s, now); gates != "" {
		return gates
	}
	if idle := landing.Idle(s); idle != "" {
		return "no batch is made of the waiting tasks: " + idle
	}
	if len(open) > 0 {
		return "a decision is open: " + open[0].Text
	}
	if agents := view.Agents(s); len(agents) > 0 {
		return fmt.Sprintf("%s has worked for %s", agents[0].ID, minutes(now.Sub(time.UnixMilli(agents[0].Since))))
	}
	return ""
}

// longestGates names the gates that landing waits for and that have run the longest.
func longestGates(s *run.State, now time.Time) string {
	var longest *run.Work
	for _, w := range s.Queue {
		gates := w.Batch != nil || w.ID == run.BaselineTask || w.ID == run.AgainTask || w.ID == run.HeadTask ||
			strings.HasPrefix(w.ID, run.GateTask)
		if gates && w.Outstanding() && w.Newest().Began > 0 && (longest == nil || w.Newest().Began < longest.Newest().Began) {
			longest = w
		}
	}
	if longest == nil {
		return ""
	}
	of := "on the base commit"
	if longest.ID == run.HeadTask {
		of = "without a patch that is red"
	}
	if longest.Batch != nil {
		of = fmt.Sprintf("of batch %d", longest.Batch.Number)
	}
	return fmt.Sprintf("the gates %s have run for %s", of, minutes(now.Sub(time.UnixMilli(longest.Newest().Began))))
}

// minutes writes a duration in whole minutes, so that the words of an alarm change once in a minute.
func minutes(d time.Duration) string {
	if d >= time.Hour {
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d min", int(max(0, d).Minutes()))
}
