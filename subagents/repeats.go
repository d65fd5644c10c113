package subagents

import (
	"crypto/sha256"
	"encoding/json"

	"google.golang.org/genai"
)

// loopLimit is how often in a row the same call with the same result is a loop.
const loopLimit = 5

// repeats are the fingerprints of an agent's newest calls with their results, oldest first, at most loopLimit of them.
type repeats [][sha256.Size]byte

// add returns the fingerprints with those of a turn's calls and their results appended. Calls and results pair by order.
func (r repeats) add(turn, results *genai.Content) repeats {
	calls := callsOf(turn)
	responses := responsesOf(results)
	out := append(repeats(nil), r...)
	for i, call := range calls {
		if i >= len(responses) {
			break
		}
		// Arguments and responses come from JSON, so marshalling cannot fail; map keys come out sorted.
		body, _ := json.Marshal([]any{call.Name, call.Args, responses[i].Response}) //nolint:errchkjson // see above
		out = append(out, sha256.Sum256(body))
	}
	return out[max(0, len(out)-loopLimit):]
}

// run returns how many of the newest fingerprints are the same.
func (r repeats) run() int {
	n := 0
	for i := len(r) - 1; i >= 0 && r[i] == r[len(r)-1]; i-- {
		n++
	}
	return n
}

// nudged forgets all but the newest fingerprint's last two repeats: after a nudge a loop is stopped sooner.
func (r repeats) nudged() repeats {
	return r[max(0, len(r)-loopLimit+2):]
}

func responsesOf(c *genai.Content) []*genai.FunctionResponse {
	if c == nil {
		return nil
	}
	var out []*genai.FunctionResponse
	for _, p := range c.Parts {
		if p != nil && p.FunctionResponse != nil {
			out = append(out, p.FunctionResponse)
		}
	}
	return out
}
