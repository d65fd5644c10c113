package sandbox

import (
	"fmt"
	"io"
	"time"

	"divisi/internal/egress"
)

// Output is how a command ended. A program that failed, was killed or ran out of time is data here, not an error.
type Output struct {
	// ExitCode is -1 when a signal ended the command; Signal names it then ("killed", "terminated").
	ExitCode int
	Signal   string
	// TimedOut and Cancelled report why this package ended it: its Timeout, or the context.
	TimedOut  bool
	Cancelled bool
	// OutOfMemory reports whether it was killed because its processes together used more than MaxMemory.
	OutOfMemory bool
	// OverDisk is the cause of a kill when the commands of an attempt wrote more than they may; see Disk.
	OverDisk *Excess
	// Refused are hosts to which the command tried to connect and must not, as it named them.
	Refused []*egress.RefusedError
	// Network is the command's use of the network. A command that had it without Divisi's proxy may have asked.
	Network egress.Use
	// Head and Tail are the first and last bytes of stdout and stderr, in the order written; Omitted bytes lie between.
	Head    []byte
	Tail    []byte
	Omitted int64
	// SinkErr is the sink's first error; SinkOmitted counts the bytes that the sink was not given.
	SinkErr     error
	SinkOmitted int64
	Duration    time.Duration
}

// Success reports whether the command exited with 0 by itself.
func (o *Output) Success() bool {
	return o.ExitCode == 0 && !o.TimedOut && !o.Cancelled && o.Exceeded() == ""
}

// Exceeded is the bound that the command was killed for; empty where there was none.
func (o *Output) Exceeded() string {
	switch {
	case o.OutOfMemory:
		return "its processes together used more memory than a command may"
	case o.OverDisk != nil:
		return o.OverDisk.String()
	}
	return ""
}

// Text is the kept output as one string; a line between head and tail reports how much is missing.
func (o *Output) Text() string {
	if o.Omitted == 0 {
		return string(o.Head) + string(o.Tail)
	}
	return fmt.Sprintf("%s\n[... %d bytes omitted ...]\n%s", o.Head, o.Omitted, o.Tail)
}

// collector keeps the head and the tail of a stream in bounded memory and passes all of it on. One goroutine writes.
type collector struct {
	half     int
	head     []byte
	ring     []byte
	total    int64
	onOutput func([]byte)
	sink     io.Writer
	sinkLeft int64
	sinkErr  error
	sinkLost int64
}

func newCollector(c Command) *collector {
	return &collector{half: (c.MaxOutput + 1) / 2, onOutput: c.OnOutput, sink: c.Sink, sinkLeft: c.MaxSink}
}

// Write never fails: a command must not die of a closed pipe because of what listens to it.
func (c *collector) Write(p []byte) (int, error) {
	c.onOutput(p)
	c.drain(p)
	rest := p
	if room := c.half - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	c.keepTail(rest)
	c.total += int64(len(p))
	return len(p), nil
}

// keepTail appends; it lets the buffer grow to twice its bound, so that moving costs little on the average.
func (c *collector) keepTail(p []byte) {
	if len(p) >= c.half {
		c.ring = append(c.ring[:0], p[len(p)-c.half:]...)
		return
	}
	if len(c.ring)+len(p) > 2*c.half {
		n := copy(c.ring, c.ring[len(c.ring)-c.half:])
		c.ring = c.ring[:n]
	}
	c.ring = append(c.ring, p...)
}

func (c *collector) drain(p []byte) {
	if c.sink == nil {
		return
	}
	n := int64(0)
	if c.sinkErr == nil {
		n = min(c.sinkLeft, int64(len(p)))
	}
	if n > 0 {
		if _, err := c.sink.Write(p[:n]); err != nil {
			c.sinkErr, n = err, 0
		}
	}
	c.sinkLeft -= n
	c.sinkLost += int64(len(p)) - n
}

func (c *collector) fill(out *Output) {
	tail := c.ring
	if len(tail) > c.half {
		tail = tail[len(tail)-c.half:]
	}
	out.Head, out.Tail = c.head, tail
	out.Omitted = c.total - int64(len(c.head)+len(tail))
	out.SinkErr, out.SinkOmitted = c.sinkErr, c.sinkLost
}
