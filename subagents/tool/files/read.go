package files

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"divisi/internal/text"
	"divisi/internal/textfile"
	"divisi/subagents/tool"
)

// The bounds of one view of a file.
const (
	maxLines     = 2000
	maxLine      = 2000
	maxLinesText = 36_000 // below what the guard cuts, so that a view is continued and not cut
)

type readArgs struct {
	Path  string `json:"path"`
	Start int    `json:"start_line,omitempty" jsonschema:"from 1"`
	End   int    `json:"end_line,omitempty"`
}

// Doing describes the call.
func (a readArgs) Doing() string { return "reading " + a.Path }

func (t *tree) readFile(_ context.Context, a readArgs) tool.Result {
	data, err := t.read(a.Path, maxFile)
	if err != nil {
		return tool.Failed("%s", err)
	}
	f, ok := textfile.Read(data)
	if !ok {
		return tool.Failed("%s is a binary file of %d bytes and cannot be shown: use run_command with a program that reads it",
			a.Path, len(data))
	}
	return tool.Text(view(f, a.Start, a.End))
}

// view shows lines start to end (from 1, end 0 for the last) with their numbers, and reports how to see more.
func view(f *textfile.File, start, end int) string {
	lines := text.Lines(text.Valid(string(f.Text)))
	if len(lines) == 0 {
		return "[the file is empty]"
	}
	start = max(1, start)
	if end <= 0 || end > len(lines) {
		end = len(lines)
	}
	if start > len(lines) {
		return fmt.Sprintf("[there are only %d lines]", len(lines))
	}
	if start > end {
		return fmt.Sprintf("[start_line %d is behind end_line %d]", start, end)
	}
	var b strings.Builder
	next := start
	for ; next <= end && next < start+maxLines; next++ {
		line := text.Numbered(next, lines[next-1], maxLine)
		if b.Len()+len(line) > maxLinesText && next > start {
			break
		}
		b.WriteString(line)
	}
	if start > 1 || next <= len(lines) {
		fmt.Fprintf(&b, "[lines %d to %d of %d", start, next-1, len(lines))
		if next <= end {
			fmt.Fprintf(&b, "; continue with start_line %d", next)
		}
		b.WriteString("]\n")
	}
	if !utf8.Valid(f.Text) {
		b.WriteString("[the file is not UTF-8: some characters are shown as \uFFFD]\n")
	}
	if form := f.Form(); form != "" {
		fmt.Fprintf(&b, "[the file has %s, which edit_file and write_file keep]\n", form)
	}
	return b.String()
}
