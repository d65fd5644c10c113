package compile

import (
	"encoding/json"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// ratio is how many tokens a byte of a request costs: tokens for bytes. It is whole numbers, so that an estimate comes out
// the same on every machine.
type ratio struct{ tokens, bytes int }

// The first guess, before a model has said what a request cost it, and the bounds of what it is believed.
var (
	firstRatio  = ratio{2, 7} // one for 3.5 bytes
	leastRatio  = ratio{1, 8}
	greatestOne = ratio{2, 3} // one for 1.5 bytes
)

// of estimates the tokens of so many bytes, rounded up.
func (r ratio) of(bytes int) int { return (bytes*r.tokens + r.bytes - 1) / r.bytes }

func (r ratio) less(o ratio) bool { return r.tokens*o.bytes < o.tokens*r.bytes }

// after is the ratio once a call for a request of so many bytes has cost so many tokens. What a service cannot have counted of
// that request changes nothing: no token is shorter than a byte. most is how much of the request can have been sent: where
// that is less than all of it, the rest was trimmed, and the cost only shows that bytes cost more than was thought.
func (r ratio) after(tokens, bytes, most int) ratio {
	seen := ratio{tokens, min(bytes, most)}
	switch {
	case tokens > seen.bytes, seen.less(leastRatio), most < bytes && seen.less(r):
		return r
	case greatestOne.less(seen):
		return greatestOne
	default:
		return seen
	}
}

// promptOf is what the prompt of a turn's one call cost, in tokens, as the usage event right after the turn says; 0 when it
// says nothing of one prompt alone.
func promptOf(turn, usage *contextscope.Event) int {
	var u spec.Usage
	if turn.Kind != contextscope.KindTurn || usage.Kind != contextscope.KindUsage || json.Unmarshal(usage.Data, &u) != nil || u.Calls != 1 {
		return 0
	}
	return max(0, u.Prompt)
}

// calibration learns the ratio from the usage events of a session.
type calibration struct {
	ratio ratio
	// bytes is the size of the request that the newest turn answers, without its tail.
	bytes int
}

// used folds a usage event in; window is the bound of the agent's requests, 0 for none.
func (c *calibration) used(events []contextscope.Event, src, window int) {
	if src == 0 {
		return
	}
	most := c.bytes
	// Where little room is left, the tail may have pushed something out.
	if window > 0 && c.ratio.of(c.bytes) > window/4*3 {
		most = min(c.bytes-1, window*c.ratio.bytes/c.ratio.tokens)
	}
	if tokens := promptOf(&events[src-1], &events[src]); tokens > 0 {
		c.ratio = c.ratio.after(tokens, c.bytes, most)
	}
}
