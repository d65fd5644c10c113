package gate

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/finding"
)

// The formats of a gate's output.
const (
	FormatGoTest = "go-test-json"
	FormatJUnit  = "junit"
	FormatTAP    = "tap"
	FormatText   = "text"
	// FormatJSON is the report of jest, vitest or mocha; FormatFindings are the lines of a compiler or linter that give
	// the place of each finding.
	FormatJSON     = "json"
	FormatFindings = "findings"
)

// maxLine bounds one line of output; the rest of a longer one is dropped. A report in JSON is one line.
const maxLine = finding.MaxDocument

// parser understands one format. It is used by one goroutine.
type parser interface {
	// line takes one line of the output, without its end.
	line(text string)
	// end is called once, after the last line.
	end() *findings
}

// formatOf returns the gate's format, guessed from the command where it does not say; empty when the output has to tell.
func formatOf(g spec.Gate) string {
	if g.Format != "" {
		return g.Format
	}
	joined := " " + strings.Join(g.Command, " ") + " "
	switch {
	case knownTool(g.Command).kind == spec.KindFindings:
		return FormatFindings
	case strings.Contains(joined, "go") && strings.Contains(joined, " test ") && strings.Contains(joined, " -json "):
		return FormatGoTest
	case reporter(g.Command) == "junit", reporter(g.Command) == "xunit":
		return FormatJUnit
	case reporter(g.Command) == "json", slices.Contains(g.Command, "--json") && strings.Contains(joined, "jest"):
		return FormatJSON
	case strings.HasSuffix(reportFile(g.Command), ".xml"), strings.HasPrefix(knownTool(g.Command).name, "mvn"):
		return FormatJUnit
	case reporter(g.Command) == "tap", strings.Contains(joined, " --tap "), strings.Contains(joined, "reporter=tap"),
		strings.Contains(joined, "reporter tap"):
		return FormatTAP
	default:
		return ""
	}
}

func newParser(format string, names normaliser, of tool) parser {
	text := newTextParser(names)
	if format == FormatJUnit && strings.HasPrefix(of.name, "mvn") {
		return newMavenParser(text)
	}
	switch format {
	case FormatGoTest:
		return &goTestParser{
			text: text, names: names, found: newFindings(), packages: map[string]*goPackage{}, unimportable: map[string]bool{},
			causes: map[string]string{},
		}
	case FormatJUnit:
		return &junitParser{text: text, names: names}
	case FormatTAP:
		return newTAPParser(text)
	case FormatJSON:
		return &jsonParser{text: text, names: names}
	case FormatText:
		return text
	case FormatFindings:
		text.findings = true
		p := &findingsParser{textParser: text, tool: of}
		text.beside = p.more
		return p
	default:
		return &sniffer{tap: newTAPParser(text)}
	}
}

// reporter returns the one that a command asks a test runner for: --reporter=NAME, --test-reporter NAME.
func reporter(command []string) string {
	for i, arg := range command {
		name, value, ok := strings.Cut(arg, "=")
		if name != "--reporter" && name != "--test-reporter" && (name != "-R" || ok) {
			continue
		}
		if !ok && i+1 < len(command) {
			value = command[i+1]
		}
		return value
	}
	return ""
}

// reportFile returns the file with a report, as JUnit or JSON, that a command is told to write, or "".
func reportFile(command []string) string {
	dir := ""
	for i, arg := range command {
		if to, ok := strings.CutPrefix(arg, "--chdir="); ok && dir == "" {
			dir = to // env works there
		}
		name, value, ok := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "--junit") && name != "--outputFile" && name != "--test-reporter-destination" {
			continue
		}
		if !ok && i+1 < len(command) {
			value = command[i+1]
		}
		if strings.HasSuffix(value, ".xml") || strings.HasSuffix(value, ".json") {
			return path.Join(dir, value)
		}
	}
	return ""
}

// newLines returns a writer for a parser.
func newLines(to parser) *lineWriter { return &lineWriter{to: to} }

// lineWriter cuts a stream into lines for a parser, also at what takes a terminal back to the begin of its line.
type lineWriter struct {
	to      parser
	partial []byte
	// returned reports whether the last byte was a carriage return.
	returned bool
}

func (w *lineWriter) write(p []byte) {
	for len(p) > 0 {
		if w.returned = w.returned && p[0] == '\n'; w.returned { // one end of a line is two bytes
			w.returned, p = false, p[1:]
			continue
		}
		end := bytes.IndexAny(p, "\r\n")
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		w.partial = append(w.partial, piece[:min(len(piece), maxLine-len(w.partial))]...)
		if end < 0 {
			return
		}
		w.flush()
		w.returned, p = p[end] == '\r', p[end+1:]
	}
}

// flush hands a line over without its colours, which some programs print wherever CI is set.
func (w *lineWriter) flush() {
	line := string(w.partial)
	w.to.line(colourless(line))
	w.partial = w.partial[:0]
}

// close hands the last line over, if it had no end, and returns what was found.
func (w *lineWriter) close() *findings {
	if len(w.partial) > 0 {
		w.flush()
	}
	return w.to.end()
}
