package mcp

import (
	"testing"

	"divisi/internal/testkit/fencetest"
)

// What a server says of its tools and their arguments is in the fence.
func TestWordsOfAServerStayInTheFence(t *testing.T) {
	t.Parallel()
	fencetest.CheckQuoted(t, func(words string) string { return description("docs", words, []string{words}) })
	fencetest.Check(t, func(words string) string { return description(words, "x", nil) })
}
