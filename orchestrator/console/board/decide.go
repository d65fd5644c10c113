package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// decisions are those that are open; one is shown.
type decisions struct {
	list []Open
	// at is the one that is shown, way the answer that is marked.
	at, way int
	since   time.Time // it is shown
	pane    pane
	// read reports that the list was read, reading that it is being read, and again that it has to be read after that.
	read, reading, again bool
}

// now is the decision that is shown; nil for none.
func (d *decisions) now() *Open {
	if d.at >= len(d.list) {
		return nil
	}
	return &d.list[d.at]
}

// show shows one of them, with the suggested answer marked.
func (d *decisions) show(at int) {
	d.at, d.way, d.since = max(0, at)%max(1, len(d.list)), 0, time.Now()
	if now := d.now(); now != nil && now.Suggests != "" {
		at := slices.IndexFunc(now.Options, func(o view.Option) bool { return o.Name == now.Suggests })
		d.way = max(0, len(now.Choices)+at)
	}
}

// way is a way to answer.
type way struct {
	label, option string
	ask           prompt
}

// ways are the answers that an agent proposes, the options, and what commands of their own do.
func (m *model) ways(d *Open) (out []way) {
	for _, c := range d.Choices {
		option := d.Options[max(0, slices.IndexFunc(d.Options, func(o view.Option) bool { return o.NeedsText }))].Name
		title := fmt.Sprintf("%s %q %s", option, plain(c), d.id())
		out = append(out, way{plain(c), option, prompt{title: title, do: func([]string, string) tea.Cmd {
			return m.act(d.answers(option, c, "")...)
		}}})
	}
	for _, o := range d.Options {
		w := way{label: o.Name + ": " + o.Does, option: o.Name, ask: prompt{title: o.Name + " " + d.id()}}
		switch {
		case o.NeedsText:
			w.ask.asks = []act.Ask{{About: "in words", Needs: true}}
		case view.Reasoned(o.Name):
			w.ask.asks = []act.Ask{{About: "why"}}
		}
		if o.NeedsText && len(d.Patches) > 1 {
			if d.Group() {
				w.ask.tasks = append(w.ask.tasks, "")
			}
			for _, p := range d.Patches {
				w.ask.tasks = append(w.ask.tasks, p.Task)
			}
		}
		w.ask.do = func(said []string, task string) tea.Cmd {
			return m.act(d.answers(o.Name, strings.Join(said, ""), task)...)
		}
		out = append(out, w)
	}
	for _, e := range d.Elsewhere {
		w := way{label: e.Name + ": " + e.Does, ask: m.take(d.About)}
		if does := act.Find(e.Name); does != nil {
			w.ask = m.asks(does, d.About)
		}
		out = append(out, w)
	}
	return out
}

// answers answer decisions that are alike.
func (d *Open) answers(option, text, task string) (out []act.Args) {
	for _, q := range d.All {
		out = append(out, act.Decide{Decision: q.ID, Attempt: q.Attempt, Option: option, Text: text, Task: task})
	}
	return out
}

// id is that of the decision that is shown.
func (d *Open) id() string { return d.ID }

// next shows the next decision; what blocks most where none is shown.
func (m *model) next() tea.Cmd {
	d := &m.decisions
	if m.at == atDecision && len(d.list) > 0 {
		d.show(d.at + 1)
		return nil
	}
	m.at = atDecision
	d.show(0)
	return m.read()
}

// read reads what is open.
func (m *model) read() tea.Cmd {
	d := &m.decisions
	if d.again = d.reading; d.again {
		return nil
	}
	d.reading = true
	return m.do(func(ctx context.Context) tea.Msg {
		list, err := m.Controller.Decisions(ctx)
		return openMsg{list, err}
	})
}

// opened takes in what is open. What is shown stays, while it is open.
func (m *model) opened(msg openMsg) tea.Cmd {
	d := &m.decisions
	d.reading = false
	if msg.err != nil {
		m.say(msg.err.Error(), true)
	} else {
		m.list(msg.list)
	}
	if d.again {
		return m.read()
	}
	return nil
}

// list puts another list in place of the one that is shown.
func (m *model) list(list []Open) {
	d := &m.decisions
	was := d.now()
	d.list, d.read = list, true
	if was == nil {
		d.show(0)
		return
	}
	at := slices.IndexFunc(d.list, func(o Open) bool { return o.id() == was.id() })
	if at >= 0 {
		d.at = at
		return
	}
	d.show(min(d.at, len(d.list)-1))
	if m.said == "" {
		m.say(m.gone(was.id()), false)
	}
}

// gone reports that a decision is not open any more, and who has answered it.
func (m *model) gone(id string) string {
	how := "it is not open any more"
	m.Console.With(func(s *view.State) { how = cmp.Or(view.Answered(s, id), how) })
	return id + ": " + how
}

// decide is a key on a decision.
func (m *model) decide(name string) {
	d := m.decisions.now()
	if d == nil {
		return
	}
	ways, soon := m.ways(d), m.soon() > 0
	switch at := number(name); {
	case soon && (at >= 0 || name == "enter"): // it was for what was shown before
	case at >= 0 && at < len(ways):
		m.decisions.way = at
		m.prompts(ways[at].ask, name)
	case name == "tab":
		m.decisions.way = (m.decisions.way + 1) % len(ways)
	case name == "enter":
		m.prompts(ways[m.decisions.way].ask, name)
	default:
		m.decisions.pane.key(name)
	}
}

// text is all that is known of a decision but for the ways to answer, at a width.
func (d *Open) text(width int) string {
	var b strings.Builder
	b.WriteString("The run waits for " + plain(d.Text) + "\n")
	if d.Note != "" {
		b.WriteString("(" + plain(d.Note) + ")\n")
	}
	for _, e := range d.Evidence {
		if e = plain(e); !strings.Contains(d.Text, e) {
			b.WriteString("- " + e + "\n")
		}
	}
	if len(d.All) > 1 {
		fmt.Fprintf(&b, "%d are alike, and one answer is for all:\n", len(d.All))
		for _, a := range console.Patched(d.All) {
			b.WriteString("  " + plain(a) + "\n")
		}
	}
	if d.Plan != nil {
		b.WriteByte('\n')
		if err := console.Plan(&b, d.Plan, width); err != nil {
			b.WriteString(display.Visible(err.Error()))
		}
	}
	for _, p := range d.Patches {
		fmt.Fprintf(&b, "\nThe patch of %s:\n%s\n", plain(p.Task), p.Diff)
	}
	return b.String()
}
