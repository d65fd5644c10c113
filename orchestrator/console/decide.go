package console

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// maxPatchLines bounds the lines of patches that are shown with a question, maxEvidence those of evidence about several.
const (
	maxPatchLines = 200
	maxEvidence   = 20
)

// whole is the word that shows all of a question about several patches.
const whole = "all"

// Asked is a decision as a person is asked about it: the diffs of its patches are fit for a terminal, and Note is what else
// helps, with commands.
type Asked struct {
	view.Decision

	Note string
	// Elsewhere are ways that a command of its own takes, while the decision stays open.
	Elsewhere []Elsewhere
	// enter is the meaning of an empty line; "" leaves the decision open.
	enter string
	// why is the option that was chosen and whose text is asked for; nil for none.
	why *view.Option
}

// Elsewhere is a way that a command takes.
type Elsewhere struct{ Name, Does, Command string }

// Decide shows a decision and asks, on a line of in. Meanwhile events are taken in, but not drawn. The end of in is no answer.
func (c *Console) Decide(ctx context.Context, in io.Reader, d Asked) (said act.Decide, err error) {
	d.Note = c.opts.Calls(d.Note)
	d.Elsewhere = slices.Clone(d.Elsewhere)
	for i := range d.Elsewhere {
		d.Elsewhere[i].Command = c.opts.Calls(d.Elsewhere[i].Command)
	}
	width := c.textWidth()
	prompt := wrapPrompt(d.prompt(), width)
	return said, c.converse(ctx, in, c.outlook(nil)+d.text(width, false), prompt, func(words string) (again string) {
		if words == whole && d.several() {
			return d.text(width, true) + prompt
		}
		said, again = d.answer(words)
		return wrapPrompt(again, width)
	})
}

// Whole reports whether the text of patches is shown whole with a question.
func Whole(patches ...view.Patch) bool {
	n := 0
	for _, p := range patches {
		n += strings.Count(p.Diff, "\n")
	}
	return n <= maxPatchLines
}

// Group reports whether one reason may be for all of its patches.
func (d *Asked) Group() bool { return d.several() && d.Template != "" }

// several reports whether the decision is about the patches of several tasks, and of none before the others.
func (d *Asked) several() bool { return d.About == "" && len(d.Patches) > 1 }

// text is the question with the evidence first. Of several patches it has the first one, unless all is set.
func (d *Asked) text(width int, all bool) string {
	var b strings.Builder
	p := planText{b: &b, width: width}
	p.line(0, "")
	p.line(0, "The run waits for "+d.Text)
	if d.About == "" && len(d.Patches) > 0 {
		n := min(maxEvidence, len(d.Evidence))
		if all {
			n = len(d.Evidence)
		}
		for _, line := range d.Evidence[:n] {
			p.line(1, display.Safe(line))
		}
		p.more(1, len(d.Evidence)-n, "line")
	}
	left := maxPatchLines
	for i, patch := range d.Patches {
		if d.several() && !all && i > 0 {
			p.more(0, len(d.Patches)-i, "patch")
			break
		}
		lines := text.Lines(strings.TrimSuffix(patch.Diff, "\n"))
		n := min(left, len(lines))
		if all {
			n = len(lines)
		}
		p.line(0, "The patch of "+patch.Task+":")
		b.WriteString(strings.Join(lines[:n], "\n") + "\n")
		p.more(0, len(lines)-n, "line")
		left -= n
	}
	for i, choice := range d.Choices {
		p.line(1, fmt.Sprintf("%d: %s", i+1, display.Safe(choice)))
	}
	if d.yes() != nil {
		d.ways(&p)
	}
	if d.Note != "" {
		p.line(0, "("+d.Note+")")
	}
	return b.String()
}

// ways writes the numbered options.
func (d *Asked) ways(p *planText) {
	for i, o := range d.Options {
		p.line(1, fmt.Sprintf("%d %s: %s", i+1, o.Name, o.Does))
	}
	for i, o := range d.Elsewhere {
		p.line(1, fmt.Sprintf("%d %s: %s", len(d.Options)+i+1, o.Name, o.Does))
	}
}

// wrapPrompt breaks a prompt between words. The answer goes behind its last line.
func wrapPrompt(prompt string, width int) string {
	lines := display.Wrap(prompt, width)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + " "
}

// yes is the option that a yes means: the first one without words; nil for none.
func (d *Asked) yes() *view.Option {
	at := slices.IndexFunc(d.Options, func(o view.Option) bool { return !o.NeedsText })
	if at < 0 {
		return nil
	}
	return &d.Options[at]
}

// prompt names the answers.
func (d *Asked) prompt() string {
	yes := d.yes()
	if yes == nil {
		if len(d.Choices) > 0 {
			return "Your answer, or the number of one; " + d.empty()
		}
		return "Your answer; " + d.empty()
	}
	last := len(d.Options) + len(d.Elsewhere)
	say := fmt.Sprintf("1 to %d, or the word", last)
	if takes := d.takes(); takes != nil {
		say += "; a sentence means " + takes.Name
		if len(d.Patches) > 1 {
			say += ", behind the name of its task"
		}
		if d.Group() {
			say += " or for all"
		}
	}
	if d.several() {
		say += "; " + whole + " shows each patch"
	}
	return say + "; " + d.empty()
}

// empty ends a prompt with what an empty line does.
func (d *Asked) empty() string { return "Enter " + cmp.Or(d.enter, "leaves it open") + ": " }

// takes is the option that a sentence means; nil for none.
func (d *Asked) takes() *view.Option {
	at := slices.IndexFunc(d.Options, func(o view.Option) bool { return o.NeedsText })
	if at < 0 {
		return nil
	}
	return &d.Options[at]
}

// answer reads a line. One word that is no answer is more likely a slip than a reason.
func (d *Asked) answer(words string) (said act.Decide, again string) {
	lower := strings.ToLower(words)
	yes, takes := d.yes(), d.takes()
	at := d.named(lower)
	switch {
	case words == "":
		return said, ""
	case yes == nil && takes != nil:
		return d.reply(takes, words)
	case d.why != nil:
		return d.sentence(d.why, words)
	case lower == "y" || lower == "yes":
		return act.Decide{Option: yes.Name}, ""
	case at >= len(d.Options):
		e := d.Elsewhere[at-len(d.Options)]
		return said, fmt.Sprintf("To %s, leave it open and run: %s. %s", e.Name, e.Command, d.prompt())
	case at >= 0 && d.Options[at].NeedsText:
		d.why = &d.Options[at]
		if len(d.Patches) > 1 && !d.Group() {
			return said, whichTask
		}
		if d.why.Name == view.Change {
			return said, "What is to change, in words? " + d.empty()
		}
		return said, "Why, in words? " + d.empty()
	case at >= 0:
		return act.Decide{Option: d.Options[at].Name}, ""
	case takes == nil:
		return said, fmt.Sprintf("%q is none of the answers. %s", words, d.prompt())
	case !strings.Contains(words, " "):
		return said, fmt.Sprintf("%q is none of the answers, and one word is no sentence. %s", words, d.prompt())
	}
	return d.sentence(takes, words)
}

// whichTask asks for the text of an option where there are several patches.
const whichTask = "Which task, and why? Enter leaves it open: "

// named is the place of the option, among all ways, that a number or a word names; -1 for none.
func (d *Asked) named(word string) int {
	var names []string
	for _, o := range d.Options {
		names = append(names, o.Name)
	}
	for _, e := range d.Elsewhere {
		names = append(names, e.Name)
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(names) {
		return n - 1
	}
	return slices.Index(names, word)
}

// reply answers a question, in words or by the number of a proposed answer.
func (d *Asked) reply(takes *view.Option, words string) (said act.Decide, again string) {
	if n, err := strconv.Atoi(words); err == nil && len(d.Choices) > 0 && !slices.Contains(d.Choices, words) {
		if n < 1 || n > len(d.Choices) {
			return said, fmt.Sprintf("%d is the number of none. %s", n, d.prompt())
		}
		words = d.Choices[n-1]
	}
	return act.Decide{Option: takes.Name, Text: words}, ""
}

// sentence is an option with its text; where there are several patches it begins with the name of a task.
func (d *Asked) sentence(o *view.Option, words string) (said act.Decide, again string) {
	if len(d.Patches) < 2 {
		return act.Decide{Option: o.Name, Text: words}, ""
	}
	first, rest, _ := strings.Cut(words, " ")
	first, rest = strings.TrimSuffix(first, ":"), strings.TrimSpace(rest)
	ask := d.prompt()
	if d.why != nil {
		ask = whichTask
	}
	switch named := slices.ContainsFunc(d.Patches, func(p view.Patch) bool { return p.Task == first }); {
	case !named && d.Group():
		return act.Decide{Option: o.Name, Text: words}, ""
	case !named:
		return said, fmt.Sprintf("%s is not one of these tasks. %s", first, ask)
	case rest == "":
		return said, fmt.Sprintf("No reason is behind the name of %s. %s", first, ask)
	}
	return act.Decide{Option: o.Name, Text: rest, Task: first}, ""
}

// Patched are the patches of decisions, with their files.
func Patched(all []view.Decision) (out []string) {
	for i := range all {
		for _, p := range all[i].Patches {
			out = append(out, p.Task+": "+display.Sanitize(strings.Join(p.Files, ", ")))
		}
	}
	return out
}
