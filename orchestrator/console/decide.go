package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"divisi/internal/text"
)

// maxPatchLines bounds the lines of patches that are shown with a question.
const maxPatchLines = 200

// Matter is what only a person can decide: For is what the run waits for, Ways the commands that answer it later. Without Accepts
// only words are an answer.
type Matter struct {
	For, Ways string
	Patches   []Patch
	Accepts   bool
}

// Patch is what the newest attempt of a task has changed, fit for a terminal.
type Patch struct{ Task, Text string }

// Ruling is the answer: Yes, or Words, which reject the patch of Task where there are several. Without them it stays open.
type Ruling struct {
	Yes         bool
	Words, Task string
}

// Decide shows a matter and asks, on a line of in. Meanwhile events are taken in, but not drawn. The end of in is no answer.
func (c *Console) Decide(in io.Reader, m Matter) (said Ruling, err error) {
	m.Ways = c.opts.Calls(m.Ways)
	return said, c.converse(in, m.text(c.textWidth()), func(words string) (again string) {
		said, again = m.answer(words)
		return again
	})
}

func (m *Matter) text(width int) string {
	p := planText{width: width}
	p.line(0, "")
	p.line(0, "The run waits for "+m.For)
	left := maxPatchLines
	for _, patch := range m.Patches {
		lines := text.Lines(strings.TrimSuffix(patch.Text, "\n"))
		n := min(left, len(lines))
		p.line(0, "The patch of "+patch.Task+":")
		p.b.WriteString(strings.Join(lines[:n], "\n") + "\n")
		p.more(0, len(lines)-n, "line")
		left -= n
	}
	p.line(0, "("+m.Ways+")")
	p.b.WriteString(m.prompt())
	return p.b.String()
}

// prompt names the answers.
func (m *Matter) prompt() string {
	var say string
	switch {
	case !m.Accepts:
		say = "Your answer"
	case len(m.Patches) == 0:
		say = "y lets the tasks go on; a sentence ends their brief, and they begin again"
	case len(m.Patches) == 1:
		say = "y lets the patch go on; a sentence rejects it, and the next attempt gets the sentence"
	default:
		say = "y lets all of them go on; the name of a task and a sentence reject its patch"
	}
	return say + "; Enter leaves it for later: "
}

// answer reads a line. One word that is no yes is more likely a slip than a reason.
func (m *Matter) answer(words string) (said Ruling, again string) {
	lower := strings.ToLower(words)
	first, rest, sentence := strings.Cut(words, " ")
	first = strings.TrimSuffix(first, ":")
	switch {
	case words == "":
		return said, ""
	case !m.Accepts:
		return Ruling{Words: words}, ""
	case lower == "y" || lower == "yes":
		return Ruling{Yes: true}, ""
	case !sentence:
		return said, m.prompt()
	case len(m.Patches) < 2:
		return Ruling{Words: words}, ""
	case !slices.ContainsFunc(m.Patches, func(p Patch) bool { return p.Task == first }):
		return said, fmt.Sprintf("%s is not one of these tasks. %s", first, m.prompt())
	}
	return Ruling{Words: strings.TrimSpace(rest), Task: first}, ""
}
