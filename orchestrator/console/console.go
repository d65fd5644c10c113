package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
)

const (
	// redrawPause is the shortest time between two redraws: at most ten a second.
	redrawPause   = 100 * time.Millisecond
	defaultWidth  = 80
	defaultHeight = 24
	// maxEndRows bounds the table at the end.
	maxEndRows = 20
	// summaryRows bounds a summary.
	summaryRows = 24
)

// Options choose the output and its place.
type Options struct {
	Out io.Writer
	// TTY is set where Out is a terminal: the console then redraws a live part at its bottom. Without it, it writes plain lines.
	TTY bool
	// Width and Height return the terminal's size in cells, asked at every redraw; nil means 80 and 24.
	Width, Height func() int
	// Color allows colours on a terminal.
	Color bool
	// ASCII replaces all other characters on a terminal.
	ASCII bool
	// Bell rings the terminal's bell for each notice.
	Bell bool
	// Notify is called with each notice, one after the other; nil for none.
	Notify func(Notice)
	// JSON writes every event as one line of JSON and nothing else.
	JSON bool
	// Now is the clock for running times, Zone the zone of printed times; nil means the machine's.
	Now  func() time.Time
	Zone *time.Location
	// Calls completes the commands that a hint names; nil leaves them as they are.
	Calls func(hint string) string
	// Drop leaves out what was typed on the terminal that answers come from, and was not read yet; nil where that is none.
	Drop func()
	// Decide is the command by which a person decides, but for the id of the run; "" for none.
	Decide string
}

func (o Options) withDefaults() Options {
	if o.Width == nil {
		o.Width = func() int { return defaultWidth }
	}
	if o.Height == nil {
		o.Height = func() int { return defaultHeight }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Calls == nil {
		o.Calls = func(hint string) string { return hint }
	}
	return o
}

// Notice is shown to a person at once.
type Notice = feed.Notice

// Console shows one run. Its methods may be called from many goroutines. Out is written to under its lock: a terminal that
// stands still delays the caller of Handle alone.
type Console struct {
	opts Options

	mu     sync.Mutex
	view   *feed.Followed
	live   *live // nil without a terminal
	paused bool  // a question is on the terminal
	titled bool  // the terminal's window has a title of the run
	// drawn is called in place of drawing, where a board has the terminal; nil for none.
	drawn func(bell bool)
	// pos is where in the log the newest event is.
	pos uint64
	// known is where in the log the events end that are not shown, 0 for none; before is the command that shows them.
	known  uint64
	before string
	err    error
	closed bool
	// typed are the lines of a person who answers.
	typed lines
	// watch finds what a person is to be told at once.
	watch feed.Watch

	wake chan struct{}
	quit chan struct{}
	done sync.WaitGroup
}

// New returns a console. On a terminal, and for notices, a goroutine watches it until Close.
func New(o Options) *Console {
	c := &Console{opts: o.withDefaults(), view: feed.Follow(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
	if o.TTY && !o.JSON {
		c.live = &live{paint: paint{color: o.Color}}
	}
	c.watch = feed.NewWatch(c.opts.Now())
	if c.live != nil || o.Notify != nil {
		c.done.Go(c.redraw)
	}
	return c
}

// Handle shows events. They come in log order, each once.
func (c *Console) Handle(events []contextscope.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	for i := range events {
		c.handle(&events[i])
	}
	c.wakeUp()
}

func (c *Console) handle(e *contextscope.Event) {
	if c.known > 0 && e.Pos > c.known {
		c.goesOn(e.Time)
	}
	before, failures := view.Status(c.view.State), c.view.Failures(e)
	c.view.Apply(e)
	c.pos = max(c.pos, e.Pos)
	if view.Status(c.view.State) != before && c.live != nil && c.drawn == nil {
		if !c.titled {
			c.write([]byte(keepTitle))
		}
		c.titled = true
		c.write(fmt.Appendf(nil, setTitle, c.title()))
	}
	if c.opts.JSON {
		c.writeJSON(e)
		return
	}
	if c.known > 0 {
		return
	}
	for _, l := range feed.Lines(e) {
		if c.live != nil && c.view.Repeats(e, &l) {
			continue
		}
		count := c.view.Shorten(&l, e)
		l.Text += failures
		c.show(e, &l, count)
	}
}

// show shows a line of an event; on a terminal urgent ones alone, and of those that say the same of another task their count.
func (c *Console) show(e *contextscope.Event, l *feed.Line, count string) {
	words, ok := wordsOf(e, l, c.opts.Decide)
	if !ok {
		return
	}
	words.text = c.stamp(e.Time) + c.opts.Calls(words.text)
	switch {
	case c.live == nil:
		c.write([]byte(words.text + "\n"))
	case words.tone < feed.Warn:
	case count != "":
		c.counted(c.view.Count(e, count, c.opts.Now()))
	default:
		c.counted(c.view.Flush())
		c.live.above = append(c.live.above, words)
	}
}

// counted shows a count of failures that has ended; "" for none.
func (c *Console) counted(words string) {
	if words != "" {
		c.live.above = append(c.live.above, line{c.stamp(c.opts.Now()) + display.Safe(words), feed.Warn})
	}
}

// wordsOf returns a line of an event for a terminal, with decide as in Options; ok is false for one that is not worth it. The
// failure of an agent is a warning there: its task may succeed later.
func wordsOf(e *contextscope.Event, l *feed.Line, decide string) (words line, ok bool) {
	if l.Text == "" {
		return words, false
	}
	if l.By != "" {
		l.Tone = min(l.Tone, feed.Warn)
	}
	if l.Decide && decide != "" {
		l.Text += "; decide: " + decide + e.Run
	}
	words = line{display.Safe(l.String()), l.Tone}
	return words, words.text != ""
}

func (c *Console) stamp(t time.Time) string { return t.In(c.opts.Zone).Format("15:04:05 ") }

// writeJSON writes the event as it is in the log, with its position.
func (c *Console) writeJSON(e *contextscope.Event) {
	line, err := spec.JSON(e)
	if err != nil {
		c.fail(fmt.Errorf("write event %s as JSON: %w", e.ID, err))
		return
	}
	c.write(append(text.JSON(line), '\n'))
}

func (c *Console) write(p []byte) {
	if c.err != nil || len(p) == 0 {
		return
	}
	if c.opts.ASCII && c.live != nil {
		p = display.ASCII(p)
	}
	if _, err := c.opts.Out.Write(p); err != nil {
		c.fail(fmt.Errorf("write to the terminal: %w", err))
	}
}

// fail keeps the first error; nothing is written after it.
func (c *Console) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Err returns the first error of writing, nil as long as all went well.
func (c *Console) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Write takes lines that are no events, such as log lines, and shows them above the live part; a line is at least one call.
// With JSON it is an error, because they would be mixed up with the events.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.JSON {
		return 0, errors.New("console: the output is JSON; log lines go elsewhere")
	}
	for l := range bytes.Lines(p) {
		text := display.Safe(string(l))
		if c.live != nil && !c.closed {
			c.live.above = append(c.live.above, line{text, feed.Plain})
			continue
		}
		c.write([]byte(text + "\n"))
	}
	c.wakeUp()
	return len(p), c.err
}

// wakeUp asks for a redraw soon.
func (c *Console) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// notify passes on what a person is to be told.
func (c *Console) notify() {
	c.mu.Lock()
	notices := c.watch.Look(c.view, c.opts.Now())
	bell, drawn := len(notices) > 0 && c.live != nil && c.opts.Bell, c.drawn
	if bell && drawn == nil {
		c.write([]byte{'\a'})
	}
	c.mu.Unlock()
	if bell && drawn != nil {
		drawn(true)
	}
	for _, n := range notices {
		if n.Text = display.Safe(n.Text); c.opts.Notify != nil {
			c.opts.Notify(n)
		}
	}
}

// Summary shows how the run is now, in more lines than the live part has; with JSON on another writer.
func (c *Console) Summary(other io.Writer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	width, _ := c.size()
	now := c.opts.Now()
	s := statusOf(c.view, now, maxLines)
	s.rows, s.room = summaryRows, summaryRows-2
	rows := (&live{}).lines(s, width-1-hang, now) // behind the time
	rows[0] = c.stamp(now) + rows[0]
	switch {
	case c.opts.JSON:
		_, err := io.WriteString(other, strings.Join(rows, "\n")+"\n")
		return err //nolint:wrapcheck // the caller names its writer
	case c.live != nil && !c.closed:
		for _, row := range rows {
			c.live.above = append(c.live.above, line{row, feed.Plain})
		}
		c.wakeUp()
	default:
		c.write([]byte(strings.Join(rows, "\n") + "\n"))
	}
	return c.err
}

// redraw draws when something has changed, and every second for the running times.
func (c *Console) redraw() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-c.wake:
		case <-second.C:
		}
		c.draw()
		c.notify()
		select {
		case <-c.quit:
			return
		case <-time.After(redrawPause):
		}
	}
}

func (c *Console) draw() {
	c.mu.Lock()
	drawn := c.drawn
	c.mu.Unlock()
	if drawn != nil {
		drawn(false)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil || c.paused || c.closed || c.view.Run == "" && len(c.live.above) == 0 {
		return
	}
	width, height := c.size()
	c.counted(c.view.FlushOld(c.opts.Now()))
	c.write(c.live.frame(c.view, width, height, c.opts.Now()))
}

func (c *Console) size() (int, int) {
	w, h := c.opts.Width(), c.opts.Height()
	if w <= 0 {
		w = defaultWidth
	}
	if h <= 0 {
		h = defaultHeight
	}
	return w, h
}
