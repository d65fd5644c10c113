package forecast

import (
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// String words the range, and what it is made of; "" where nothing is known.
func (e Estimate) String() string {
	words := e.Range()
	switch {
	case words == "":
	case e.Past == 0:
		words += " (no history: by the sizes of the files)"
	case e.Blind > 0:
		words += " (by " + text.Count(e.Past, "earlier task") + ", " + text.Count(e.Blind, "task") + " by the sizes of its files)"
	default:
		words += " (by " + text.Count(e.Past, "earlier task") + ")"
	}
	return words
}

// Range words the range alone; "" where nothing is known.
func (e Estimate) Range() string {
	var words []string
	if e.High > 0 {
		words = append(words, between(text.Tokens(e.Low), text.Tokens(e.High))+" tokens")
	}
	if e.HighCost > 0 {
		words = append(words, between(e.LowCost.String(), e.HighCost.String()))
	}
	if e.Unpriced > 0 {
		words = append(words, unpriced(e.Unpriced, e.HighCost))
	}
	if e.HighSeconds > 0 {
		words = append(words, between(span(e.LowSeconds), span(e.HighSeconds)))
	}
	return strings.Join(words, ", ")
}

// Cost words an amount beside tokens whose price is not known.
func Cost(sum spec.Money, tokens int) string {
	switch {
	case tokens == 0:
		return sum.String()
	case sum == 0:
		return unpriced(tokens, sum)
	}
	return sum.String() + ", " + unpriced(tokens, sum)
}

func unpriced(tokens int, beside spec.Money) string {
	if beside == 0 {
		return "unpriced"
	}
	return text.Tokens(tokens) + " tokens unpriced"
}

func span(seconds float64) string { return text.Span(time.Duration(seconds * float64(time.Second))) }

func between(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}
