package console

import (
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// DrawBy lends the terminal: from now on the console calls drawn when there is something new to draw, with bell where the
// terminal's bell is to ring, and draws nothing itself. A nil drawn gives the terminal back.
func (c *Console) DrawBy(drawn func(bell bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if drawn != nil && c.live != nil {
		width, _ := c.size()
		c.write(append(c.live.wipe(width), c.untitle()...))
	}
	c.drawn = drawn
}

// Above takes the lines that are to scroll away above the live part, each at most width cells wide.
func (c *Console) Above(width int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted(c.view.FlushOld(c.opts.Now()))
	return c.live.takeAbove(width)
}

// Status are the lines of the live part, on a terminal of a size.
func (c *Console) Status(width, height int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view.Run == "" {
		return nil
	}
	now := c.opts.Now()
	return c.live.lines(statusOf(c.view, now, height-1), width-1, now)
}

// Title is that of the terminal's window.
func (c *Console) Title() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.title()
}

func (c *Console) title() string {
	return display.Safe("divisi " + c.view.Run + ": " + view.Status(c.view.State))
}

// With calls do with the state of the run, which does not change meanwhile and is not kept.
func (c *Console) With(do func(s *view.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.view.State)
}

// Over reports whether the run has ended. One that was stopped can continue.
func (c *Console) Over() (over bool) {
	c.With(func(s *view.State) { over = view.Over(s) })
	return over
}

// Fitting is a text in the characters that the terminal has.
func (c *Console) Fitting(text string) string {
	if c.opts.ASCII {
		return string(display.ASCII([]byte(text)))
	}
	return text
}

// at is where in the log the newest event is; 0 before the first.
func (c *Console) at() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pos
}
