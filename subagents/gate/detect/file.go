package detect

import (
	"fmt"
	"strings"

	"divisi/internal/text"
)

// Tried is the outcome of a gate on the base commit.
type Tried struct {
	Note string
	// Out reports that it proves nothing there: it is written as a comment.
	Out bool
}

// File writes the proposal as a project file with comments. tried is what is known of its gates, by name.
func (p *Proposal) File(tried map[string]Tried) string {
	var b strings.Builder
	b.WriteString("# How Divisi works on this repository; see docs/project.md. Proposed by Divisi.\n")
	if len(p.Setup) > 0 {
		fmt.Fprintf(&b, "\n# Installs the needs of the gates (%s). It alone has the network, and takes effect after you trust "+
			"the "+
			"repository.\n", text.OneLine(text.Some(p.Why, maxWhy)))
		if len(p.Ignored) > 0 {
			fmt.Fprintf(&b, "# It fills paths that git ignores, which stay below every tree: %s\n",
				text.OneLine(text.Some(p.Ignored, maxWhy)))
		}
		fmt.Fprintf(&b, "setup: %s\n", text.Flow(p.Setup))
	}
	if len(p.Derived) > 0 {
		b.WriteString("\n# Made from tracked sources: without regenerate, changes of those sources land unverified.\n")
		fmt.Fprintf(&b, "derived: %s\n", text.Flow(p.Derived))
	} else if p.Derived != nil {
		b.WriteString("\n# No gate reads what setup makes out of tracked sources.\nderived: []\n")
	}
	if len(p.Regenerate) > 0 {
		fmt.Fprintf(&b, "regenerate: %s\n", text.Flow(p.Regenerate))
	}
	b.WriteString("\n# What proves a change, in this order. Each runs confined, without network.\ngates:")
	var kept int
	for _, g := range p.Gates {
		if !tried[g.Name].Out {
			kept++
		}
	}
	if kept == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, g := range p.Gates {
		t := tried[g.Name]
		mark := ""
		if t.Out {
			mark = "# "
		}
		if t.Note != "" {
			fmt.Fprintf(&b, "  # %s: %s\n", g.Name, text.OneLine(t.Note))
		}
		fmt.Fprintf(&b, "  %s- name: %s\n  %s  command: %s\n", mark, g.Name, mark, text.Flow(g.Command))
		if g.Format != "" {
			fmt.Fprintf(&b, "  %s  format: %s\n", mark, g.Format)
		}
		if len(g.Paths) > 0 {
			fmt.Fprintf(&b, "  %s  paths: %s\n", mark, text.Flow(g.Paths))
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "# %s\n", text.OneLine(n))
	}
	b.WriteString(p.Beside.File(p.Serve))
	return b.String()
}

// maxWhy is how many paths a comment names.
const maxWhy = 4
