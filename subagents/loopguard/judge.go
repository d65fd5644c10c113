package loopguard

import (
	_ "embed" // for the prompt
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

const (
	// firstJudged is the turn before which the judge is asked first.
	firstJudged = 30
	// minInterval and maxInterval bound how many turns lie between two questions; firstInterval holds until there was an answer.
	minInterval   = 5
	maxInterval   = 15
	firstInterval = 10
	// sure is the confidence from which on an opinion reports that there is a loop.
	sure = 0.9
	// maxEntries is how many entries the judge sees.
	maxEntries = 20
	// maxBrief, maxEntry and maxAnalysis bound, in bytes, what is quoted of the brief, of each entry and of an analysis.
	maxBrief    = 8_000
	maxEntry    = 3_000
	maxAnalysis = 600
)

// JudgeInstruction is the system instruction of the judge.
//
//go:embed judge.md
var JudgeInstruction string

// Opinion is a judge's answer.
type Opinion struct {
	Analysis string `json:"analysis"`
	// Confidence is that there is a loop, from 0 to 1.
	Confidence float64 `json:"confidence"`
}

// Loop reports whether the opinion is sure of a loop. A first opinion that is needs a second one.
func (o Opinion) Loop() bool { return o.Confidence >= sure }

// ParseOpinion reads a judge's answer: one JSON object with an analysis and a confidence, and nothing else.
func ParseOpinion(answer string) (Opinion, error) {
	fields, err := spec.Object([]byte(answer), "analysis", "confidence")
	if err != nil {
		return Opinion{}, fmt.Errorf("read the judge's answer: %w", err)
	}
	var o Opinion
	var confidence *float64
	if err := json.Unmarshal(fields["confidence"], &confidence); err != nil || confidence == nil {
		return Opinion{}, fmt.Errorf("read the judge's answer: the confidence is no number: %s", shown(answer, maxShown))
	}
	if err := json.Unmarshal(fields["analysis"], &o.Analysis); err != nil || strings.TrimSpace(o.Analysis) == "" {
		return Opinion{}, fmt.Errorf("read the judge's answer: there is no analysis: %s", shown(answer, maxShown))
	}
	if o.Confidence = *confidence; o.Confidence < 0 || o.Confidence > 1 {
		return Opinion{}, fmt.Errorf("read the judge's answer: the confidence %v is not between 0 and 1", o.Confidence)
	}
	return o, nil
}

// schedule says when the judge is asked. Turns count from the beginning of the task.
type schedule struct{ last, interval int }

func newSchedule() schedule { return schedule{interval: firstInterval} }

// Due reports whether the judge is to be asked before a turn of the task. Turns count from 1.
func (g *Guard) Due(turn int) bool {
	if g.judge.last == 0 {
		return turn >= firstJudged
	}
	return turn-g.judge.last >= g.judge.interval
}

// Judged takes what the judge said before a turn. First is nil where there was no answer or a malformed one: no loop, and the
// interval stays. Second is the opinion of another model, nil where the first was not sure or none could be had. Only both
// together make a loop. Whichever did not see one sets the interval, the less sure the longer.
func (g *Guard) Judged(turn int, first, second *Opinion) *Strike {
	if g.stopped != nil {
		return g.stopped
	}
	g.judge.last = turn
	if first == nil {
		return nil
	}
	last := *first
	if first.Loop() && second != nil {
		last = *second
	}
	const span = maxInterval - minInterval
	g.judge.interval = minInterval + int(math.Round(span*(1-min(max(last.Confidence, 0), 1))))
	if second == nil || !first.Loop() || !second.Loop() {
		return nil
	}
	return g.strike(KindJudge, fmt.Sprintf("%q", shown(second.Analysis, maxAnalysis)))
}

// Author is the author of a session entry.
type Author string

// The authors of entries.
const (
	Agent   Author = "The agent"
	Tools   Author = "The tools, in answer to the agent's calls"
	Message Author = "A message to the agent"
)

// Entry is one event of a session as the judge sees it: a turn of the agent with its thoughts, words and calls, the results of
// its calls, or a message to it.
type Entry struct {
	From Author
	Text string
}

// JudgePrompt asks whether the newest of the entries, oldest first, bring the brief nearer to its end.
func JudgePrompt(brief string, entries []Entry) string {
	entries = entries[max(0, len(entries)-maxEntries):]
	pieces := []text.Piece{{Head: "The task of the agent:", Text: brief, Most: maxBrief}}
	head := fmt.Sprintf("The newest %d entries of its session, oldest first.\n\n", len(entries))
	for i, e := range entries {
		pieces = append(pieces, text.Piece{Head: fmt.Sprintf("%s%d. %s:", head, i+1, e.From), Text: e.Text, Most: maxEntry})
		head = ""
	}
	return text.Fence(pieces...) + "Judge whether the agent loops."
}
