package gate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
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
		f, told := found.told[signature]
		if told {
			f = toldOf(r, signature, f)
		} else {
			f = findingOf(r, signature, names.rooted(found.names[signature].Text))
		}
		if f.File != "" {
			source := sourceLine(where.Dir, f.File, f.Line)
			f.Source, f.Symbol = text.Head(strings.TrimSpace(source), maxSource), cmp.Or(f.Symbol, finding.Symbol(f, source))
		}
		if before := where.Baseline; before != nil && before.Count(signature) > 0 { // its place may be one of those
			f.Message += fmt.Sprintf("; at %d places, %d before", r.Count(signature), before.Count(signature))
		}
		out = append(out, f)
	}
	told := func(f spec.Finding) int { // what tells nothing but its name comes last
		if f.File == "" && f.Message == failed {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b spec.Finding) int { return told(a) - told(b) })
	return out
}

// failed is the message of a test about which nothing more is known.
const failed = "failed"

// among returns the path of a file: a package's files come without its directory.
func among(paths []string, file string) string {
	i := slices.IndexFunc(paths, func(p string) bool { return p == file || strings.HasSuffix(p, "/"+file) })
	if i < 0 {
		return ""
	}
	return paths[i]
}

// toldOf is a finding that a tool reported in its own format, with its path in the tree. Another place stays in the message.
func toldOf(r *spec.Receipt, signature string, f spec.Finding) spec.Finding {
	f.Signature = signature
	if file := among(r.Paths[signature], f.File); file != "" || f.File == "" {
		f.File = file
		return f
	}
	f.Message = text.Head(f.String(), maxSource)
	f.Code, f.Symbol, f.File, f.Line, f.Column = "", "", "", 0, 0
	return f
}

// findingOf reads the lines of a failure.
func findingOf(r *spec.Receipt, signature, lines string) (f spec.Finding) {
	placed := r.Positions[signature]
	at := func(file string) string { return among(placed, file) }
	first, _, _ := strings.Cut(lines, "\n")
	f = finding.Read(first)
	switch kind, name, _ := strings.Cut(signature, ": "); {
	case kind == "test", kind == "suite":
		f = finding.Failed(lines, func(file string) bool { return at(file) != "" })
		if f.Symbol = name; kind == "suite" {
			f.Message = cmp.Or(f.Message, strings.TrimSpace(first))
		}
		f.Message = cmp.Or(f.Message, failed)
	case kind == "load" && f.Line == 0:
		f.Message = name
	case f.Line == 0 && (kind == "package" || thrown.MatchString(first) || strings.HasPrefix(first, "panic: ")):
		at := finding.Failed(lines, func(file string) bool { return at(file) != "" })
		if f.File, f.Line, f.Column = at.File, at.Line, at.Column; kind == "package" {
			f.Message = cmp.Or(at.Message, f.Message)
		}
	default:
		f.Message = cmp.Or(f.Message, signature)
	}
	printed := f.File
	if f.File = at(printed); f.File == "" && len(placed) > 0 && f.Line > 0 {
		f.File = placed[0]
	}
	if f.Signature = signature; f.File == "" {
		f.Line, f.Column = 0, 0
	}
	if printed != "" && f.File == "" && f.Symbol == "" { // elsewhere: the place stays as it was printed
		f.Code, f.Message = "", text.Head(strings.TrimSpace(first), maxSource)
	}
	return f
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
	return strings.TrimRight(plain(line), "\n")
}
