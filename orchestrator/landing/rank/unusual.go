package rank

import (
	"fmt"
	"iter"
	"strings"

	"divisi/internal/lazyregexp"
)

// unusualness is how much more likely an unusual patch is: more than all that words tell.
const unusualness = 1000

// unusual has the tasks whose patches change what hardly another one does, where most change the same, as those of one template
// do.
func unusual(patches map[string]string, tasks []string) map[string]bool {
	changes, have := map[string]map[string]bool{}, map[string]int{}
	for _, id := range tasks {
		changes[id] = tokensChanged(patches[id])
		for token := range changes[id] {
			have[token]++
		}
	}
	rare, list := max(1, len(tasks)/8), map[string]bool{}
	for _, id := range tasks {
		for token := range changes[id] {
			if have[token] <= rare {
				list[id] = true
			}
		}
	}
	if len(list) > len(tasks)/4 {
		return nil
	}
	return list
}

// tokens are words, and what stands between them.
var tokens = lazyregexp.New(`[\pL\pN_]+|[^\pL\pN_\s]+`)

// tokensChanged are the tokens that a unified diff adds or takes away, each with which; what it moves is neither.
func tokensChanged(diff string) map[string]bool {
	count, signs := map[string]int{}, map[byte]int{'+': 1, '-': -1}
	for kind, line := range linesOf(diff) {
		if sign := signs[kind]; sign != 0 {
			for _, token := range tokens.FindAllString(line, -1) {
				count[token] += sign
			}
		}
	}
	changed := map[string]bool{}
	for token, n := range count {
		if n != 0 {
			changed[fmt.Sprintf("%t %s", n > 0, token)] = true
		}
	}
	return changed
}

// The kinds of a unified diff's lines that are none of the file's.
const (
	linePath    = 'd'
	lineHeading = '@'
)

// linesOf yields the lines of a unified diff, each with its kind: ' ', '+', '-', linePath with the paths, lineHeading with what
// git shows beside the place of a hunk.
func linesOf(diff string) iter.Seq2[byte, string] {
	return func(yield func(byte, string) bool) {
		header := true
		for line := range strings.Lines(diff) {
			kind, rest := line[0], line[1:]
			switch {
			case strings.HasPrefix(line, "diff --git "):
				header, kind, rest = true, linePath, line[len("diff --git "):]
			case strings.HasPrefix(line, "@@"):
				header, kind = false, lineHeading
				_, rest, _ = strings.Cut(line[2:], "@@")
			case header:
				continue
			}
			if !yield(kind, rest) {
				return
			}
		}
	}
}
