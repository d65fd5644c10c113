package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"divisi/internal/text"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
)

const (
	// noticeTime is how long the command of --notify may take, noticeEnd how long the commands that are left may take at the end.
	noticeTime = 5 * time.Second
	noticeEnd  = 2 * noticeTime
	// maxNotices bounds those that wait for the command before.
	maxNotices = 64
	// maxNoticeOutput bounds what is shown of the output of a command that failed, in bytes.
	maxNoticeOutput = 300
)

// NoticeFlags are those of the commands that show a run to its end.
func (g *Globals) NoticeFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&g.bell, "bell", true, "ring the terminal's bell when the run needs a person, or ends")
	f.StringVar(&g.Notify, "notify", "", "run this shell command then; DIVISI_EVENT and DIVISI_TEXT tell why (docs/watch.md)")
}

// notifier passes notices to the command of --notify; nil without one.
func (g *Globals) notifier() func(console.Notice) {
	if g.Notify == "" {
		return nil
	}
	if g.notices == nil {
		g.notices = newNotices(g.Notify, g.Notice)
	}
	return g.notices.add
}

// Attend prints a summary for each signal that asks for one, until the returned function is called; that waits for the commands
// of --notify.
func (g *Globals) Attend(c *console.Console) (leave func()) {
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	if len(summarySignals) > 0 {
		signal.Notify(asked, summarySignals...)
	}
	var under sync.WaitGroup
	under.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-asked:
			}
			if err := c.Summary(g.Err); err != nil {
				g.Log.Info().Err(err).Msg("the summary could not be shown")
			}
		}
	})
	return func() {
		signal.Stop(asked)
		close(done)
		under.Wait()
		g.notices.close()
	}
}

// notices runs a command for each notice, one after the other. One that fails is reported once, and changes nothing of the run.
type notices struct {
	command string
	report  func(text string)
	queue   chan console.Notice
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

func newNotices(command string, report func(string)) *notices {
	ctx, stop := context.WithCancel(context.Background())
	n := &notices{command: command, report: report, queue: make(chan console.Notice, maxNotices), stop: stop}
	n.done.Go(func() { n.run(ctx) })
	return n
}

// add has the command run for a notice; those that come faster than it runs are dropped in the end.
func (n *notices) add(one console.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	select {
	case n.queue <- one:
	default:
	}
}

// close waits for the commands that are left, a while.
func (n *notices) close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.queue)
	}
	n.mu.Unlock()
	late := time.AfterFunc(noticeEnd, n.stop)
	defer late.Stop()
	n.done.Wait()
	n.stop()
}

func (n *notices) run(ctx context.Context) {
	failed := false
	for one := range n.queue {
		if ctx.Err() != nil {
			return
		}
		if err := n.once(ctx, one); err != nil && !failed {
			failed = true
			n.report(fmt.Sprintf("the command of --notify failed: %v; later failures are not reported", err))
		}
	}
}

// once runs the command for a notice, and ends it with all that it has started when its time is over.
func (n *notices) once(ctx context.Context, one console.Notice) error {
	ctx, stop := context.WithTimeout(ctx, noticeTime)
	defer stop()
	c := exec.CommandContext(ctx, "sh", "-c", n.command)
	c.Env = append(os.Environ(),
		"DIVISI_RUN="+one.Run, "DIVISI_EVENT="+one.Event, "DIVISI_TEXT="+one.Text, "DIVISI_DECISION="+one.Decision,
		"DIVISI_STATE="+one.State, fmt.Sprintf("DIVISI_LANDED=%d", one.Landed), fmt.Sprintf("DIVISI_TASKS=%d", one.Tasks))
	inGroup(c)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("ended after %s", noticeTime)
	case err != nil:
		return fmt.Errorf("%w: %s", err, display.Sanitize(text.Tail(string(out), maxNoticeOutput)))
	}
	return nil
}

// Notice tells a person the message of a service.
func (g *Globals) Notice(text string) { fmt.Fprintln(&g.Notes, display.Visible(text)) }
