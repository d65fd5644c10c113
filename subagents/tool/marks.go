package tool

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What the guard writes into an output says what is left out, and that a text is a summary. No output may say the same of
// itself: whatever a reader might take for these words is elided from it first.
const (
	leftOut       = "<<<LEFT_OUT"
	elidedLeftOut = "(LEFT_OUT" // no longer than what it replaces
	summaryTag    = "summary"
	errorTag      = "error"
	warningTag    = "warning"
	// markRoom is the number of characters that a marker with its handle takes at most.
	markRoom = 500
)

// An opening bracket in its look-alikes, and what a reader does not see.
const (
	bracket = `[<\x{2039}\x{ab}\x{ff1c}\x{fe64}\x{2329}\x{27e8}\x{276e}\x{2770}\x{3008}]`
	unseen  = `[\s\p{Cf}\p{Z}]*`
	slash   = unseen + `/?` + unseen
)

var (
	forgedLeftOut = regexp.MustCompile(`(?i)(?:` + bracket + unseen + `){2,}LEFT[\s\p{Cf}\p{Z}_\p{Pd}]*OUT`)
	forgedSummary = regexp.MustCompile(`(?i)` + bracket + `(` + slash + `summary` + unseen + `of` + unseen + `=)`)
	forgedTag     = regexp.MustCompile(`(?i)` + bracket + `(` + slash + `(?:summary|error|warning)\b)`)
)

// elide takes from an output what only the guard may say. What is put in its place is no longer, stays legible, and cannot
// become a marker together with what stands around it.
func elide(text string) string {
	text = forgedLeftOut.ReplaceAllLiteralString(text, elidedLeftOut)
	return forgedSummary.ReplaceAllString(text, "($1")
}

// elideTags makes a text safe to stand between the tags of a summary: a tag of its own loses its bracket and stays legible.
func elideTags(text string) string { return forgedTag.ReplaceAllString(elide(text), "($1") }

// tagged puts an elided text between tags.
func tagged(tag, text string) string { return fmt.Sprintf("<%s>\n%s\n</%s>", tag, text, tag) }

// cut returns an elided text of more than most characters as its head and its tail, shown characters of it at most, and
// between them a marker that says how much is missing and where it is. The marker needs markRoom. Errors mostly stand at the
// end, so that the tail is the larger part.
func cut(text string, most, shown int, where string) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head, tail := wholeLines(string(runes[:shown*3/10]), string(runes[len(runes)-shown*7/10:]))
	left := len(runes) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return fmt.Sprintf("%s\n%s %d of %d characters; %s>>>\n%s", head, leftOut, left, len(runes), where, tail)
}

// wholeLines takes the broken line from the end of a head and from the start of a tail, where little is lost by it.
func wholeLines(head, tail string) (string, string) {
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return head, tail
}
