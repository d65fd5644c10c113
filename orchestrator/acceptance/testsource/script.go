package testsource

import "strings"

// contains reports whether a test of JavaScript continues behind what stands before the next one: it only holds others.
func contains(part string) bool {
	depth := 0
	for i := 0; i < len(part); i = next(part, i) {
		depth += bracket(part[i])
	}
	return depth > 0
}

// endOfBraces is the place behind the call that a text begins with, such as it('…', …).
func endOfBraces(part string) int {
	if at := strings.IndexByte(part, '('); at >= 0 {
		return chainEnd(part, at)
	}
	return len(part)
}
