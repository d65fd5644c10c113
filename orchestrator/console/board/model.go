package board

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
)

// readyAfter is when a frame of the live view is drawn for sure: lines above it cannot be printed before.
const readyAfter = 4 * time.Second / fps

// What a model is told beside keys.
type (
	drawMsg    struct{ bell bool } // there is something new in the log
	leaveMsg   struct{}            // the process is to end
	settledMsg struct{}            // keys answer what is shown
	readyMsg   struct{}            // lines above were printed, or the first frame was drawn
	overMsg    struct{ err error } // no process has the run any more
	openMsg    struct {
		list []Open
		err  error
	}
	textMsg struct {
		task, what, text string
		err              error
	}
	doneMsg struct {
		act.Outcome

		answered []string // the decisions that were answered
		began    bool
		err      error
	}
)

// screen is what is shown.
type screen int

const (
	atLive screen = iota
	atDecision
	atTasks
	atTask
)

// model is the board. Update alone changes it, in one goroutine; what takes time is a command, whose message comes back.
type model struct {
	Options

	do            func(job) tea.Cmd
	width, height int
	// ready reports that lines above may be printed, left that the board is leaving, with err.
	ready, left bool
	// settling is set while a settledMsg is to come.
	settling bool
	err      error
	at       screen
	keys     bool // the keys are shown
	// over reports that no process has the run, follows that the log is read.
	over, follows bool
	// said is what became of the last act, bad that it was refused.
	said string
	bad  bool
	// waits are the ids of the decisions that wait for a person.
	waits []string
	// answered are the decisions that were answered here last.
	answered  []string
	decisions decisions
	tasks     tasks
	task      task
	ask       *prompt // nil for none
}

func newModel(o Options, do func(job) tea.Cmd) *model { return &model{Options: o, do: do} }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.follow(), m.live())
}

// live shows the live view.
func (m *model) live() tea.Cmd {
	m.at, m.keys, m.ready = atLive, false, false
	return tea.Tick(readyAfter, func(time.Time) tea.Msg { return readyMsg{} })
}

// follow reads the log until no process has the run.
func (m *model) follow() tea.Cmd {
	if m.follows {
		return nil
	}
	m.follows = true
	return m.do(func(ctx context.Context) tea.Msg { return overMsg{m.Follow(ctx)} })
}

// Update implements tea.Model. What is drawn again once keys answer tells a person so.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, settled := msg.(settledMsg)
	m.settling = m.settling && !settled
	_, cmd := m.update(msg)
	if wait := m.soon(); wait > 0 && !m.settling {
		m.settling = true
		cmd = tea.Batch(cmd, tea.Tick(wait, func(time.Time) tea.Msg { return settledMsg{} }))
	}
	return m, cmd
}

// soon is how long no key answers yet what is shown.
func (m *model) soon() time.Duration {
	switch {
	case m.ask != nil:
		return m.ask.settles - time.Since(m.ask.since)
	case m.at == atDecision:
		return settles - time.Since(m.decisions.since)
	}
	return 0
}

func (m *model) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg.String(), msg.Key().Text)
	case tea.PasteMsg:
		return m, m.key("", msg.Content)
	case readyMsg:
		m.ready = true
		return m, m.above()
	case drawMsg:
		return m, m.drawn(msg.bell)
	case leaveMsg:
		return m, m.leave(context.Canceled)
	case overMsg:
		return m, m.ended(msg.err)
	case openMsg:
		return m, m.opened(msg)
	case textMsg:
		m.task.take(msg)
	case doneMsg:
		return m, m.done(msg)
	}
	return m, nil
}

// drawn takes in what the view has folded.
func (m *model) drawn(bell bool) tea.Cmd {
	var waits []string
	m.Console.With(func(s *view.State) {
		for _, w := range feed.Waits(s, s.Time) {
			if w.Decision != "" {
				waits = append(waits, w.Decision)
			}
		}
	})
	cmds := []tea.Cmd{m.above()}
	if !slices.Equal(waits, m.waits) && (m.at == atDecision || len(m.decisions.list) == 0) { // so that a key shows it at once
		cmds = append(cmds, m.read())
	}
	if m.waits = waits; m.at == atTasks {
		m.tasks.renew(m.Console)
	}
	if bell {
		cmds = append(cmds, tea.Raw("\a"))
	}
	return tea.Batch(cmds...)
}

// above prints lines above the live view: half a screen at a time, because they push it down.
func (m *model) above() tea.Cmd {
	if !m.ready || m.full() || m.width == 0 {
		return nil
	}
	lines := m.Console.Above(m.width)
	if len(lines) == 0 {
		return nil
	}
	m.ready = false
	var cmds []tea.Cmd
	for part := range slices.Chunk(lines, max(1, m.height/2)) {
		cmds = append(cmds, tea.Println(m.Console.Fitting(strings.Join(part, "\n"))))
	}
	return tea.Sequence(append(cmds, func() tea.Msg { return readyMsg{} })...)
}

// full reports whether the whole terminal is used, in place of its last lines.
func (m *model) full() bool { return m.at != atLive || m.keys }

// leave ends the board. The run continues.
func (m *model) leave(err error) tea.Cmd {
	if m.over {
		err = nil
	}
	m.left, m.err = true, err
	return tea.Quit
}

// ended is called when no process has the run any more. The board stays where a person can still read or do something.
func (m *model) ended(err error) tea.Cmd {
	m.follows = false
	if err != nil {
		return m.leave(err)
	}
	first := !m.over
	m.over = true
	if m.closed() && !m.full() && m.ask == nil {
		return m.leave(nil)
	}
	if first && m.closed() {
		m.say("The run has ended.", false)
	} else if first {
		m.say("No process has the run: r resumes it, with one that outlives this view.", false)
	}
	return m.drawn(false)
}

// closed reports whether the run has ended, and is not read any more.
func (m *model) closed() bool { return m.over && m.Console.Over() }

func (m *model) say(text string, bad bool) { m.said, m.bad = plain(text), bad }

// act has the controller do something that a person wants by hand.
func (m *model) act(acts ...act.Args) tea.Cmd {
	var msg doneMsg
	for i, a := range acts {
		acts[i] = act.ByHand(a)
		if answer, is := a.(act.Decide); is {
			msg.answered = append(msg.answered, answer.Decision)
		}
	}
	return m.carry(msg, func(ctx context.Context, msg *doneMsg) { msg.Outcome, msg.began, msg.err = m.Controller.Do(ctx, acts) })
}

// carry does something that takes time.
func (m *model) carry(msg doneMsg, do func(context.Context, *doneMsg)) tea.Cmd {
	m.say("…", false)
	return m.do(func(ctx context.Context) tea.Msg {
		do(ctx, &msg)
		return msg
	})
}

// done takes in what became of an act. A run without a process is read again.
func (m *model) done(msg doneMsg) tea.Cmd {
	var cmds []tea.Cmd
	if msg.Held != nil {
		msg.answered = msg.Held
		msg.Text += " · u takes it back · a: now"
	}
	if msg.answered != nil && (msg.err == nil || msg.Held != nil) {
		m.answered = msg.answered
	}
	if msg.err != nil {
		m.say(strings.TrimPrefix(msg.Text+"; ", "; ")+msg.err.Error(), true)
	} else {
		m.say(msg.Text, false)
		m.over = m.over && !msg.began
		cmds = append(cmds, m.follow())
	}
	if m.at == atDecision {
		cmds = append(cmds, m.read())
	}
	return tea.Batch(cmds...)
}
