package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"divisi/internal/text"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/page"
)

const (
	// slim is the width below which a row has its state behind its name, maxFew how many lines an outcome and a title have.
	slim, maxFew = 40, 4
	// stateWidth is that of a task's state in a row.
	stateWidth = 10
)

var (
	strong = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	marked = lipgloss.NewStyle().Reverse(true)
	warn   = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
)

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.left || m.width == 0 {
		return tea.NewView("")
	}
	foot := m.foot()
	room := max(1, m.height-len(foot))
	var lines []string
	if m.full() {
		lines = m.body(room)
		lines = append(lines[:min(len(lines), room)], make([]string, max(0, room-len(lines)))...)
	} else {
		lines = m.Console.Status(m.width, room)
	}
	v := tea.NewView(m.Console.Fitting(strings.Join(append(lines, foot...), "\n")))
	v.AltScreen, v.WindowTitle = m.full(), m.Console.Title()
	return v
}

// body is a screen without its last lines.
func (m *model) body(room int) []string {
	switch {
	case m.keys:
		return m.keyLines()
	case m.at == atDecision:
		return m.decisionLines(room)
	case m.at == atTasks:
		return m.taskLines(room)
	}
	return m.textLines(room)
}

// foot are the last lines: what became of the last act, and what is asked, or the keys.
func (m *model) foot() (lines []string) {
	if m.said != "" {
		for _, l := range few(wrap(m.said, m.width)) {
			if m.bad {
				l = warn.Render(l)
			}
			lines = append(lines, l)
		}
	}
	if m.ask == nil {
		return append(lines, faint.Render(cut(m.hint(), m.width)))
	}
	lines = append(lines, m.ask.lines(m.width)...)
	if m.soon() > 0 {
		lines[len(lines)-1] = faint.Render("…")
	}
	return lines
}

// lines are a prompt. The end of what is written is seen.
func (p *prompt) lines(width int) []string {
	title := p.title
	if len(p.tasks) > 0 {
		title = cmp.Or(p.tasks[p.at], "all of them") + " (Tab: another choice), " + title
	}
	now := p.now()
	if now != nil {
		title += ": " + now.About
		if !now.Needs {
			title += ", or nothing"
		}
	}
	lines := few(wrap(strong.Render(plain(title)), width))
	if p.note != "" {
		lines = append(lines, few(wrap(plain(p.note), width))...)
	}
	if now != nil {
		words := []rune("> " + p.words + "_")
		words = words[max(0, len(words)-width):]
		for lipgloss.Width(string(words)) > width && len(words) > 1 {
			words = words[1:]
		}
		lines = append(lines, string(words))
	}
	return append(lines, faint.Render(cut("Enter: do it · Esc: back", width)))
}

// few are the first of some lines.
func few(lines []string) []string {
	if len(lines) > maxFew {
		return append(lines[:maxFew-1], "…")
	}
	return lines
}

// hint are the keys that matter where the board is, those that matter most first.
func (m *model) hint() string {
	switch {
	case m.keys:
		return "any key: back"
	case m.at == atDecision && m.decisions.now() != nil && m.soon() > 0:
		return "…"
	case m.at == atDecision && m.decisions.now() != nil:
		return fmt.Sprintf("1-%d answer · n next · ? keys · Esc back", len(m.ways(m.decisions.now()))) + m.decisions.pane.below()
	case m.at == atDecision:
		return "Esc back · ? keys"
	case m.at == atTasks && m.tasks.typing:
		return "Enter: keep the filter · Esc: all tasks"
	case m.at == atTasks:
		return "Enter open · / filter · ? keys · Esc back"
	case m.at == atTask:
		return "o output · d diff · i report" + m.offers() + " · ? keys · Esc back" + m.task.pane.below()
	}
	hint := "? keys · l tasks" + m.offers() + " · q leave"
	if len(m.waits) > 0 {
		hint = fmt.Sprintf("n decide (%d) · ", len(m.waits)) + hint
	}
	return hint
}

// offers are the keys of the acts that the run, or the task that is shown, is offered now.
func (m *model) offers() (hint string) {
	task := ""
	if m.at == atTask {
		task = m.task.id
	}
	m.Console.With(func(s *view.State) {
		for _, name := range page.Acts(s, !m.over, task) {
			if e := act.Find(name); e.Key != "" && (task != "" || e.OfTask() == "") {
				hint += " · " + e.Key + " " + strings.ToLower(e.Label)
			}
		}
	})
	return hint
}

func (m *model) keyLines() []string {
	lines := []string{strong.Render(cut("Keys", m.width)), ""}
	var rows [][]string
	for _, row := range keyTable {
		rows = append(rows, slices.Clone(row)) // the cells are made safe in place
	}
	for _, e := range act.All() {
		does := e.Help
		if e.OfTask() != "" {
			does = "of a task: " + strings.ToLower(e.Label)
		}
		if e.Key == "" {
			continue
		}
		key := e.Key
		for _, l := range wrap(does, m.width-len("space b  ")) {
			rows, key = append(rows, []string{key, l}), ""
		}
	}
	for _, l := range display.Columns(rows, 2) {
		lines = append(lines, cut(l, m.width))
	}
	return lines
}

// decisionLines are a decision: what it is about, which scrolls, and its answers. On a small terminal the answers scroll too.
func (m *model) decisionLines(room int) []string {
	d := m.decisions.now()
	switch {
	case !m.decisions.read:
		return []string{cut("reading the open decisions…", m.width)}
	case d == nil:
		return []string{cut("Nothing is open.", m.width)}
	}
	head := fmt.Sprintf("Decision %d of %d: %s", m.decisions.at+1, len(m.decisions.list), plain(d.id()))
	answers := m.answers(d)
	all, below := d.text(m.width), answers
	if room < 3*len(answers) {
		all, below = strings.Join(answers, "\n")+"\n"+all, nil
	}
	m.decisions.pane.show(all)
	lines := append([]string{strong.Render(cut(head, m.width))}, m.decisions.pane.view(m.width, room-1-len(below))...)
	return append(lines, below...)
}

// answers are the ways to answer, numbered.
func (m *model) answers(d *Open) (lines []string) {
	lines = append(lines, faint.Render(strings.Repeat("─", m.width)))
	for i, w := range m.ways(d) {
		label := fmt.Sprintf("%d %s", i+1, w.label)
		if w.option != "" && w.option == d.Suggests {
			label = fmt.Sprintf("%d (suggested) %s", i+1, w.label)
		}
		lines = append(lines, mark(label, i == m.decisions.way, m.width))
	}
	return lines
}

// mark fits a row of a list; one that is marked is seen without colours too.
func mark(row string, is bool, width int) string {
	if !is {
		return cut("  "+row, width)
	}
	return marked.Render(cut("> "+row, width))
}

// taskLines are the list of tasks, the marked one within it.
func (m *model) taskLines(room int) []string {
	l := &m.tasks
	head := text.Count(len(l.rows), "task")
	if l.typing || l.filter != "" {
		head = fmt.Sprintf("%d of %s · /%s", len(l.rows), text.Count(len(l.all), "task"), l.filter)
	}
	if l.typing {
		head += "_"
	}
	lines := []string{strong.Render(cut(head, m.width))}
	at, room := l.at(), max(1, room-1)
	l.top = max(0, min(l.top, at, len(l.rows)-room), at-room+1)
	idWidth := 0
	for _, r := range l.rows {
		idWidth = max(idWidth, lipgloss.Width(r.ID))
	}
	for i := l.top; i < min(len(l.rows), l.top+room); i++ {
		r := l.rows[i]
		row := fmt.Sprintf("%-*s %-*s  %s", stateWidth, r.State, min(idWidth, m.width/3), view.Name(r.ID), r.What)
		if m.width < slim {
			row = view.Name(r.ID) + " " + r.State
		}
		lines = append(lines, mark(row, i == at, m.width))
	}
	return lines
}

// textLines are the lines shown about a task.
func (m *model) textLines(room int) []string {
	t := &m.task
	lines := []string{strong.Render(cut(view.Name(t.id)+" · "+t.what, m.width))}
	if !t.read {
		return append(lines, cut("reading…", m.width))
	}
	return append(lines, t.pane.view(m.width, room-1)...)
}
