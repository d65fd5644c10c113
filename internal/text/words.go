package text

import (
	"strings"

	"divisi/internal/lazyregexp"
)

var word = lazyregexp.New(`\p{Lu}?[^\P{L}\p{Lu}]+|\p{Lu}+|\p{Nd}+`)

// Words splits a text into lower-case words and numbers, and names in it into theirs: LoadRecord2 has three.
func Words(s string) []string {
	out := word.FindAllString(s, -1)
	for i, w := range out {
		out[i] = strings.ToLower(w)
	}
	return out
}

// Set is a set of words that blanks separate.
func Set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}
