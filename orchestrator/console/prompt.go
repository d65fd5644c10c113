package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"divisi/orchestrator/console/display"
)

// settle is between a question and its prompt: what is typed before the prompt answers something else, or is a second tap.
const settle = 300 * time.Millisecond

// A terminal puts these around what is pasted, between the two modes.
const (
	pasteOn, pasteOff     = "\x1b[?2004h", "\x1b[?2004l"
	pasteBegin, pasteEnds = "\x1b[200~", "\x1b[201~"
)

// lines reads lines when they are asked for. A read cannot be broken off: one that a question has left is for the next question.
type lines struct {
	in *bufio.Reader
	// read has the line that is being read; nil while none is.
	read chan said
}

type said struct {
	words string
	err   error
}

// next reads a line; the error is io.EOF at the end of in, or the cause of the end of ctx.
func (l *lines) next(ctx context.Context, in io.Reader) (string, error) {
	if l.in == nil {
		l.in = bufio.NewReader(in)
	}
	if l.read == nil {
		read := make(chan said, 1)
		l.read = read
		go func() {
			words, err := l.in.ReadString('\n')
			if err == io.EOF && words != "" {
				err = nil
			}
			read <- said{strings.TrimRight(words, "\r\n"), err}
		}()
	}
	select {
	case s := <-l.read:
		l.read = nil
		return s.words, s.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// drop leaves out what was typed before now.
func (l *lines) drop(rest func()) {
	rest()
	select {
	case <-l.read:
		l.read = nil
	default:
	}
	if l.in != nil && l.read == nil {
		_, _ = l.in.Discard(l.in.Buffered()) // which is there
	}
}

// converse shows a text below the lines above, and gives each line of in to reply until that has nothing more to ask, or in ends.
// The end of ctx is its cause, as an error.
func (c *Console) converse(
	ctx context.Context, in io.Reader, shown, prompt string, reply func(words string) (again string),
) error {
	if err := c.pause(shown); err != nil {
		return err
	}
	defer c.resume()
	for prompt != "" {
		if err := c.ready(ctx, prompt); err != nil {
			return err
		}
		words, err := c.typed.next(ctx, in)
		c.prompt(c.when(pasteOff))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			c.prompt(ended(err))
			return err
		}
		if !pasted(&words) {
			prompt = reply(display.Safe(words))
			continue
		}
		if !strings.HasPrefix(prompt, notPasted) {
			prompt = notPasted + prompt
		}
	}
	return nil
}

// ended ends the line of a prompt, with why nothing is asked any more.
func ended(why error) string {
	if errors.Is(why, context.Canceled) || errors.Is(why, context.DeadlineExceeded) {
		return "\n"
	}
	return "\n" + display.Safe(why.Error()) + "\n"
}

const notPasted = "A line that was pasted with its end is no answer. "

// pasted reports whether the Enter behind a line was pasted, and removes the marks of what was.
func pasted(words *string) bool {
	open := strings.LastIndex(*words, pasteBegin) > strings.LastIndex(*words, pasteEnds)
	*words = strings.NewReplacer(pasteBegin, "", pasteEnds, "").Replace(*words)
	return open
}

// ready writes a prompt. On a terminal it stands there only when a person had the time to see what it is about, and nothing that
// was typed before is read.
func (c *Console) ready(ctx context.Context, prompt string) error {
	if c.opts.Drop != nil {
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			c.prompt(ended(context.Cause(ctx)))
			return context.Cause(ctx)
		}
		c.typed.drop(c.opts.Drop)
	}
	c.prompt(prompt + c.when(pasteOn))
	return nil
}

// when is a mode of the terminal that is read; "" where none is.
func (c *Console) when(mode string) string {
	if c.opts.Drop == nil {
		return ""
	}
	return mode
}

// What a person does about an answer that the run holds back.
const (
	Undo = "undo"
	Now  = "now"
)

// Held asks, for as long as the run holds an answer back, what becomes of it; "" leaves it held.
func (c *Console) Held(ctx context.Context, in io.Reader, wait time.Duration) (does string, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	prompt := fmt.Sprintf("Held back for %d seconds. u takes it back; Enter has it done now: ", int(wait.Seconds()))
	err = c.converse(ctx, in, "", prompt, func(words string) string {
		switch strings.ToLower(words) {
		case "":
			does = Now
		case "u", Undo:
			does = Undo
		default:
			return prompt
		}
		return ""
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return does, err
}
