package console

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
)

// maxPatchLines bounds the lines of patches that are shown with a question.
const maxPatchLines = 200

// Decision is what a person is asked: Text is what is to be decided, Note what else helps, with commands. Choices are answers
// that an agent proposes to its question.
type Decision struct {
	Text, Note string
	Choices    []string
	Patches    []Patch
	Options    []Option
}

// Patch is what the newest attempt of a task has changed, fit for a terminal.
type Patch struct{ Task, Text string }

// Option is a way to answer: what it Does ends a sentence. With Words it is chosen by writing them.
type Option struct {
	Name, Does string
	NeedsText  bool
}

// Answer is the option that was chosen, with its text, for the patch of Task where there are several. Without an option the
// decision stays open.
type Answer struct{ Option, Text, Task string }

// Decide shows a decision and asks, on a line of in. Meanwhile events are taken in, but not drawn. The end of in is no answer.
func (c *Console) Decide(in io.Reader, d Decision) (said Answer, err error) {
	d.Note = c.opts.Calls(d.Note)
	width := c.textWidth()
	return said, c.converse(in, d.text(width), func(words string) (again string) {
		said, again = d.answer(words)
		return wrapPrompt(again, width)
	})
}

// Whole reports whether the text of patches is shown whole with a question.
func Whole(patches ...Patch) bool {
	n := 0
	for _, p := range patches {
		n += strings.Count(p.Text, "\n")
	}
	return n <= maxPatchLines
}

func (d *Decision) text(width int) string {
	var b strings.Builder
	p := planText{b: &b, width: width}
	p.line(0, "")
	p.line(0, "The run waits for "+d.Text)
	left := maxPatchLines
	for _, patch := range d.Patches {
		lines := text.Lines(strings.TrimSuffix(patch.Text, "\n"))
		n := min(left, len(lines))
		p.line(0, "The patch of "+patch.Task+":")
		b.WriteString(strings.Join(lines[:n], "\n") + "\n")
		p.more(0, len(lines)-n, "line")
		left -= n
	}
	for i, choice := range d.Choices {
		p.line(1, fmt.Sprintf("%d: %s", i+1, safe(choice)))
	}
	if d.Note != "" {
		p.line(0, "("+d.Note+")")
	}
	b.WriteString(wrapPrompt(d.prompt(), width))
	return b.String()
}

// wrapPrompt breaks a prompt between words. The answer goes behind its last line.
func wrapPrompt(prompt string, width int) string {
	lines := wrap(prompt, width)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + " "
}

// yes is the option that a yes means: the first one without words; nil for none.
func (d *Decision) yes() *Option {
	at := slices.IndexFunc(d.Options, func(o Option) bool { return !o.NeedsText })
	if at < 0 {
		return nil
	}
	return &d.Options[at]
}

// prompt names the answers.
func (d *Decision) prompt() string {
	yes := d.yes()
	if yes == nil {
		if len(d.Choices) > 0 {
			return "Your answer, or the number of one; Enter leaves it open: "
		}
		return "Your answer; Enter leaves it open: "
	}
	var say []string
	for i := range d.Options {
		switch o := &d.Options[i]; {
		case o == yes:
			say = append(say, "y "+o.Does)
		case !o.NeedsText:
			say = append(say, o.Name+" "+o.Does)
		case len(d.Patches) > 1:
			say = append(say, "the name of a task and a sentence: "+o.Name+" "+o.Does)
		default:
			say = append(say, "a sentence "+o.Does)
		}
	}
	return strings.Join(append(say, "Enter leaves it open: "), "; ")
}

// answer reads a line. One word that is no answer is more likely a slip than a reason.
func (d *Decision) answer(words string) (said Answer, again string) {
	lower := strings.ToLower(words)
	first, rest, sentence := strings.Cut(words, " ")
	first = strings.TrimSuffix(first, ":")
	yes := d.yes()
	takes := slices.IndexFunc(d.Options, func(o Option) bool { return o.NeedsText })
	named := slices.IndexFunc(d.Options, func(o Option) bool { return !o.NeedsText && o.Name == lower })
	switch {
	case words == "":
		return said, ""
	case yes == nil && takes >= 0:
		if n, err := strconv.Atoi(words); err == nil && len(d.Choices) > 0 && !slices.Contains(d.Choices, words) {
			if n < 1 || n > len(d.Choices) {
				return said, fmt.Sprintf("%d is the number of none. %s", n, d.prompt())
			}
			words = d.Choices[n-1]
		}
		return Answer{Option: d.Options[takes].Name, Text: words}, ""
	case yes != nil && (lower == "y" || lower == "yes"):
		return Answer{Option: yes.Name}, ""
	case named >= 0:
		return Answer{Option: d.Options[named].Name}, ""
	case takes < 0:
		return said, fmt.Sprintf("%q is none of the answers. %s", words, d.prompt())
	case !sentence:
		return said, fmt.Sprintf("%q is one word, and more likely a slip than a sentence. %s", words, d.prompt())
	case len(d.Patches) < 2:
		return Answer{Option: d.Options[takes].Name, Text: words}, ""
	case !slices.ContainsFunc(d.Patches, func(p Patch) bool { return p.Task == first }):
		return said, fmt.Sprintf("%s is not one of these tasks. %s", first, d.prompt())
	}
	return Answer{Option: d.Options[takes].Name, Text: strings.TrimSpace(rest), Task: first}, ""
}
