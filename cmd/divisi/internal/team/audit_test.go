package team

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a stranger calls an act makes no other line, and nothing that a terminal obeys.
func TestAnEntryOfTheAuditIsOneLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for _, end := range []string{"\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\x1b[1A\x1b[2K "} {
		e := auditEntry{
			Time: at, By: "eve", What: "refused", Verb: "send" + end + "ana", Name: "n" + end, Run: "r1" + end, Task: "t" + end + end,
			Detail: end + "d", Refused: "no" + end + "way",
		}
		require.Equal(t, "2026-01-02 03:04:05 eve refused send ana n r1 /t d (refused: no way)", e.line(), "%q", end)
	}
}
