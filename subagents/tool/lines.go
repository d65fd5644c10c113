package tool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What one look at a text shows.
const (
	maxLines     = 2000
	maxLine      = 2000
	maxLinesText = 36_000 // below maxOutput, so that a view is continued and not cut
)

// binary says whether data is no text: git's own rule.
func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// splitLines takes a text apart without line ends; a line end at the very end begins no new line.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// view shows lines start to end (from 1, end 0 for the last) with their numbers, and says how to see more.
func view(data []byte, start, end int) string {
	lines := splitLines(strings.ToValidUTF8(string(data), "\uFFFD"))
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
		line := numbered(next, lines[next-1], maxLine)
		if b.Len()+len(line) > maxLinesText && next > start {
			break
		}
		b.WriteString(line)
	}
	if start > 1 || next <= len(lines) {
		fmt.Fprintf(&b, "[lines %d to %d of %d", start, next-1, len(lines))
		if next <= end {
			fmt.Fprintf(&b, "; go on with start_line %d", next)
		}
		b.WriteString("]\n")
	}
	if !utf8.Valid(data) {
		b.WriteString("[the file is not UTF-8: some characters are shown as \uFFFD]\n")
	}
	if crlf := bytes.Count(data, []byte("\r\n")); crlf > 0 && crlf >= bytes.Count(data, []byte("\n"))/2 {
		b.WriteString("[lines end with CRLF, which edit_file keeps]\n")
	}
	return b.String()
}

// numbered writes one line with its number, cut where it is too long.
func numbered(n int, line string, most int) string {
	if utf8.RuneCountInString(line) > most {
		runes := []rune(line)
		line = fmt.Sprintf("%s… [%d more characters]", string(runes[:most]), len(runes)-most)
	}
	return fmt.Sprintf("%6d\t%s\n", n, line)
}
