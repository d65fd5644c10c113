package gate

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// The formats of a gate's output.
const (
	FormatGoTest = "go-test-json"
	FormatJUnit  = "junit"
	FormatTAP    = "tap"
	FormatText   = "text"
)

// maxLine bounds one line of output; the rest of a longer one is dropped.
const maxLine = 1 << 20

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
	case strings.Contains(joined, "go") && strings.Contains(joined, " test ") && strings.Contains(joined, " -json "):
		return FormatGoTest
	case reportFile(g.Command) != "":
		return FormatJUnit
	case strings.Contains(joined, "reporter=tap"), strings.Contains(joined, "reporter tap"), strings.Contains(joined, " --tap "):
		return FormatTAP
	default:
		return ""
	}
}

func newParser(format string, names normaliser, buildCommand bool) parser {
	text := newTextParser(names, buildCommand)
	switch format {
	case FormatGoTest:
		return &goTestParser{
			text: text, names: names, found: newFindings(), packages: map[string]*goPackage{}, unimportable: map[string]bool{},
		}
	case FormatJUnit:
		return &junitParser{text: text, names: names}
	case FormatTAP:
		return newTAPParser(text)
	case FormatText:
		return text
	default:
		return &sniffer{tap: newTAPParser(text)}
	}
}

// buildCommand reports whether all a command does is build: then every failure of it is a build failure.
func buildCommand(command []string) bool {
	if len(command) == 0 {
		return false
	}
	name := filepath.Base(command[0])
	verbs := map[string][]string{
		"go": {"build"}, "cargo": {"build", "check"}, "make": {"build", "all"},
		"npm": {"build"}, "pnpm": {"build"}, "yarn": {"build"},
	}
	if name == "tsc" {
		return true
	}
	return slices.ContainsFunc(command[1:], func(arg string) bool { return slices.Contains(verbs[name], arg) }) &&
		!slices.Contains(command[1:], "test")
}

// reportFile returns the JUnit file that a command is told to write, or "".
func reportFile(command []string) string {
	for i, arg := range command {
		name, value, ok := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "--junit") {
			continue
		}
		if !ok && i+1 < len(command) {
			value = command[i+1]
		}
		if strings.HasSuffix(value, ".xml") {
			return value
		}
	}
	return ""
}

// lineWriter cuts a stream into lines for a parser.
type lineWriter struct {
	to      parser
	partial []byte
}

func (w *lineWriter) write(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		w.partial = append(w.partial, piece[:min(len(piece), maxLine-len(w.partial))]...)
		if end < 0 {
			return
		}
		w.flush()
		p = p[end+1:]
	}
}

func (w *lineWriter) flush() {
	w.to.line(strings.TrimSuffix(string(w.partial), "\r"))
	w.partial = w.partial[:0]
}

// close hands the last line over, if it had no end, and returns what was found.
func (w *lineWriter) close() *findings {
	if len(w.partial) > 0 {
		w.flush()
	}
	return w.to.end()
}
