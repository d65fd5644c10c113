package commands

import (
	"bytes"
	"context"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/subagents/tool"
)

// beatEvery is the shortest time between two beats of one command's output.
const beatEvery = 500 * time.Millisecond

// BeatOutput returns what is given each chunk of a command's output, by one goroutine, and beats with its newest line.
func BeatOutput(ctx context.Context) func(chunk []byte) {
	var last time.Time
	return func(chunk []byte) {
		if now := time.Now(); now.Sub(last) >= beatEvery {
			last = now
			tool.Beat(ctx, NewestLine(chunk))
		}
	}
}

// NewestLine is the last line of a chunk that is not empty.
func NewestLine(chunk []byte) string {
	const enough = 1000
	chunk = bytes.TrimSpace(chunk[max(0, len(chunk)-enough):])
	lines := strings.Split(strings.TrimSpace(Plain(string(chunk))), "\n")
	return lines[len(lines)-1]
}

// escape is a terminal sequence: colours, cursor movements, titles.
var escape = lazyregexp.New("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")

// Plain is output without terminal sequences, and of lines that were redrawn only what remained.
func Plain(text string) string {
	text = escape.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.ContainsAny(text, "\r\x00\b") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.NewReplacer("\x00", "", "\b", "").Replace(strings.Join(lines, "\n"))
}
