package round

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// patience is how many rounds in a row of the last fixer may make no progress.
const patience = 2

// Step is what follows in a template by finding: a round, the end, or a run of its gate that nothing of it waits for.
type Step struct {
	// Round is the next one; nil for none.
	Round *run.Round
	// Check is set where the gate has to run once more on the head: it has to find the same before the first round, and to be
	// green without what earlier runs left.
	Check bool
	// Silent is set where the gate is green, Ends to why there are no more rounds although it is not.
	Silent bool
	Ends   string
}

// Facts are what Next knows of a template.
type Facts struct {
	Task *run.Task
	// Now is the newest receipt of its gate on the head, Of what its gate found on a tree before.
	Now spec.Receipt
	Of  func(tree string) *spec.Receipt
	// Again is the receipt of a run of the gate on the head alone; nil for none.
	Again *spec.Receipt
}

// Next decides what follows once all tasks of the rounds so far have ended. It ends: each round has a greater number than the one
// before, and there are at most as many as the template says.
func Next(f Facts) Step {
	t := f.Task
	rounds := t.Rounds[t.Before:]
	switch {
	case green(f.Now):
		return silence(f)
	case len(t.Rounds) == 0 && unusable(f.Now) != "":
		return Step{Ends: fmt.Sprintf("gate %s %s", f.Now.Gate, unusable(f.Now))}
	case len(t.Rounds) == 0 && f.Again == nil:
		return Step{Check: true}
	case len(t.Rounds) == 0 && !same(f.Now, *f.Again):
		return Step{Ends: fmt.Sprintf("gate %s finds something else each time, such as %s: rounds would not end", f.Now.Gate,
			different(f.Now, *f.Again))}
	}
	next := &run.Round{Number: len(t.Rounds) + 1, Tree: f.Now.Tree, Left: f.Now.Failures()}
	ways := t.Task.Ways()
	if len(t.Rounds) > 0 {
		last := t.Rounds[len(t.Rounds)-1]
		next.Closed, next.Unmasked = Moved(f.Of(last.Tree), f.Now)
		if next.Fixer = min(last.Fixer, len(ways)-1); len(rounds) > 0 && gives(ways, last, next.Closed > 0) {
			next.Fixer = last.Fixer + 1
		}
	}
	if why := ended(f, rounds, next, ways); why != "" {
		return Step{Ends: why}
	}
	return Step{Round: next}
}

// silence is the end of a template whose gate is green: it counts from a run without what earlier runs left.
func silence(f Facts) Step {
	switch {
	case len(f.Task.Rounds) == 0:
		return Step{Silent: true}
	case f.Again == nil:
		return Step{Check: true}
	case green(*f.Again):
		return Step{Silent: true}
	}
	return Step{Ends: fmt.Sprintf("gate %s is green only with what earlier runs of it have left: run alone it has %s", f.Now.Gate,
		text.Count(f.Again.Failures(), "finding"))}
}

// gives reports whether the fixer of a round gives way to the next one: it closed nothing, or it is a tool that ran over the
// whole tree.
func gives(ways []spec.Fixer, last run.Round, closed bool) bool {
	return last.Fixer+1 < len(ways) && last.Symbol == "" && (!closed || ways[last.Fixer].Whole)
}

// ended is why there is no next round; "" where there is one.
func ended(f Facts, rounds []run.Round, next *run.Round, ways []spec.Fixer) string {
	left := text.Count(next.Left, "finding")
	for i := 0; i+1 < len(rounds); i++ {
		other := func(r run.Round) bool { return r.Tree != next.Tree }
		if rounds[i].Tree == next.Tree && slices.ContainsFunc(rounds[i+1:], other) {
			return fmt.Sprintf("stalled: round %d has undone what round %d did, so that the tree is the one before that; %s left",
				next.Number-1, rounds[i+slices.IndexFunc(rounds[i+1:], other)].Number, left)
		}
	}
	idle := 0
	for i := len(rounds) - 1; i >= 0; i-- {
		closed := next.Closed
		if i+1 < len(rounds) {
			closed = rounds[i+1].Closed
		}
		if closed > 0 || rounds[i].Fixer != len(ways)-1 || rounds[i].Symbol != "" {
			break
		}
		idle++
	}
	whole := ways[len(ways)-1].Whole && idle > 0
	switch most := cmp.Or(f.Task.Task.Shard.Rounds, spec.DefaultRounds); {
	case idle >= patience || whole:
		return fmt.Sprintf("stalled: %s closed none; %s left", text.Count(idle, "round"), left)
	case len(rounds) >= most:
		return fmt.Sprintf("ended after %s, as many as it may have; %s left", text.Count(most, "round"), left)
	}
	return ""
}

func green(r spec.Receipt) bool { return r.Verdict == spec.VerdictPass }

// Moved counts the findings of a receipt that another one has no more, and those that it has more.
func Moved(from *spec.Receipt, to spec.Receipt) (closed, more int) {
	if from == nil {
		return 0, 0
	}
	for _, s := range from.Signatures {
		closed += max(0, from.Count(s)-to.Count(s))
	}
	for _, s := range to.Signatures {
		more += max(0, to.Count(s)-from.Count(s))
	}
	return closed, more
}

// Idle are those of some tasks of a round that have closed none of their findings, by what their gates found before and after.
func Idle(tasks []*run.Task, before, after map[string]spec.Receipt) (idle []*run.Task) {
	for _, t := range tasks {
		if !t.Task.InRound() || len(t.Task.Rule.Findings) == 0 {
			continue
		}
		closed := func(s string) bool {
			was, known := before[t.Task.Mends[0]]
			now, ran := after[t.Task.Mends[0]]
			return !known || !ran || green(now) || now.Count(s) < was.Count(s)
		}
		if !slices.ContainsFunc(t.Task.Rule.Findings, closed) {
			idle = append(idle, t)
		}
	}
	return idle
}

// unusable is why what a gate found is no work for rounds; "" where it is.
func unusable(r spec.Receipt) string {
	switch {
	case r.Kind == spec.KindTests:
		return "runs tests, and rounds have the findings of a compiler or linter"
	case r.TimedOut:
		return "does not end within its time: narrow its command, or raise its timeout"
	case r.Findings == "":
		return fmt.Sprintf("ends with exit code %d and prints no finding that can be read: give it a format of findings, or "+
			"name the output that its tool has for programs", r.ExitCode)
	case gate.Cut(&r):
		return "has more findings than can be compared, or did not run to its end: narrow its command to a part of the repository"
	}
	return ""
}

// same reports whether two runs of a gate on one tree found the same.
func same(a, b spec.Receipt) bool {
	closed, more := Moved(&a, b)
	return closed+more == 0
}

// different names something that one of two runs has found alone.
func different(a, b spec.Receipt) string {
	for _, pair := range [][2]spec.Receipt{{a, b}, {b, a}} {
		for _, s := range pair[0].Signatures {
			if pair[0].Count(s) > pair[1].Count(s) {
				return fmt.Sprintf("%q", s)
			}
		}
	}
	return ""
}
