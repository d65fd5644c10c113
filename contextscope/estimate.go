package contextscope

import (
	"encoding/json"

	"divisi/internal/spec"
)

// bytesPerToken is the fixed estimate: see Tokens.
const bytesPerToken = 4

// tokensOf is the fixed estimate of so many bytes.
func tokensOf(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

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

// learnt is the ratio that a call has shown, within the bounds.
func learnt(tokens, bytes int) ratio {
	r := ratio{tokens, max(1, bytes)}
	switch {
	case r.less(leastRatio):
		return leastRatio
	case greatestOne.less(r):
		return greatestOne
	default:
		return r
	}
}

// promptOf is what the prompt of a turn's one call cost, in tokens, as the usage event right after the turn says; 0 when it
// says nothing of one prompt alone.
func promptOf(turn, usage *Event) int {
	var u spec.Usage
	if turn.Kind != KindTurn || usage.Kind != KindUsage || json.Unmarshal(usage.Data, &u) != nil || u.Calls != 1 {
		return 0
	}
	return max(0, u.Prompt)
}

// calibration learns the ratio from the usage events of a session: the newest that can be used decides.
type calibration struct {
	ratio ratio
	// bytes is the size of the request that the newest turn answers; -1 where that is not known yet.
	bytes int
	// owed is the turn whose request has to be measured for the ratio, with the tokens that it cost; -1 for none.
	owed   int
	tokens int
}

func newCalibration() calibration { return calibration{ratio: firstRatio, owed: -1} }

// used folds a usage event in.
func (c *calibration) used(events []Event, src int) {
	if src == 0 {
		return
	}
	tokens := promptOf(&events[src-1], &events[src])
	switch {
	case tokens == 0:
	case c.bytes >= 0:
		c.ratio, c.owed = learnt(tokens, c.bytes), -1
	default:
		c.owed, c.tokens = src-1, tokens
	}
}

// measured pays what is owed.
func (c *calibration) measured(bytes int) { c.ratio, c.owed = learnt(c.tokens, bytes), -1 }
