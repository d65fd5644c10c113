// Package text holds the small functions on text that several packages need: bounding it, putting it on one line, quoting,
// counting and listing. Its input and output are strings. It never knows what a text means, and adds no more than an
// ellipsis or a count.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"divisi/internal/lazyregexp"
)

// Short bounds a text in characters; an ellipsis, which counts, is put where something is gone.
func Short(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return Runes(s, most-1) + "…"
}

// Runes returns at most so many characters of the beginning of a text.
func Runes(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i]
		}
		most--
	}
	return s
}

// Head returns at most so many bytes of the beginning of a text, in whole characters.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most = max(most, 0); most > 0 && !utf8.RuneStart(s[most]); {
		most--
	}
	return s[:most]
}

// HeadLines returns at most so many bytes of the beginning of a text, up to the end of a line where there is one.
func HeadLines(s string, most int) string {
	head := Head(s, most)
	if end := strings.LastIndexByte(head, '\n'); end > 0 && len(head) < len(s) {
		return head[:end+1]
	}
	return head
}

// End returns at most so many bytes of the end of a text, in whole characters.
func End(s string, most int) string {
	from := max(len(s)-max(most, 0), 0)
	for from < len(s) && from > 0 && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

// Valid replaces what is no UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Hidden reports whether a character is not seen as itself: controls, formats (which change the direction of text or are
// invisible), variation selectors, private use and what is not assigned. White space is hidden too, but for the blank.
func Hidden(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// JSON writes as escapes what a terminal would obey or not show of a JSON text: controls of the upper half and characters that
// change the direction of text. Who reads the JSON finds the same strings.
func JSON(data []byte) []byte {
	if utf8.Valid(data) && !bytes.ContainsFunc(data, obeyed) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case !obeyed(r) && (r != utf8.RuneError || n > 1):
			out = append(out, data[:n]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[n:]
	}
	return out
}

// obeyed reports whether a character of JSON is hidden. JSON itself lets no control of the lower half through.
func obeyed(r rune) bool { return r >= 0x7f && Hidden(r) }

// OneLine makes a foreign text one line: valid UTF-8, no control or invisible characters, single blanks.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(Valid(s), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

// Lines splits a text into lines without their ends; a line end at the very end begins no new line.
func Lines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// Binary reports whether data is no text, by git's own rule.
func Binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// Count writes a number with its noun: 1 file, 2 files, 2 batches.
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Some lists the first few, and counts the others.
func Some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// Few returns the first few of a list, and how many more there are as a last entry. It does not change the list.
func Few(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}

// Cut bounds a line in characters, and counts those that are gone.
func Cut(line string, most int) string {
	if size := utf8.RuneCountInString(line); size > most {
		return fmt.Sprintf("%s… [%d more characters]", Runes(line, most), size-most)
	}
	return line
}

// Numbered writes a line with its number, cut where it has more than so many characters.
func Numbered(n int, line string, most int) string {
	return fmt.Sprintf("%6d\t%s\n", n, Cut(line, most))
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
	return Head(text, most) + "…"
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

// Shell quotes a word for a shell where it needs it.
func Shell(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"$`\\&|;<>()*?[]{}!#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CommandLine writes a command as a person would type it.
func CommandLine(command []string) string {
	out := make([]string, len(command))
	for i, arg := range command {
		out[i] = Shell(arg)
	}
	return strings.Join(out, " ")
}

// maxQuoted bounds, in bytes, what a master is told of one task.
const maxQuoted = 8 << 10

func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Head(s, most) + fmt.Sprintf("\n… %d bytes more", len(s)-most)
}

// Flow writes a command as a YAML list on one line.
func Flow(command []string) string {
	out := make([]string, len(command))
	for i, arg := range command {
		out[i] = Scalar(arg)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Scalar writes one string of YAML, as it can be in a list on one line too.
func Scalar(s string) string {
	switch {
	case flowWord.MatchString(s) && !slices.Contains(flowValues, strings.ToLower(s)):
		return s
	case !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return strconv.Quote(s)
}

// flowValues are words that YAML takes as another value than a string.
var flowValues = strings.Fields(`true false yes no on off null y n`)

// flowWord matches what YAML takes as a string without quotes, whatever stands around it.
var flowWord = lazyregexp.New(`^[A-Za-z_/][A-Za-z0-9_./=+-]*$|^--?[A-Za-z][A-Za-z0-9_./=+-]*$`)
