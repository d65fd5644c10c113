package publish

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// maxTitle bounds the title of a pull request, in runes.
const maxTitle = 100

// skips are words by which a title or message keeps CI from starting.
var skips = lazyregexp.New(`(?i)\[[^\[\]]*\b(skip|no)\b[^\[\]]*\]|skip-checks:\s*true|\*\*\*NO_CI\*\*\*`)

// Title is a foreign text as a title: one line, which steers no CI and mentions no account.
func Title(foreign string) string {
	line := text.OneLine(foreign)
	for had := ""; had != line; {
		had, line = line, skips.ReplaceAllString(line, "")
	}
	return quiet(text.Runes(strings.Join(strings.Fields(line), " "), maxTitle))
}

// SkipsCI reports whether a message keeps CI from starting.
func SkipsCI(message string) bool { return skips.MatchString(message) }

// quiet keeps a foreign text from mentioning accounts, and from linking and closing issues: it puts a mark without width behind
// what a forge reads as the beginning of these.
func quiet(s string) string { return calls.ReplaceAllString(s, "$0\u200b") }

var calls = lazyregexp.New(`[@#]|(?i)\bGH-|:/`)

// Code shows a foreign text in a line, as code: nothing in it is read as anything else.
func Code(s string) string {
	if s = text.OneLine(text.Short(s, maxCode)); s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}

// Fenced shows a foreign text as a block that it cannot end, and that no line of it is too long for.
func Fenced(kind, s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	var b strings.Builder
	for _, line := range text.Lines(s) {
		b.WriteString(text.Clip(line, maxCode) + "\n")
	}
	return fence + kind + "\n" + b.String() + fence + "\n"
}

// maxCode bounds a foreign line.
const maxCode = 300

// mark begins the line that tells of a text that no person has changed it. It is hidden, and advice only.
const mark = "\n\n<!-- divisi: text by divisi, digest "

// Signed is a body with its mark.
func Signed(title, body string) string {
	return body + mark + digest(title, body) + " -->"
}

// Unchanged reports whether a text is as Signed made it, or has nothing to lose.
func Unchanged(title, body string) bool {
	body = plain(body)
	at := strings.LastIndex(body, mark)
	if at < 0 {
		return body == ""
	}
	return strings.TrimSpace(body[at+len(mark):]) == digest(title, body[:at])+" -->"
}

// plain is a text without what forges change in it.
func plain(body string) string { return strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n")) }

func digest(title, body string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(title+"\n"+plain(body))))[:16]
}
