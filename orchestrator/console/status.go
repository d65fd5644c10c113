package console

import (
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/view/feed"
)

// maxLines is how many lines the live part has at most.
const maxLines = 5

// status is the content of the live part: of a run at a time, without widths and colours.
type status struct {
	feed.Glance

	// rows is how many lines there are at most, room how many of them are for the groups.
	rows, room int
}

// statusOf is a run in at most some lines.
func statusOf(v *feed.Followed, now time.Time, height int) status {
	s := status{Glance: v.Glance(now), rows: max(1, min(maxLines, height))}
	s.room = s.rows - 2
	if len(s.Waits) > 0 {
		s.room--
	}
	if s.Same != "" {
		s.room--
	}
	return s
}

// about rounds an estimate.
func about(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "under a minute left"
	case d < time.Hour:
		return "about " + text.Count(int(d.Round(time.Minute).Minutes()), "minute") + " left"
	}
	return "about " + text.Span(d.Round(5*time.Minute)) + " left"
}
