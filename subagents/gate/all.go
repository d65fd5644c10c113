package gate

import (
	"bufio"
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

// allOf are the findings of a red gate at all of their places, with their files in the tree and their sources.
func allOf(r *spec.Receipt, found *findings, names normaliser, dir string) (l finding.List, err error) {
	if passed(*r) || r.Kind == spec.KindTests {
		return l, nil
	}
	_, over := found.signatures[overflowSignature]
	paths := map[string]string{}
	for _, f := range found.all {
		if _, kept := found.signatures[f.Signature]; kept || over {
			f.File, f.Message = names.rooted(f.File), text.Head(names.rooted(f.Message), maxSource)
			l.Findings = append(l.Findings, f)
			paths[f.File] = ""
		}
	}
	if err := trace.Files(dir, r.Command, paths); err != nil {
		return l, fmt.Errorf("find the files of the findings: %w", err)
	}
	for i := range l.Findings {
		f := &l.Findings[i]
		if f.File = paths[f.File]; f.File == "" {
			f.Line, f.Column = 0, 0
		}
	}
	slices.SortStableFunc(l.Findings, finding.Compare)
	l.Findings = slices.CompactFunc(l.Findings, func(a, b spec.Finding) bool { return finding.Compare(a, b) == 0 })
	l.Cut = len(found.all) > finding.MaxList || r.TimedOut
	l.Findings = l.Findings[:min(len(l.Findings), finding.MaxList)]
	return l, sources(dir, l.Findings)
}

// sources gives sorted findings the lines that they are about. Each file is read once.
func sources(dir string, all []spec.Finding) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].File == all[0].File {
			n++
		}
		if all[0].File != "" {
			sourcesIn(root, all[:n])
		}
		all = all[n:]
	}
	return nil
}

// sourcesIn gives the findings of one file their lines. What cannot be read has none.
func sourcesIn(root *os.Root, all []spec.Finding) {
	f, err := trace.Open(root, all[0].File)
	if err != nil || f == nil {
		return
	}
	defer f.Close() // only read from
	lines, number, line := bufio.NewReader(io.LimitReader(f, maxScanned)), 0, ""
	for i := range all {
		for ; number < all[i].Line; number++ {
			if line, err = lines.ReadString('\n'); err != nil && line == "" {
				return
			}
		}
		source := plain(strings.TrimRight(line, "\r\n"))
		all[i].Source = sourceOf(line)
		if all[i].Symbol == "" {
			all[i].Symbol = finding.Symbol(all[i], source)
		}
	}
}

// sourceOf is a line as findings have it.
func sourceOf(line string) string {
	return text.Head(strings.TrimSpace(plain(strings.TrimRight(line, "\r\n"))), maxSource)
}
