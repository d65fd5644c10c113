package board

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// keyTable are the keys of all screens, as ? shows them, but for those of acts.
var keyTable = [][]string{
	{"n", "the next open decision"},
	{"1-9", "choose an answer; Tab and Enter do too"},
	{"l", "the tasks"},
	{"/", "filter the tasks"},
	{"Enter", "open a task: its output"},
	{"o d i", "of a task: output, diff, report"},
	{"t", "of a task: take it into a directory"},
	{"j k", "move, scroll; arrows do too"},
	{"space b", "a page down, up; g G: the ends"},
	{"Esc", "back"},
	{"q", "leave: the run goes on"},
}

// key does what a key means where the board is; text is what it writes.
func (m *model) key(name, text string) tea.Cmd {
	switch {
	case name == "ctrl+c":
		return m.leave(context.Canceled)
	case name == "ctrl+z":
		return tea.Suspend
	case m.ask != nil:
		return m.asked(name, text)
	case m.at == atTasks && m.tasks.typing:
		m.tasks.write(name, text)
		return nil
	case m.keys:
		if m.keys = false; m.at == atLive {
			return m.live()
		}
		return nil
	}
	m.say("", false)
	switch name {
	case "q":
		return m.leave(context.Canceled)
	case "?":
		m.keys = true
	case "n":
		return m.next()
	case "l":
		m.at = atTasks
		m.tasks.open(m.Console)
	case "esc":
		return m.back()
	default:
		if e := m.keyed(name); e != nil {
			return m.does(e)
		}
		return m.here(name)
	}
	return nil
}

// here does what a key means on one screen alone.
func (m *model) here(name string) tea.Cmd {
	switch m.at {
	case atDecision:
		m.decide(name)
	case atTasks:
		if name == "enter" {
			return m.show(m.tasks.chosen(), TextOutput)
		}
		m.tasks.key(name, m.height)
	case atTask:
		return m.onTask(name)
	case atLive:
	}
	return nil
}

// back goes to where the screen was opened from.
func (m *model) back() tea.Cmd {
	switch {
	case m.at == atTask:
		m.at = atTasks
		m.tasks.open(m.Console)
		return nil
	case m.closed():
		return m.leave(nil)
	case m.at == atLive:
		return nil
	}
	return m.live()
}

// keyed is the act that a key does where the board is: what can be about a task is done to the one that is shown; nil for none.
func (m *model) keyed(name string) *act.Entry {
	for _, e := range act.All() {
		if e.Key == name && (m.at == atTask || e.OfTask() == "") {
			return e
		}
	}
	return nil
}

// does begins an act, where the run is at a standing that has it: with a question where it has something to ask or to tell.
func (m *model) does(e *act.Entry) tea.Cmd {
	task := ""
	if m.at == atTask && e.OfTask() != "" {
		task = m.task.id
	}
	ask := m.asks(e, task)
	switch at := m.standing(); {
	case e.OfDecision():
		return m.undo(e)
	case e.On&at == 0:
		m.say(map[act.Standing]string{
			act.Running: "The run is active.", act.AtRest: "No process has the run.", act.Ended: "The run has ended.",
		}[at], false)
		return nil
	case e.On == act.AtRest: // it only goes on
		return ask.do(nil, "")
	}
	m.prompts(ask, e.Key)
	return nil
}

// standing is that of the run.
func (m *model) standing() (at act.Standing) {
	m.Console.With(func(s *view.State) { at = act.Of(s, !m.over) })
	return at
}

// undo does to what was answered here last what an act about a decision does.
func (m *model) undo(e *act.Entry) tea.Cmd {
	if m.answered == nil {
		m.say("Nothing was answered here yet.", false)
		return nil
	}
	var acts []act.Args
	for _, answer := range m.answered {
		a, err := e.With(map[string]any{"decision": answer})
		if err != nil {
			m.say(err.Error(), true)
			return nil
		}
		acts = append(acts, a)
	}
	return m.act(acts...)
}

// asks is the prompt of an act on a task, or on the run, which is "".
func (m *model) asks(e *act.Entry, task string) prompt {
	asks := e.Asks()
	note := e.Told(task != "") + " " + e.Undone(func(u *act.Entry) string {
		if u.Key == "" {
			return act.InTerminal(u)
		}
		return "the key " + u.Key
	})
	title := strings.TrimSpace(e.Label + " " + task)
	return prompt{title: title, note: note, asks: asks, do: func(said []string, _ string) tea.Cmd {
		given := map[string]any{}
		for i, text := range said {
			if text != "" {
				given[asks[i].Name] = text
			}
		}
		switch of := e.OfTask(); {
		case task == "":
		case of == "tasks":
			given[of] = []string{task}
		default:
			given[of] = task
		}
		a, err := e.With(given)
		if err != nil {
			m.say(err.Error(), true)
			return nil
		}
		return m.act(a)
	}}
}

// take is the prompt that checks a task out.
func (m *model) take(task string) prompt {
	asks := []act.Ask{{About: "into which directory", Needs: true}}
	return prompt{title: "Take " + task, asks: asks, do: func(said []string, _ string) tea.Cmd {
		return m.carry(doneMsg{}, func(ctx context.Context, msg *doneMsg) {
			msg.Text, msg.err = m.Controller.Take(ctx, task, said[0])
		})
	}}
}

// prompt is asked before something is done: for texts, one after the other, or for Enter alone.
type prompt struct {
	title, note string
	asks        []act.Ask
	// said are the texts that are given; words is the one that is written.
	said  []string
	words string
	// tasks are the ones to choose from, "" for all of them; at is the chosen one.
	tasks []string
	at    int
	// since is when it was shown: an Enter sooner than settles behind that is a second tap, or was pasted.
	since   time.Time
	settles time.Duration
	do      func(said []string, task string) tea.Cmd
}

// How long a screen, or a prompt, is there before a key answers, and a prompt that an Enter has opened: a key that is held down
// repeats sooner.
const (
	settles = 300 * time.Millisecond
	repeats = time.Second
)

// prompts opens a prompt by a key.
func (m *model) prompts(p prompt, name string) {
	p.since, p.settles = time.Now(), settles
	if name == "enter" {
		p.settles = repeats
	}
	m.ask = &p
}

// now is what is asked for; nil for Enter alone.
func (p *prompt) now() *act.Ask {
	if len(p.said) >= len(p.asks) {
		return nil
	}
	return &p.asks[len(p.said)]
}

// asked is a key while a prompt is open.
func (m *model) asked(name, text string) tea.Cmd {
	p, now := m.ask, m.ask.now()
	switch name {
	case "esc":
		m.ask = nil
		m.say("", false)
	case "enter":
		if m.soon() > 0 {
			p.since = time.Now() // as of a key that is held down
			return nil
		}
		if now != nil {
			words := strings.TrimSpace(p.words)
			if now.Needs && words == "" {
				m.say(p.title+": write it first, or Esc.", true)
				return nil
			}
			if p.said, p.words = append(p.said, words), ""; p.now() != nil {
				return nil
			}
		}
		task := ""
		if len(p.tasks) > 0 {
			task = p.tasks[p.at]
		}
		m.ask = nil
		return p.do(p.said, task)
	case "tab":
		p.at = (p.at + 1) % max(1, len(p.tasks))
	default:
		if now != nil {
			p.words = typed(p.words, name, text)
		}
	}
	return nil
}

// typed is a line after a key.
func typed(line, name, text string) string {
	switch name {
	case "backspace":
		all := []rune(line)
		return string(all[:max(0, len(all)-1)])
	case "ctrl+u":
		return ""
	}
	return line + strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
}

// number is the place that a digit names; -1 for none.
func number(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil || len(name) != 1 {
		return -1
	}
	return n - 1
}
