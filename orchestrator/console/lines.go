package console

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
	"divisi/orchestrator/view/stats"
)

const (
	// slim is the width below which bars and times are left out, wideCell the least width of one of several columns of agents.
	slim, wideCell = 40, 90
	minBar, maxBar = 10, 60
	dot            = " · "
)

// lines draws a status: the run, how far it is, what it waits for, which failures repeat, and its agents.
func (l *live) lines(s status, width int, now time.Time) []string {
	out := []string{l.head(&s, width), l.progress(&s, width)}
	if len(s.Waits) > 0 {
		out = append(out, l.paint.do("33", display.Fit(wait(s.Waits, now), width)))
	}
	if s.Same != "" {
		out = append(out, l.paint.do("33", display.Fit(display.Safe(s.Same), width)))
	}
	out = append(out, l.agents(&s, width, now)...)
	return out[:min(len(out), s.rows)]
}

// head names the run, its state, and what it has used; on a narrow terminal the state comes first.
func (l *live) head(s *status, width int) string {
	state := l.paint.state(s.State, display.Safe(s.State))
	if width < slim {
		return l.join(width, state, s.Spent)
	}
	used := lipgloss.Width(display.Safe(s.State)) + lipgloss.Width(s.Spent) + 2 + len(dot)
	name := display.Fit("divisi "+display.Safe(s.Run), max(width-used, 12))
	return l.join(width, l.paint.do("1", name)+"  "+state, s.Spent)
}

// join puts dots between parts, and cuts what does not fit. The first part is painted already.
func (l *live) join(width int, first string, rest ...string) string {
	left := width - lipgloss.Width(first)
	if left < 0 {
		return display.Fit(display.Sanitize(first), width)
	}
	var more strings.Builder
	for _, part := range rest {
		if part != "" {
			more.WriteString(dot + part)
		}
	}
	return first + l.paint.do("2", display.Fit(more.String(), left))
}

// progress is the bar, and in words how far the run is, how fast it is, and how long it may take.
func (l *live) progress(s *status, width int) string {
	first := s.Done
	if width >= slim {
		first = l.bar(s.Bar, min(max(width/4, minBar), maxBar)) + " " + s.Done
	}
	fast, left := "", ""
	if s.PerMinute > 0 {
		fast = fmt.Sprintf("%.1f a minute", s.PerMinute)
	}
	if s.Left > 0 {
		left = about(s.Left)
	}
	return l.join(width, first, fast, left, s.Tally)
}

// bar draws good, bad and what is under way; a share that is not nothing is at least one cell.
func (l *live) bar(p stats.Phase, width int) string {
	left := width
	share := func(n int) int {
		if n <= 0 || p.Total == 0 {
			return 0
		}
		cells := min(left, max(1, n*width/p.Total))
		left -= cells
		return cells
	}
	if p.Total > 0 && p.Good >= p.Total {
		return l.paint.do("32", strings.Repeat("█", width))
	}
	b, good, part := share(p.Bad), share(p.Good), share(p.Part)
	return l.paint.do("32", strings.Repeat("█", good)) + l.paint.do("31", strings.Repeat("▓", b)) +
		l.paint.do("36", strings.Repeat("▒", part)) + l.paint.do("2", strings.Repeat("░", left))
}

// wait words what the run waits for, and since when.
func wait(list []feed.Waiting, now time.Time) string {
	what, long := display.Safe(list[0].Text), ""
	if at := list[0].Since; !at.IsZero() {
		long = " " + text.Span(now.Sub(at))
	}
	if n := len(list); n > 1 {
		return fmt.Sprintf("waiting%s for %d things, the first is %s", long, n, what)
	}
	return "waiting" + long + " for " + what
}

// agents draws the groups in the rows that are left, in several columns on a wide terminal; what has no place is counted.
func (l *live) agents(s *status, width int, now time.Time) []string {
	n := len(s.Groups)
	if n == 0 || s.room < 1 {
		return nil
	}
	columns := min((n+s.room-1)/s.room, max(1, width/wideCell))
	shown, rest := s.Groups, []view.Group(nil)
	if n > columns*s.room {
		shown, rest = s.Groups[:columns*s.room-1], s.Groups[columns*s.room-1:]
	}
	cell := (width - 2*(columns-1)) / columns
	cells := make([]string, 0, n)
	names := nameWidth(shown, cell)
	for i := range shown {
		cells = append(cells, l.group(&shown[i], cell, names, now))
	}
	if len(rest) > 0 {
		cells = append(cells, l.paint.do("2", display.Pad(others(rest, len(shown) > 0), cell)))
	}
	var out []string
	for len(cells) > 0 {
		row := min(columns, len(cells))
		out, cells = append(out, strings.TrimRight(strings.Join(cells[:row], "  "), " ")), cells[row:]
	}
	return out
}

// others counts the agents of groups; more reports that there are further ones.
func others(groups []view.Group, more bool) string {
	var all view.Group
	for i := range groups {
		all.Add(&groups[i])
	}
	if more {
		return fmt.Sprintf("and %d more: %s", all.Size(), display.Safe(all.String()))
	}
	return text.Count(all.Size(), "agent") + ": " + display.Safe(all.String())
}

// title is a group's name in some cells, with its size where it has several agents.
func title(g *view.Group, width int) string {
	name, size := display.Safe(g.Name), ""
	if g.One != nil {
		name = view.Name(display.Safe(g.One.ID))
	}
	if g.Size() > 1 {
		size = fmt.Sprintf(" ×%d", g.Size())
	}
	return display.Fit(name, width-lipgloss.Width(size)) + size
}

// nameWidth is the width of the column of names.
func nameWidth(groups []view.Group, cell int) int {
	widest := 0
	for i := range groups {
		widest = max(widest, lipgloss.Width(title(&groups[i], cell)))
	}
	return min(widest, max(8, cell*2/5))
}

// group draws what a group does, and how long its oldest agent has run.
func (l *live) group(g *view.Group, width, names int, now time.Time) string {
	doing := display.Safe(g.String())
	if g.One != nil {
		doing = display.Safe(g.One.Doing)
		if plan := display.Safe(spec.Standing(g.One.Steps)); plan != "" {
			doing = plan + dot + doing
		}
	}
	took := ""
	if width >= slim && g.Since > 0 {
		took = fmt.Sprintf("%7s", text.Span(now.Sub(time.UnixMilli(g.Since))))
	}
	return l.paint.do("36", display.Pad(title(g, names), names)) + "  " + display.Pad(doing, width-names-2-len(took)) +
		l.paint.do("2", took)
}
