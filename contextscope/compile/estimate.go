package compile

import (
	"encoding/json"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// ratio is how many tokens a byte of a request costs: tokens for bytes. It is whole numbers, so that an estimate comes out
// the same on every machine.
type ratio struct{ tokens, bytes int }

// The first guess, before a model has said what a request cost it, and the bounds of what is believed.
var (
	firstRatio    = ratio{2, 7} // one for 3.5 bytes
	leastRatio    = ratio{1, 8}
	greatestRatio = ratio{2, 3} // one for 1.5 bytes
)

// of estimates the tokens of so many bytes, rounded up.
func (r ratio) of(bytes int) int { return (bytes*r.tokens + r.bytes - 1) / r.bytes }

func (r ratio) less(o ratio) bool { return r.tokens*o.bytes < o.tokens*r.bytes }

// measured is the ratio of a prompt that cost so many tokens for so many bytes. A count outside of what bytes can mean is not
// believed: no token is shorter than a byte.
func measured(tokens, bytes int) (ratio, bool) {
	seen := ratio{tokens, bytes}
	switch {
	case bytes <= 0, tokens > bytes, seen.less(leastRatio):
		return ratio{}, false
	case greatestRatio.less(seen):
		return greatestRatio, true
	default:
		return seen, true
	}
}

// ratioOf is what the newest usage event that can be believed says of a prompt of known size. Events that summaries, retries or
// older versions of Divisi left have no size.
func ratioOf(events []contextscope.Event) ratio {
	for i := range slices.Backward(events) {
		if events[i].Kind != contextscope.KindUsage {
			continue
		}
		var u struct {
			spec.Usage

			Bytes int `json:"bytes"`
		}
		if json.Unmarshal(events[i].Data, &u) != nil || u.Calls != 1 {
			continue
		}
		if r, ok := measured(u.Prompt, u.Bytes); ok {
			return r
		}
	}
	return firstRatio
}
