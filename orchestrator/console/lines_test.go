package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/feed"
)

// A crowd of agents is folded by template, below what the run waits for and a failure of many tasks.
func TestLiveCrowd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_770_000_000, 0)
	for _, width := range []int{200, 80, 20} {
		v := feed.Follow()
		events, second := crowd(now)
		for i := range 8 {
			events = append(events, second(now.Add(time.Duration(i)*time.Second))...)
		}
		for i := range 3 {
			id := fmt.Sprintf("move-%04d", i)
			landed := event(contextscope.KindLanding, "", run.LandingData{Batch: 1, State: run.LandingLanded, Tasks: []run.Landed{{Task: id, Commit: "c"}}})
			landed.Time = now.Add(time.Minute)
			held := event(contextscope.KindTask, fmt.Sprintf("move-%04d", 10+i), run.TaskData{
				State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"TestPrice does not run any more"}},
			})
			held.Time, held.Pos = now.Add(90*time.Second), uint64(10_000+i)
			events = append(events, landed, held)
		}
		for i := range events {
			v.Apply(&events[i])
		}
		for _, id := range []string{"move-0101", "move-0102"} {
			require.Empty(t, v.Count(&contextscope.Event{Task: id}, "retried, same cause as move-0100", now))
		}
		now := now.Add(5 * time.Minute)
		lines := (&live{}).lines(statusOf(v, now, 30), width-1, now)
		require.Len(t, lines, maxLines)
		for _, s := range lines {
			require.Less(t, lipgloss.Width(s), width, "%q", s)
		}
		golden(t, fmt.Sprintf("testdata/crowd%d.txt", width), []byte(strings.Join(lines, "\n")+"\n"))
	}
}

// The lines of the end are broken at words on a terminal, and what continues one is set in.
func TestWideLinesOfTheEndAreBrokenAtWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Run r is done\n  asked: rename the old\n    function everywhere\n\n",
		wrapped("Run r is done\n  asked: rename the old function everywhere\n\n", 28))
	require.Equal(t, "\x1b[31m"+strings.Repeat("x ", 40)+"\n", wrapped("\x1b[31m"+strings.Repeat("x ", 40)+"\n", 28))
}
