package board

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// keyTable are the keys of all screens, as ? shows them.
var keyTable = [][]string{
	{"n", "the next open decision"},
	{"1-9", "choose an answer; Tab and Enter do too"},
	{"u", "take the last answer back"},
	{"l", "the tasks"},
	{"/", "filter the tasks"},
	{"Enter", "open a task: its output"},
	{"o d i", "of a task: output, diff, report"},
	{"s t c", "of a task: skip, take, cancel"},
	{"j k", "move, scroll; arrows do too"},
	{"space b", "a page down, up; g G: the ends"},
	{"p", "pause the run"},
	{"r", "resume it"},
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
	case "p":
		m.ask = &prompt{title: "Pause the run once its agents have finished their turns", act: Act{Verb: VerbPause}}
	case "r":
		return m.resume()
	case "u":
		return m.takeBack()
	case "esc":
		return m.back()
	default:
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

func (m *model) resume() tea.Cmd {
	switch {
	case !m.over:
		m.say("The run is active.", false)
		return nil
	case m.closed():
		m.say("The run has ended.", false)
		return nil
	}
	return m.act(Act{Verb: VerbResume})
}

func (m *model) takeBack() tea.Cmd {
	if m.answered == nil {
		m.say("Nothing was answered here yet.", false)
		return nil
	}
	return m.act(Act{Verb: VerbTakeBack, Asked: m.answered})
}

// prompt is asked before something is done: for words, or for Enter alone.
type prompt struct {
	title string
	// takes reports that words can be given, needs that they have to be.
	takes, needs bool
	words        string
	// tasks are the ones to choose from; at is the chosen one.
	tasks []string
	at    int
	act   Act
}

// asked is a key while a prompt is open.
func (m *model) asked(name, text string) tea.Cmd {
	p := m.ask
	switch name {
	case "esc":
		m.ask = nil
		m.say("", false)
	case "enter":
		words := strings.TrimSpace(p.words)
		if p.needs && words == "" {
			m.say(p.title+": write it first, or Esc.", true)
			return nil
		}
		if p.takes {
			p.act.Text = words
		}
		if len(p.tasks) > 0 {
			p.act.Task = p.tasks[p.at]
		}
		return m.act(p.act)
	case "tab":
		p.at = (p.at + 1) % max(1, len(p.tasks))
	default:
		if p.takes {
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
