package console

import (
	"strings"

	"divisi/internal/text"
)

// Close ends the live part, writes a short table of the run's tasks, and returns the first error of writing. It may be
// called twice.
func (c *Console) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first {
		close(c.quit)
		c.done.Wait()
		c.notify()
		c.end()
	}
	return c.Err()
}

// untitle gives the terminal's window the title back that it had.
func (c *Console) untitle() string {
	if !c.titled {
		return ""
	}
	c.titled = false
	return backTitle
}

func (c *Console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused { // the cursor is behind a question
		c.write([]byte("\n"))
	}
	width, _ := c.size()
	if c.live != nil {
		c.counted(c.view.Flush())
		c.write(append(c.live.wipe(width), c.untitle()...))
	}
	if c.opts.JSON || c.view.Run == "" || c.view.Spec.Trial { // divisi init says what it found
		return
	}
	var b strings.Builder
	p := paint{}
	if c.live != nil {
		p = c.live.paint
	}
	writeEnd(&b, c.view, c.opts.Calls(text.Because(c.view.Reason)), width, p, c.opts.Now())
	text := b.String()
	if c.live != nil {
		text = wrapped(text, width)
	}
	c.write([]byte(text))
}
