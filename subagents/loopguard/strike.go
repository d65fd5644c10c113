package loopguard

import (
	"fmt"
	"strings"
	"unicode"

	"divisi/contextscope/narrative"
	"divisi/internal/text"
)

// The kinds of loops.
const (
	KindCall    = "call"    // one call again and again
	KindCycle   = "cycle"   // two to ten calls again and again
	KindText    = "text"    // the same words
	KindThought = "thought" // the same thoughts
	KindJudge   = "judge"   // two models see no progress
)

// maxStrikes is the strike that ends the agent.
const maxStrikes = 2

// maxShown bounds, in characters, each piece of what an agent did that a strike shows.
const maxShown = 160

// Strike is a loop that was found.
type Strike struct {
	Kind string
	// N is 1 for a nudge and 2 for the end.
	N int
	// Detail names the loop in one line. It quotes the agent.
	Detail string
	// At is, for text and thoughts, how many bytes of the chunk had been read. What is behind them was not taken: who continues
	// after the strike feeds it.
	At int
}

// Nudge is the message to the model after the first strike. What was seen can have another's words in it.
func (s *Strike) Nudge() string {
	what := narrative.Quote(s.Detail) + "\n"
	switch s.Kind {
	case KindCall, KindCycle:
		return "You repeat the same calls. The loop, as data:\n" + what + "The last call was not executed: repeating it " +
			"changes nothing. Think about why it does not help, then do something different, or call submit_result and report " +
			"what blocks you."
	case KindText, KindThought:
		who := "You repeat yourself"
		if s.Kind == KindThought {
			who = "You repeat your thoughts"
		}
		return who + ". The loop, as data:\n" + what + "Repetition changes nothing. Take the next step with a tool, " +
			"or call submit_result and report what blocks you."
	default:
		return "Your last turns made no progress. The analysis, as data:\n" + what + "Check it against your task. If it " +
			"is right, try another way, or call submit_result and report what blocks you."
	}
}

// shown puts what an agent said on one line: without control characters, and of at most so many characters.
func shown(said string, most int) string {
	short := text.Runes(said, most)
	plain := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, short)
	if len(short) < len(said) {
		plain += "…"
	}
	return plain
}

// loops words the repetition of calls; known reports that they had results to compare.
func loops(names []string, args string, known bool) string {
	what := names[0] + " " + args
	results := "each without a result"
	if known {
		results = "each with the same result"
	}
	if len(names) > 1 {
		what = fmt.Sprintf("a cycle of %d calls (%s)", len(names), strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s: %d times in a row, %s", what, repeats, results)
}
