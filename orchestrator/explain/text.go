package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/subagents/agent"
)

// maxFault bounds, in characters, why a call was not answered.
const maxFault = 200

// writeExplained prints a request for people: its sections with their sizes, each part with its origin, and what was left out.
func writeExplained(w io.Writer, seen agent.Explained) error {
	of := fmt.Sprintf("of %d", seen.Turns)
	switch {
	case seen.Fault != nil:
		of = "(not answered: " + text.Short(display.Sanitize(seen.Fault.Message), maxFault) + ")"
	case seen.Turn > seen.Turns:
		of = "(no answer is in the log: this would be sent now, with the notes of the memory then)"
	}
	fmt.Fprintf(w, "%s, turn %d %s, model %s\n", seen.Agent, seen.Turn, of, seen.Model)
	fmt.Fprintf(w, "about %d tokens", seen.Tokens)
	if seen.Window > 0 {
		fmt.Fprintf(w, " of a window of %d", seen.Window)
	}
	if u := seen.Reported; u != nil {
		fmt.Fprintf(w, "; the service counted %d, %d of them cached", u.Prompt, u.Cached)
	}
	fmt.Fprintln(w)
	writeSections(w, seen.Trace)
	if seen.System != nil {
		fmt.Fprintln(w, "\n== system  [instruction]")
		for _, p := range seen.System.Parts {
			writePart(w, p, "")
		}
	}
	for i, c := range seen.Contents {
		mark := ""
		if i+1 == seen.Prefix {
			mark = "  (ends the prefix: later requests of this agent begin with the same parts)"
		}
		fmt.Fprintf(w, "\n== content %d, %s%s\n", i+1, c.Role, mark)
		for n, p := range c.Parts {
			writePart(w, p, originText(seen, i, n))
			if i == 0 && n+1 == seen.SharedParts {
				fmt.Fprintln(w, "-- shared prefix of all siblings of the role ends here --")
			}
		}
	}
	return nil
}

// writeSections prints the trace as a table, and below each line what was trimmed, healed or left out.
func writeSections(w io.Writer, trace []contextscope.Trace) {
	rows := [][]string{{"section", "tokens", "parts", "what"}}
	for _, t := range trace {
		rows = append(rows, []string{t.Processor, strconv.Itoa(t.Tokens), strconv.Itoa(t.Parts), t.What})
		for _, n := range t.Notes {
			rows = append(rows, []string{"", "", "", "- " + n})
		}
	}
	fmt.Fprint(w, "\n"+display.Table(rows))
}

// originText names the processor that wrote a part, and the event by its load_artifact handle; an event of another session
// has none, and is named by its id.
func originText(seen agent.Explained, content, part int) string {
	if content >= len(seen.Origins) || part >= len(seen.Origins[content]) {
		return ""
	}
	from := seen.Origins[content][part]
	name := from.Event
	if handle := seen.Handles[from.Event]; handle != "" {
		name = handle
	}
	return strings.TrimSuffix(from.Processor+" "+display.Sanitize(name), " ")
}

// writePart prints a part, indented: no line of its text can pass for a line of this program.
func writePart(w io.Writer, p *genai.Part, origin string) {
	text := display.Indent(partText(p))
	if origin != "" {
		text = "[" + origin + "] " + strings.TrimLeft(text, " ")
	}
	fmt.Fprintln(w, text)
}

// partText is a part as people read it, safe for a terminal.
func partText(p *genai.Part) string {
	switch {
	case p.FunctionCall != nil:
		call := p.FunctionCall
		return fmt.Sprintf("→ %s(%s)", display.Sanitize(call.Name), display.Sanitize(spec.JSONText(call.Args)))
	case p.FunctionResponse != nil:
		r := p.FunctionResponse
		return fmt.Sprintf("← %s %s", display.Sanitize(r.Name), responseText(r.Response))
	case p.Thought:
		return "(thought) " + display.SanitizeLines(p.Text)
	case p.Text != "":
		return display.SanitizeLines(p.Text)
	default:
		return fmt.Sprintf("(a part without text: %s)", display.Sanitize(spec.JSONText(p)))
	}
}

// responseText is a tool's result: one that is a text, as nearly all are, line by line.
func responseText(response map[string]any) string {
	for key, value := range response {
		if text, ok := value.(string); ok && len(response) == 1 {
			return display.Sanitize(key) + ":\n" + display.Indent(display.SanitizeLines(text))
		}
	}
	return display.Sanitize(spec.JSONText(response))
}

// writeCompactions prints each compaction: its range, what it cost and saved, what it kept.
func writeCompactions(w io.Writer, list []agent.Compacted) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no turns were compacted")
		return err
	}
	for _, c := range list {
		fmt.Fprintf(w, "before turn %d: %s", c.Turn, c.Method)
		if c.Turns > 0 {
			fmt.Fprintf(w, " of events %d to %d (%d turns, %d of them again)", c.From, c.To, c.Turns, c.Overlap)
		}
		if c.Effective() {
			fmt.Fprintf(w, ", %d → %d tokens", c.Before, c.After)
		}
		for _, extra := range []struct{ name, text string }{{"trigger", c.Trigger}, {"model", c.Model}} {
			if extra.text != "" {
				fmt.Fprintf(w, ", %s %s", extra.name, display.Sanitize(extra.text))
			}
		}
		if c.Repaired {
			fmt.Fprint(w, ", repaired once")
		}
		fmt.Fprintln(w)
		if c.Fault != nil {
			fmt.Fprintf(w, "  the model's snapshot was rejected (%s): %s\n", c.Fault.Class, display.Sanitize(c.Fault.Message))
			if c.Fault.Detail != "" {
				fmt.Fprintln(w, display.Indent(display.SanitizeLines(c.Fault.Detail)))
			}
		}
		if len(c.Masked) > 0 {
			fmt.Fprintf(w, "  large results shown as handles: events %v\n", c.Masked)
		}
		for _, k := range c.Kept {
			fmt.Fprintf(w, "  kept %s\n", display.Sanitize(k))
		}
		if c.Snapshot != "" {
			fmt.Fprintln(w, display.Indent(display.SanitizeLines(c.Snapshot)))
		}
	}
	return nil
}
