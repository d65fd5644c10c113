package text

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Piece is a foreign text for a prompt: the words that introduce it, and the most bytes of it that are quoted.
type Piece struct {
	Head, Text string
	Most       int
}

// Fence quotes the pieces, each between lines with a digest of all of them, which none of them can contain.
func Fence(pieces ...Piece) string {
	all := sha256.New()
	for _, p := range pieces {
		fmt.Fprintf(all, "%d:%s", len(p.Text), p.Text)
	}
	id := fmt.Sprintf("%x", all.Sum(nil)[:8])
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "%s\n<<<BEGIN %s>>>\n%s\n<<<END %s>>>\n\n", p.Head, id, Ends(p.Text, p.Most), id)
	}
	return b.String()
}

// Ends bounds a text to about so many bytes of both its ends. Errors are mostly at the end, so that the tail is the larger part.
func Ends(s string, most int) string {
	s = Valid(s)
	if len(s) <= most {
		return s
	}
	head, tail := Head(s, most*2/5), End(s, most*3/5)
	return fmt.Sprintf("%s\n[%d bytes are left out here]\n%s", head, len(s)-len(head)-len(tail), tail)
}
