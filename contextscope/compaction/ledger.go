package compaction

import (
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/content"
)

// ledger is a session as the next compaction sees it: its horizon, what the shown events cost, and where it may be cut.
type ledger struct {
	Horizon

	events []contextscope.Event
	// cuts are the places before which the session may be cut, ascending: a turn begins there, with what led to it, and no
	// call before it has its result behind it. The last one is where the newest turn begins.
	cuts []int
	// shown sums up, for every place, what the events before it cost that are still shown.
	shown []int
}

func openLedger(events []contextscope.Event) *ledger {
	l := &ledger{Horizon: HorizonOf(events), events: events}
	l.cuts, l.shown = cutsOf(events), l.sums()
	return l
}

// conversed reports whether an event is part of the history that a model sees. The brief is not: it stands before it.
func conversed(e contextscope.Event) bool {
	switch e.Kind {
	case contextscope.KindTurn, contextscope.KindTool, contextscope.KindUser, contextscope.KindSteering, contextscope.KindControl:
		return e.Content != nil
	default:
		return false
	}
}

// cutsOf finds the places before which a session may be cut. A call that later turns have passed over without a result was
// abandoned and holds nothing.
func cutsOf(events []contextscope.Event) []int {
	reach := reachOf(events)
	var cuts []int
	newest, held := -1, -1
	previous := contextscope.KindTool
	for i, e := range events {
		if !conversed(e) {
			continue
		}
		ended := previous == contextscope.KindTool || previous == contextscope.KindTurn
		if e.Kind != contextscope.KindTool && ended && held < i {
			cuts = append(cuts, i)
		}
		if e.Kind == contextscope.KindTurn {
			newest = len(cuts)
		}
		previous, held = e.Kind, max(held, reach[i])
	}
	return cuts[:max(0, newest)]
}

// reachOf gives, for the place of each turn, the place of the last result of its calls.
func reachOf(events []contextscope.Event) map[int]int {
	owners, reach := map[content.Key]int{}, map[int]int{}
	for i, e := range events {
		switch e.Kind {
		case contextscope.KindTurn:
			content.EachCall(e.Content, func(fc *genai.FunctionCall) { owners[content.CallKey(fc)] = i })
		case contextscope.KindTool:
			content.EachResponse(e.Content, func(fr *genai.FunctionResponse) {
				if owner, ok := owners[content.ResponseKey(fr)]; ok {
					reach[owner] = max(reach[owner], i)
				}
			})
		}
	}
	return reach
}

// cost estimates what an event adds to a request and can be saved. Steering is always shown.
func (l *ledger) cost(place int) int {
	switch e := l.events[place]; {
	case !conversed(e) || e.Kind == contextscope.KindSteering:
		return 0
	case e.Kind == contextscope.KindTool && l.Masked[place]:
		return maskedTokens(e)
	default:
		return content.Tokens(e.Content)
	}
}

func (l *ledger) sums() []int {
	shown := make([]int, len(l.events)+1)
	for i := range l.events {
		shown[i+1] = shown[i]
		if i >= l.Floor {
			shown[i+1] += l.cost(i)
		}
	}
	return shown
}

// costOf estimates the events from one place up to another that are still shown.
func (l *ledger) costOf(from, to int) int { return l.shown[to] - l.shown[from] }

// total is the cost of everything that is still shown.
func (l *ledger) total() int { return l.shown[len(l.events)] }

// maskedTokens is the cost of results when each large one is replaced by its handle.
func maskedTokens(e contextscope.Event) int {
	c := content.Keep(e.Content, func(*genai.Part) bool { return true })
	if c == nil {
		return 0
	}
	c, _ = MaskContent(c, func(p *genai.Part) (*genai.Part, bool) { return MaskLarge(p, e.Seq) })
	return content.Tokens(c)
}

// turns counts the model's turns between two places.
func (l *ledger) turns(from, to int) int {
	n := 0
	for _, e := range l.events[from:to] {
		if e.Kind == contextscope.KindTurn {
			n++
		}
	}
	return n
}

// GrownTokens estimates by how much events add to the history of their agent.
func GrownTokens(events []contextscope.Event) int {
	sum := 0
	for _, e := range events {
		if conversed(e) {
			sum += content.Tokens(e.Content)
		}
	}
	return sum
}
