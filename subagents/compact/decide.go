package compact

import (
	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/internal/spec"
)

// Action is the step before a model call.
type Action string

// The actions.
const (
	// Nothing is the most frequent one.
	Nothing Action = "nothing"
	// Begin starts an attempt in the background.
	Begin Action = "begin"
	// SwapIn takes the snapshot that is ready.
	SwapIn Action = "swap_in"
	// Wait waits for the attempt under way, and decides again.
	Wait Action = "wait"
	// RunNow has a snapshot written while the agent waits.
	RunNow Action = "run_now"
	// Prune shortens the history without a model.
	Prune Action = "prune"
)

// Phase is how far the background attempt is.
type Phase string

// The phases.
const (
	Idle    Phase = "idle"
	Running Phase = "running"
	Ready   Phase = "ready"
)

// State is the input of a decision, beside sizes.
type State struct {
	Phase Phase
	// Taken reports that a model's snapshot was taken lately, Failed that the last attempt failed lately.
	Taken, Failed bool
	// TooLong reports that the server refused the request as too long.
	TooLong bool
	// Due reports that as many turns have come since the newest attempt as the role's compact_after.
	Due bool
}

// Decide is the state machine: see the package's documentation. rules have their defaults applied; a window of 0 is unknown,
// and then only a refused request leads to anything.
func Decide(tokens, window int, rules spec.CompactionRules, s State) Action {
	over := func(share float64) bool { return window > 0 && float64(tokens) >= share*float64(window) }
	must := s.TooLong || over(rules.Hard)
	switch {
	case s.Phase == Ready && (must || s.Due || over(rules.Swap)):
		return SwapIn
	case s.Phase == Running && must:
		return Wait
	case s.Phase != Idle:
		return Nothing
	case s.Failed && (must || over(rules.Swap)):
		return Prune
	case must:
		return RunNow
	case s.Due || !s.Failed && !s.Taken && over(rules.Start):
		return Begin
	default:
		return Nothing
	}
}

// growth is the share of the window, in percent, by which a session has to grow before another attempt is paid for.
const growth = 10

// lately reports how the newest attempt ended, if the session has grown little since.
func lately(events []contextscope.Event, window int) (taken, failed bool) {
	for i := len(events) - 1; i >= 0; i-- {
		c, ok := contextscope.CompactionOf(events[i])
		if !ok || !c.Attempted() {
			continue
		}
		if compaction.GrownTokens(events[i+1:]) >= max(1, window*growth/100) {
			return false, false
		}
		return c.Method == contextscope.MethodSnapshot, c.Method != contextscope.MethodSnapshot
	}
	return false, false
}

// due reports whether so many turns have come since the newest attempt; after is 0 for never.
func due(events []contextscope.Event, after int) bool {
	turns := 0
	for i := len(events) - 1; i >= 0 && turns < after; i-- {
		if c, ok := contextscope.CompactionOf(events[i]); ok && c.Attempted() {
			return false
		}
		if events[i].Kind == contextscope.KindTurn {
			turns++
		}
	}
	return after > 0 && turns >= after
}

// attempts counts what models were asked for, and effective what changed requests.
func attempts(events []contextscope.Event) (attempted, effective int) {
	for _, e := range events {
		c, ok := contextscope.CompactionOf(e)
		if ok && c.Attempted() {
			attempted++
		}
		if ok && c.Effective() {
			effective++
		}
	}
	return attempted, effective
}
