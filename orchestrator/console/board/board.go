// Package board draws the live view of a run with keys: a person moves in the list of its tasks, reads what they printed and
// changed, and decides. It draws what a console has folded; what it does, its controller does.
//
//	live ──n──▶ decision ──1…9──▶ words ──enter──▶ held back: u undoes it, a ends the wait
//	 │  ──l──▶ tasks ──enter──▶ task ──s t c──▶ words ──enter──▶ done: task
//	 └──?──▶ keys                                                       esc goes back from each, q leaves the run as it is
package board

import (
	"context"
	"errors"
	"io"
	"sync"

	tea "charm.land/bubbletea/v2"

	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/view"
)

// What is shown of a task.
const (
	TextOutput = "output"
	TextPatch  = "patch"
	TextReport = "report"
)

// Open are decisions that are alike, and that one answer is for. The first is shown; its About is the task that ways of a command
// of its own are for.
type Open struct {
	console.Asked

	All []view.Decision
}

// Controller shows more of a run than its log, and acts on it. Its errors are shown to the person, and end nothing.
type Controller interface {
	// Decisions lists what is open, what blocks most first. Those that are alike are one.
	Decisions(ctx context.Context) ([]Open, error)
	// Text is something of the newest attempt of a task, as a terminal may print it.
	Text(ctx context.Context, what, task string) (string, error)
	// Do does acts, and returns what becomes of them. One that is refused does not stop the others. It reports whether a process
	// was started that goes on with the run.
	Do(ctx context.Context, acts []act.Args) (out act.Outcome, began bool, err error)
	// Take checks the newest attempt of a task out into a directory.
	Take(ctx context.Context, task, dir string) (string, error)
}

// Options are a run, and the terminal.
type Options struct {
	In         io.Reader
	Out        io.Writer
	Console    *console.Console
	Controller Controller
	// Follow has the console take in what is new in the log, until no process has the run.
	Follow func(ctx context.Context) error
	// more is for tests.
	more []tea.ProgramOption
}

// fps bounds the frames a second.
const fps = 20

// job is something that takes time. Its message is what came of it.
type job func(ctx context.Context) tea.Msg

// Run shows the run until it is over, or until the person leaves it, which is context.Canceled. Nothing of it goes on after that.
func Run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	do, wait := jobs(ctx)
	defer wait()
	defer stop()
	m := newModel(o, do)
	p := tea.NewProgram(m, append(o.more,
		tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(), tea.WithFPS(fps))...)
	defer context.AfterFunc(ctx, func() { p.Send(leaveMsg{}) })()
	o.Console.DrawBy(func(bell bool) { p.Send(drawMsg{bell}) })
	defer o.Console.DrawBy(nil)
	_, err := p.Run()
	return errors.Join(m.err, err)
}

// jobs begins what takes time, in goroutines of the program, until ctx ends; wait then waits for all.
func jobs(ctx context.Context) (do func(job) tea.Cmd, wait func()) {
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return false
		}
		all.Add(1)
		return true
	}
	do = func(j job) tea.Cmd {
		return func() tea.Msg {
			if !begin() {
				return nil
			}
			defer all.Done()
			return j(ctx)
		}
	}
	return do, func() {
		mu.Lock()
		defer mu.Unlock()
		all.Wait()
	}
}
