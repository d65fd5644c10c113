package testsource

import (
	"slices"
	"strings"
)

// endOfIndent is the place behind the function that a text begins with.
func endOfIndent(part string) int {
	all := statements(part)
	at := slices.IndexFunc(all, func(s statement) bool {
		return strings.HasPrefix(s.text, "def ") || strings.HasPrefix(s.text, "async def ")
	})
	for _, s := range all[at+1:] {
		if at >= 0 && s.indent <= all[at].indent {
			return s.at - s.indent
		}
	}
	return len(part)
}
