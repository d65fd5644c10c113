package gate

import (
	"bufio"
	"io"
	"os"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/errorline"
	"divisi/subagents/finding"
	"divisi/subagents/gate/trace"
)

// The bounds of what a receipt keeps of the first failures: how many, and for a line of source how far a file is read, in bytes.
const (
	maxErrors  = 20
	maxSource  = 200
	maxScanned = 4 << 20
)

// firstErrors are the first new failures that follow from no other one, as the tool printed them, with the line of the source.
func firstErrors(r *spec.Receipt, found *findings, names normaliser, where *Where) []spec.Finding {
	fresh := map[string]bool{}
	for _, signature := range NewSignatures(*r, where.Baseline) {
		fresh[signature] = r.Follows[signature] == ""
	}
	var out []spec.Finding
	for _, signature := range found.order {
		if !fresh[signature] {
			continue
		}
		if len(out) == maxErrors {
			break
		}
		f := finding.Read(names.rooted(telling(found.names[signature].Text)))
		f.Signature = signature
		switch test, isTest := strings.CutPrefix(signature, "test: "); {
		case isTest:
			f.Symbol = test
		case f.Message == "":
			f.Message = signature
		}
		if placed := r.Positions[signature]; len(placed) > 0 && f.Line > 0 {
			f.File = placed[0]
			f.Source = sourceLine(where.Dir, f.File, f.Line)
		}
		out = append(out, f)
	}
	return out
}

// telling is the first of a failure's lines that gives a place, else the first one.
func telling(lines string) string {
	for line := range strings.Lines(lines) {
		if class, _ := errorline.Classify(strings.TrimSpace(line)); class != errorline.Test && finding.Place(line) != "" {
			return line
		}
	}
	first, _, _ := strings.Cut(lines, "\n")
	return first
}

// sourceLine returns a line of a file of the tree; "" for one that cannot be read.
func sourceLine(dir, name string, number int) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close() // only read from
	f, err := trace.Open(root, name)
	if err != nil || f == nil {
		return ""
	}
	defer f.Close() // only read from
	lines := bufio.NewReader(io.LimitReader(f, maxScanned))
	for ; number > 1; number-- {
		if _, err := lines.ReadString('\n'); err != nil {
			return ""
		}
	}
	line, _ := lines.ReadString('\n') // the last line has no end
	return text.Head(strings.TrimSpace(plain(line)), maxSource)
}
