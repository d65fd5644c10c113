package doctor

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate/ci"
	"divisi/subagents/gate/detect"
)

// CI are the commands that the repository's continuous integration runs.
type CI struct {
	// Errors are why some of its files, or parts of them, could not be read.
	Errors   []error
	found    *ci.Found
	commands []ci.Judged
	offers   []*ci.Judged // those that could be gates
}

func newCI(found *ci.Found, gates []spec.Gate, services []spec.Service) CI {
	c := CI{
		Errors: found.Errors, found: found,
		commands: found.Judge(ci.Facts{Gates: gates, Services: services, Has: detect.Installed}),
	}
	for i := range c.commands {
		if c.commands[i].State == ci.Open {
			c.offers = append(c.offers, &c.commands[i])
		}
	}
	for i := range c.commands {
		for _, other := range c.commands[i].OnVersions(detect.Installed) {
			c.offers = append(c.offers, &ci.Judged{Command: other, State: ci.Open})
		}
	}
	return c
}

// maxCovered is how many commands that cannot become gates a table has.
const maxCovered = 5

// Offers is how many commands could be gates and are none.
func (c *CI) Offers() int { return len(c.offers) }

// Lines are the table of the commands, those that could be gates with their numbers; none where CI has no commands.
func (c *CI) Lines() (lines []string) {
	if len(c.commands) == 0 {
		return nil
	}
	lines = append(lines, "Gates run "+ci.Share(c.commands)+":")
	for i := range c.commands {
		if c.commands[i].State != ci.Open {
			lines = append(lines, "    "+c.commands[i].String())
		}
	}
	if more := len(lines) - 1 - maxCovered; more > 1 {
		lines = append(lines[:maxCovered+1], fmt.Sprintf("    and %d more, which the project file has", more))
	}
	for i, j := range c.offers {
		lines = append(lines, fmt.Sprintf("%3d %s", i+1, j))
	}
	return lines
}

// file is the part of the project file about the commands: those that could be gates are left out, or gates that prove nothing.
func (c *CI) file(tried map[string]detect.Tried) string {
	if len(c.commands) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n# What CI runs; gates run %s.\n", ci.Share(c.commands))
	skip := ""
	for i := range c.commands {
		j := &c.commands[i]
		if out := tried[j.Note].Out && j.State == ci.Gate; j.State == ci.Open || out {
			skip += fmt.Sprintf("    - %s # %s:%d\n", text.Scalar(j.Name()), text.OneLine(j.File), j.Line)
			continue
		}
		fmt.Fprintf(&b, "#   %s\n", j)
	}
	if skip == "" {
		return b.String() + "ci: {skip: []}\n"
	}
	return b.String() + "# Left out: to have one prove changes, make it a gate, and take it away here.\nci:\n  skip:\n" + skip
}
