package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/orchestrator/console"
	"divisi/subagents"
)

// writeExplained prints a request for people: its sections with their sizes, each part with where it comes from, and what
// was left out.
func writeExplained(w io.Writer, seen subagents.Explained) error {
	fmt.Fprintf(w, "%s, turn %d of %d, model %s\n", seen.Agent, seen.Turn, seen.Turns, seen.Model)
	fmt.Fprintf(w, "about %d tokens", seen.Tokens)
	if seen.Window > 0 {
		fmt.Fprintf(w, " of a window of %d", seen.Window)
	}
	if u := seen.Reported; u != nil {
		fmt.Fprintf(w, "; the service counted %d, %d of them cached", u.Prompt, u.Cached)
	}
	fmt.Fprintln(w)
	if err := writeSections(w, seen.Trace); err != nil {
		return err
	}
	if seen.System != nil {
		fmt.Fprintln(w, "\n== system  [instruction]")
		for _, p := range seen.System.Parts {
			writePart(w, p, contextscope.Origin{})
		}
	}
	for i, c := range seen.Contents {
		mark := ""
		if i+1 == seen.Prefix {
			mark = "  (the stable prefix ends here)"
		}
		fmt.Fprintf(w, "\n== content %d, %s%s\n", i+1, c.Role, mark)
		for n, p := range c.Parts {
			writePart(w, p, originOf(seen, i, n))
			if i == 0 && n+1 == seen.SharedParts {
				fmt.Fprintln(w, "-- what every sibling of the role sends ends here --")
			}
		}
	}
	return nil
}

// writeSections prints the trace as a table, and below each line what was trimmed, healed or left out.
func writeSections(w io.Writer, trace []contextscope.Trace) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nsection\ttokens\tparts\twhat")
	for _, t := range trace {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", t.Processor, t.Tokens, t.Parts, console.Sanitize(t.What))
		for _, n := range t.Notes {
			fmt.Fprintf(table, "\t\t\t- %s\n", console.Sanitize(n))
		}
	}
	return table.Flush() //nolint:wrapcheck // the terminal
}

func originOf(seen subagents.Explained, content, part int) contextscope.Origin {
	if content < len(seen.Origins) && part < len(seen.Origins[content]) {
		return seen.Origins[content][part]
	}
	return contextscope.Origin{}
}

func writePart(w io.Writer, p *genai.Part, from contextscope.Origin) {
	if from.Processor != "" {
		fmt.Fprintf(w, "[%s", from.Processor)
		if from.Event != "" {
			fmt.Fprintf(w, " %s", console.Sanitize(from.Event))
		}
		fmt.Fprint(w, "] ")
	}
	fmt.Fprintln(w, partText(p))
}

// partText is a part as people read it, safe for a terminal.
func partText(p *genai.Part) string {
	switch {
	case p.FunctionCall != nil:
		return fmt.Sprintf("→ %s(%s)", console.Sanitize(p.FunctionCall.Name), console.Sanitize(inline(p.FunctionCall.Args)))
	case p.FunctionResponse != nil:
		r := p.FunctionResponse
		return fmt.Sprintf("← %s: %s", console.Sanitize(r.Name), console.Sanitize(inline(r.Response)))
	case p.Thought:
		return "(thought) " + sanitizeLines(p.Text)
	case p.Text != "":
		return sanitizeLines(p.Text)
	default:
		return fmt.Sprintf("(a part that is no text: %s)", console.Sanitize(inline(p)))
	}
}

// writeCompactions prints each compaction: its range, what it cost and saved, what it kept.
func writeCompactions(w io.Writer, list []subagents.Compacted) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "nothing was compacted")
		return err //nolint:wrapcheck // the terminal
	}
	for _, c := range list {
		fmt.Fprintf(w, "before turn %d: %s of events %d to %d (%d turns, %d of them again), %d → %d tokens",
			c.Turn, c.Method, c.From, c.To, c.Turns, c.Overlap, c.Before, c.After)
		for _, extra := range []struct{ name, text string }{{"trigger", c.Trigger}, {"model", c.Model}} {
			if extra.text != "" {
				fmt.Fprintf(w, ", %s %s", extra.name, console.Sanitize(extra.text))
			}
		}
		if c.Repaired {
			fmt.Fprint(w, ", repaired once")
		}
		fmt.Fprintln(w)
		if c.Fault != nil {
			fmt.Fprintf(w, "  the model's snapshot was not taken (%s): %s\n", c.Fault.Class, console.Sanitize(c.Fault.Message))
		}
		if len(c.Masked) > 0 {
			fmt.Fprintf(w, "  large results shown as handles: events %v\n", c.Masked)
		}
		for _, k := range c.Kept {
			fmt.Fprintf(w, "  kept %s\n", console.Sanitize(k))
		}
		if c.Snapshot != "" {
			fmt.Fprintln(w, indent(sanitizeLines(c.Snapshot)))
		}
	}
	return nil
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// sanitizeLines keeps line breaks and indentation, and nothing else that a terminal would obey.
func sanitizeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		text := strings.ReplaceAll(lines[i], "\t", "    ")
		rest := strings.TrimLeft(text, " ")
		lines[i] = text[:len(text)-len(rest)] + console.Sanitize(rest)
	}
	return strings.Join(lines, "\n")
}

// inline writes a value as JSON in one line, without the escapes that only HTML needs: prompts hold code.
func inline(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
