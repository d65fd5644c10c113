package board

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// renewEach is how often the list of tasks is made again: a run can have thousands.
const renewEach = time.Second

// tasks is the list of tasks of the run.
type tasks struct {
	all, rows []view.Listed
	// id is the task that is marked, top the first row that is shown.
	id     string
	top    int
	filter string
	typing bool
	made   time.Time
}

// open shows the list as it is now.
func (l *tasks) open(c *console.Console) {
	l.made = time.Time{}
	l.renew(c)
}

// renew makes the rows again, where they are old.
func (l *tasks) renew(c *console.Console) {
	if time.Since(l.made) < renewEach {
		return
	}
	l.made = time.Now()
	c.With(func(s *view.State) { l.all = view.List(s) })
	for i := range l.all {
		l.all[i].What = plain(l.all[i].What)
	}
	l.sift()
}

// sift keeps the rows that have all words of the filter. What is marked stays marked, if it is there.
func (l *tasks) sift() {
	words := strings.Fields(strings.ToLower(l.filter))
	l.rows = slices.DeleteFunc(slices.Clone(l.all), func(r view.Listed) bool {
		has := strings.ToLower(r.ID + " " + r.State + " " + r.What)
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(has, w) })
	})
	l.mark(l.at())
}

// at is the place of the row that is marked.
func (l *tasks) at() int {
	return max(0, slices.IndexFunc(l.rows, func(r view.Listed) bool { return r.ID == l.id }))
}

// mark marks a row.
func (l *tasks) mark(at int) {
	l.id = ""
	if at = max(0, min(at, len(l.rows)-1)); len(l.rows) > 0 {
		l.id = l.rows[at].ID
	}
}

// chosen is the task that is marked; "" for none.
func (l *tasks) chosen() string { return l.id }

// write is a key in the filter.
func (l *tasks) write(name, text string) {
	switch name {
	case "enter":
		l.typing = false
	case "esc":
		l.typing, l.filter = false, ""
	default:
		l.filter = typed(l.filter, name, text)
	}
	l.sift()
}

// key moves in the list.
func (l *tasks) key(name string, page int) {
	at := l.at()
	switch name {
	case "j", "down":
		l.mark(at + 1)
	case "k", "up":
		l.mark(at - 1)
	case "space", "pgdown":
		l.mark(at + page/2)
	case "b", "pgup":
		l.mark(at - page/2)
	case "g", "home":
		l.mark(0)
	case "G", "end":
		l.mark(len(l.rows))
	case "/":
		l.typing = true
	}
}

// task is one task, with what it printed or changed.
type task struct {
	id, what string
	pane     pane
	read     bool
}

// show reads something of a task, and shows it.
func (m *model) show(id, what string) tea.Cmd {
	if id == "" {
		return nil
	}
	m.at, m.task = atTask, task{id: id, what: what}
	return m.do(func(ctx context.Context) tea.Msg {
		text, err := m.Controller.Text(ctx, what, id)
		return textMsg{id, what, text, err}
	})
}

// take takes in what was read. A text that is not asked for any more is passed over.
func (t *task) take(msg textMsg) {
	if msg.task != t.id || msg.what != t.what {
		return
	}
	t.read = true
	if msg.err != nil {
		msg.text = display.Visible(msg.err.Error())
	}
	t.pane.show(msg.text)
}

// onTask is a key on a task.
func (m *model) onTask(name string) tea.Cmd {
	id := m.task.id
	switch name {
	case "o":
		return m.show(id, TextOutput)
	case "d":
		return m.show(id, TextPatch)
	case "i":
		return m.show(id, TextReport)
	case "t":
		m.prompts(m.take(id), name)
	default:
		m.task.pane.key(name)
	}
	return nil
}
