package loopguard

import (
	"testing"

	"divisi/internal/testkit/fencetest"
)

// What an agent called or said can be another's words: in a nudge it is in the fence.
func TestWordsOfTheAgentStayInTheFence(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{KindCall, KindCycle, KindText, KindThought, KindJudge} {
		fencetest.CheckQuoted(t, func(words string) string { return (&Strike{Kind: kind, N: 1, Detail: words}).Nudge() })
	}
}
