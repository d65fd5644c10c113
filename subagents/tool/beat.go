package tool

import (
	"bytes"
	"context"
	"strings"
	"time"
)

// beatEvery is the shortest time between two beats of one command's output.
const beatEvery = 500 * time.Millisecond

type beatKey struct{}

// WithBeat returns a context in which Beat calls heard, from whichever goroutines the tools use; it must return at once.
func WithBeat(ctx context.Context, heard func(note string)) context.Context {
	return context.WithValue(ctx, beatKey{}, heard)
}

// Beat says that a tool that takes long goes on, and in a few words where it is. Where nobody listens it does nothing.
func Beat(ctx context.Context, note string) {
	if heard, ok := ctx.Value(beatKey{}).(func(string)); ok {
		heard(short(printable(note), 120))
	}
}

// BeatOutput returns what is given each chunk of a command's output, by one goroutine, and beats with its newest line.
func BeatOutput(ctx context.Context) func(chunk []byte) {
	var last time.Time
	return func(chunk []byte) {
		if now := time.Now(); now.Sub(last) >= beatEvery {
			last = now
			Beat(ctx, newestLine(chunk))
		}
	}
}

// newestLine is the last line of a chunk that says something.
func newestLine(chunk []byte) string {
	const enough = 1000
	chunk = bytes.TrimSpace(chunk[max(0, len(chunk)-enough):])
	lines := strings.Split(strings.TrimSpace(plain(string(chunk))), "\n")
	return lines[len(lines)-1]
}
