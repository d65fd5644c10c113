package reports

import (
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"
)

func TestTheTableOfRunsFitsTheTerminal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	row := func(id, status, rest string) Row {
		r, err := RowOf(id, status, []byte(`{"created":"2026-11-25T12:00:00Z","repo":"/src/app","goal":"Move to slog",`+rest+`}`), now)
		require.NoError(t, err)
		return r
	}
	rows := []Row{
		row("20261128-101500-1f2e", "waiting", `"state":"running","wait":"approval of the plan","usage":{"prompt":1200},"outlook":{"seconds":90,"left":{"low":244000,"high":244000,"low_seconds":120,"high_seconds":120}},"tasks":[{"id":"a","state":"landed"},{"id":"b"}]`),
		row("20261125-120000-0a0b", "killed", `"state":"running","times":{"wall_seconds":40}`),
		{Run: "20261125-110000-ffff", Status: "unreadable", Error: "the log has format 7"},
	}
	require.Equal(t, []string{
		"run                   state       progress       age  tokens   took               to go  repository  goal          waits for",
		"20261128-101500-1f2e  waiting     1 of 2 landed   3d    1.2k  1m30s  244k tokens, 2m00s  app         Move to slog  decision: approval of the plan",
		"20261125-120000-0a0b  killed      0 of 0 landed   3d            40s                      app         Move to slog  person: resume, as its process was killed",
		"20261125-110000-ffff  unreadable                                                                                   the log has format 7",
	}, trimmed(Runs(rows, 1000)))
	for _, width := range []int{40, 60, 80, 100} {
		for _, line := range Runs(rows, width) {
			require.LessOrEqual(t, lipgloss.Width(line), width, line)
		}
		require.Contains(t, strings.Join(Runs(rows, width), "\n"), rows[0].Run, "an id is never cut")
	}
	rows[1].WaitsFor, rows[2].Status = strings.Repeat("why ", 1250), strings.Repeat("x", 5000)
	for i, line := range Runs(rows, 10_000) {
		if i != 2 { // that of the reason, which is whole
			require.LessOrEqual(t, lipgloss.Width(line), 3*200, "a long reason pads no line")
		}
	}
	require.Equal(t, 259200, rows[0].Age)
	require.Equal(t, "decision", rows[0].WaitsOn)
}

func trimmed(lines []string) []string {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
