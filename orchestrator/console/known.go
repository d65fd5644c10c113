package console

import (
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view/feed"
)

// maxWaits bounds what the line names that the run waits for.
const maxWaits = 3

// Known names the newest event of a run that continues. What is in the log up to it counts and is not shown again, but with JSON:
// one line reports how far the run was, and that a command shows it.
func (c *Console) Known(pos uint64, command string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opts.JSON {
		c.known, c.before = pos, command
	}
}

// goesOn shows how far the run was, before the first event that is new.
func (c *Console) goesOn(at time.Time) {
	done := c.view.Tally()
	if done != "" {
		done = ": " + done
	}
	said := "run " + c.view.Run + " goes on" + done + " · " + c.view.Spent(at)
	var waits []string
	for _, w := range feed.Waits(c.view.State, at) {
		waits = append(waits, w.Text)
	}
	if len(waits) > 0 {
		said += "; waits for " + text.Some(waits, maxWaits)
	}
	words := line{c.stamp(at) + display.Safe(said+"; all before: "+c.before), feed.Plain}
	if c.known = 0; c.live == nil {
		c.write([]byte(words.text + "\n"))
		return
	}
	c.live.above = append(c.live.above, words)
}
