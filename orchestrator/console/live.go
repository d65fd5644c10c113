package console

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"divisi/internal/spec"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// Escape sequences of the live part. A frame is one write between "begin" and "end", so that it never shows half drawn;
// the cursor is hidden only within it and is below the live part otherwise, also when the program is killed.
const (
	beginFrame = "\x1b[?2026h\x1b[?25l"
	endFrame   = "\x1b[?25h\x1b[?2026l"
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
	setTitle   = "\x1b]2;%s\x07"
	maxAgents  = 8
	maxBar     = 40
	hang       = 9
)

// paint colours text, or leaves it as it is.
type paint struct{ color bool }

func (p paint) do(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) tone(t report.Tone, s string) string {
	if t < report.Good {
		return s
	}
	return p.do([]string{report.Good: "32", report.Warn: "33", report.Bad: "31"}[t], s)
}

func (p paint) state(state, s string) string {
	switch state {
	case "done", "landed", "proven":
		return p.do("32", s)
	case "unverified", "held":
		return p.do("33", s)
	case "parked":
		return p.do("31", s)
	case "stopped", "cancelled", "skipped", "dropped", "waiting", "not reached", "pending":
		return p.do("2", s)
	default:
		return p.do("36", s)
	}
}

// line is one line above the live part.
type line struct {
	text string
	tone report.Tone
}

// live is the part at the bottom of a terminal that is drawn again and again. It is owned by its console's lock.
type live struct {
	paint paint
	// above are lines that are to scroll away above the live part.
	above []line
	// drawn are the widths of the lines that are on the terminal now.
	drawn []int
}

// frame returns one redraw: up to the first line of the live part, the lines above, the new live part.
func (l *live) frame(v *view, width, height int, now time.Time) []byte {
	var b bytes.Buffer
	b.WriteString(beginFrame)
	l.up(&b, width)
	l.flush(&b, width)
	for _, s := range l.lines(v, width-1, height-1, now) {
		b.WriteString(s + eraseLine + "\n")
		l.drawn = append(l.drawn, lipgloss.Width(s))
	}
	b.WriteString(eraseBelow + endFrame)
	return b.Bytes()
}

// up moves to where the live part begins. Lines that were drawn on a wider terminal take more than one row by now.
func (l *live) up(b *bytes.Buffer, width int) {
	rows := 0
	for _, w := range l.drawn {
		rows += max(1, (w+width-1)/width)
	}
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", rows)
	}
}

// wipe removes the live part and writes the lines above it.
func (l *live) wipe(width int) []byte {
	var b bytes.Buffer
	l.up(&b, width)
	if len(l.drawn) > 0 {
		b.WriteString(eraseBelow)
	}
	l.flush(&b, width)
	return b.Bytes()
}

// flush writes the lines above the live part, wrapped at words; rows after a line's first are indented.
func (l *live) flush(b *bytes.Buffer, width int) {
	for _, above := range l.above {
		for i, s := range wrap(above.text, max(width-1-hang, 1)) {
			if i > 0 {
				s = strings.Repeat(" ", hang) + s
			}
			b.WriteString(l.paint.tone(above.tone, s) + eraseLine + "\n")
		}
	}
	l.above, l.drawn = nil, nil
}

func (l *live) lines(v *view, width, height int, now time.Time) []string {
	out := []string{l.head(v, width, now)}
	out = append(out, l.bars(report.Phases(v.State), width)...)
	if s := l.counts(v, width); s != "" {
		out = append(out, s)
	}
	out = append(out, l.agents(report.Agents(v.State), width, height-len(out), now)...)
	return out[:min(len(out), max(height, 1))]
}

func (l *live) head(v *view, width int, now time.Time) string {
	rest := " · " + spent(v, now)
	state := safe(report.Status(v.State))
	if v.Unverified != "" {
		state += ", unverified"
	}
	name := fit("divisi "+safe(v.run), max(width-len(state)-2-lipgloss.Width(rest), 12))
	head := l.paint.do("1", name) + "  " + l.paint.state(report.Status(v.State), state)
	used := lipgloss.Width(name) + 2 + lipgloss.Width(state)
	if used > width {
		return fit(name+"  "+state, width)
	}
	return head + l.paint.do("2", fit(rest, width-used))
}

// spent is the run's time and tokens.
func spent(v *view, now time.Time) string {
	if !v.Ended.IsZero() {
		now = v.Ended
	}
	s := "0s"
	if !v.Spec.Created.IsZero() {
		s = report.Span(max(0, v.Times.Clock(now)-v.Wait.Until(now)))
	}
	s += " · " + report.Tokens(v.Usage.Total())
	if v.Budget > 0 {
		s += " of " + report.Tokens(v.Budget)
	}
	return s + " tokens"
}

func (l *live) bars(phases []report.Phase, width int) []string {
	widest := 0
	for _, p := range phases {
		widest = max(widest, len(sum(p)))
	}
	const name, word = 12, 11
	bar := width - name - widest - word - 3
	short := bar < 12
	if short {
		bar = width - name - widest - 2
	}
	bar = max(min(bar, maxBar), 4)
	out := make([]string, len(phases))
	for i, p := range phases {
		s := pad(label(p), name) + " " + l.bar(p, bar) + " " + strings.Repeat(" ", widest-len(sum(p))) + sum(p)
		if short {
			out[i] = s
			continue
		}
		out[i] = s + " " + l.paint.state(p.State, p.State)
	}
	return out
}

// label is a phase's name, short enough for the column of names.
func label(p report.Phase) string { return strings.Replace(strings.ToLower(p.Name), " and ", ", ", 1) }

// sum writes how many of a phase are over.
func sum(p report.Phase) string {
	if p.Total == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Good+p.Bad, p.Total)
}

// bar draws good, bad and what is under way; a share that is not nothing is at least one cell.
func (l *live) bar(p report.Phase, width int) string {
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

// counts words how many tasks are in each state.
func (l *live) counts(v *view, width int) string {
	n, unverified := map[run.TaskState]int{}, false
	for _, t := range v.Tasks.ByID {
		n[t.State]++
		unverified = unverified || t.State == run.TaskLanded && t.Landed.Unverified != ""
	}
	if len(n) == 0 {
		return ""
	}
	return l.paint.do("2", fit("tasks: "+tally(n, unverified), width))
}

var tallied = []run.TaskState{
	run.TaskHeld, run.TaskRunning, run.TaskVerifying, run.TaskAccepted,
	run.TaskLanding, run.TaskPending, run.TaskLanded, run.TaskDone,
	run.TaskParked, run.TaskCancelled, run.TaskSkipped, run.TaskDropped,
}

// tally words numbers of tasks by state; unverified marks those that have landed.
func tally(n map[run.TaskState]int, unverified bool) string {
	var say []string
	for _, s := range tallied {
		if n[s] > 0 {
			task := report.Task{State: s, Unverified: unverified && s == run.TaskLanded}
			say = append(say, fmt.Sprintf("%d %s", n[s], task.Status()))
		}
	}
	return strings.Join(say, ", ")
}

// agents lists the active agents, longest first, at most room of them.
func (l *live) agents(list []report.Agent, width, room int, now time.Time) []string {
	room = min(room, maxAgents)
	if len(list) == 0 || room < 1 {
		return nil
	}
	more := 0
	if len(list) > room {
		more = len(list) - room + 1
		list = list[:room-1]
	}
	id := 0
	for _, a := range list {
		id = max(id, lipgloss.Width(name(a)))
	}
	id = min(id, max(12, width*2/5))
	var out []string
	for _, a := range list {
		out = append(out, l.agent(a, width, id, now))
	}
	if more > 0 {
		out = append(out, l.paint.do("2", fit(fmt.Sprintf("  and %d more active", more), width)))
	}
	return out
}

func name(a report.Agent) string { return report.Name(safe(a.ID)) }

func (l *live) agent(a report.Agent, width, id int, now time.Time) string {
	took := fmt.Sprintf("%7s", report.Span(now.Sub(time.UnixMilli(a.Since))))
	s, used := "  ", 2+id+2+len(took)
	if width >= 64 {
		s += l.paint.do("36", pad(safe(a.Role), 10))
		used += 10
	}
	doing := safe(a.Doing)
	if doing == "" {
		doing = "thinking"
	}
	if plan := safe(spec.Standing(a.Steps)); plan != "" {
		doing = plan + " · " + doing
	}
	return s + pad(name(a), id) + "  " + pad(doing, width-used) + l.paint.do("2", took)
}
