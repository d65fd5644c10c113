// Package text has the small helpers for text that other packages share. They keep text valid UTF-8 and bounded.
package text

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("\n… %d bytes more", len(s)-most)
}

// Line is the first line of a text that says something, bounded.
func Line(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			return Clip(l, MaxLine)
		}
	}
	return ""
}

// MaxLine bounds a line, in bytes.
const MaxLine = 300

// Clip cuts a text in bytes, between characters.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Tail cuts a text to its last bytes, between characters.
func Tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-most:], "")
}

// Quote returns a value as bounded JSON: words of an agent then cannot pass for the conductor's own.
func Quote(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return bounded(string(data), maxQuoted)
}

// maxQuoted bounds, in bytes, what a master is told of one task.
const maxQuoted = 8 << 10
