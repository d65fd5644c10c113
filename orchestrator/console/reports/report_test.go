package reports

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
	"divisi/orchestrator/view/result"
)

// On a terminal lines end between words, but for those with a command to copy; elsewhere each text is one line.
func TestAReportFitsATerminal(t *testing.T) {
	t.Parallel()
	words := strings.TrimSpace(strings.Repeat("sentence ", 30))
	data, err := json.Marshal(view.Report{
		Run: "r1", Goal: words, Reason: words, Notices: []string{words},
		Result: &result.Result{Left: []result.Left{{Task: "a", State: "parked", Reason: words, Next: advice.Way{Why: "try it again", Command: "divisi " + words}}}},
		Gates:  []view.Gate{{Gate: "go-test", Verdict: "fail", New: []string{words}, Error: words}},
	})
	require.NoError(t, err)
	report := func(columns int) string {
		var b strings.Builder
		require.NoError(t, Run(&b, data, columns, func(hint string) string { return hint }))
		return b.String()
	}
	for line := range strings.Lines(report(60)) {
		if !strings.Contains(line, "divisi") {
			require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 60, line)
			require.NotRegexp(t, `\bsent?e?n?c?\b`, line)
		}
	}
	require.Contains(t, report(60), "\nnote    sentence sentence sentence sentence sentence\n        sentence")
	require.Equal(t, "a "+strings.Repeat("b", 9), display.Behind("a ", strings.Repeat("b", 9), 9), "an address stays whole")
	require.Contains(t, report(0), "\ngoal    "+words+"\n")
	require.Contains(t, report(0), "gate    go-test: fail, 0.0 s; newly failing: "+words+"\n        first error: "+words+"\n")
}
