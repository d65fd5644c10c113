package mutant

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// Renames are the names and import paths of Go that a change renames, by what is there before.
type Renames map[string]string

// ofImport is a line that imports a package.
var ofImport = lazyregexp.New(`^(?:import )?(?:([\w.]+) )?("[^"]+")$`)

// imports is the path that a line imports, with its quotes; "" for none.
func imports(line string) string {
	m := ofImport.FindStringSubmatch(line)
	if m == nil || slices.Contains(valueWords, m[1]) {
		return ""
	}
	return m[2]
}

// valueWords are words that stand before a value.
var valueWords = strings.Fields("return case raise throw yield await not in and or is")

// RenamesOf finds what is renamed between files before and after: lines that are gone and lines that came are paired by their
// form, in their order. A name that became two others is none.
func RenamesOf(before, after map[string][]byte) Renames {
	var gone, come []string
	for file := range before {
		lost, gained := lineDiff(string(before[file]), string(after[file]))
		gone, come = append(gone, lost...), append(come, gained...)
	}
	forms := map[string][]string{}
	for _, line := range come {
		forms[lineForm(line)] = append(forms[lineForm(line)], line)
	}
	count := map[string]int{}
	for _, line := range gone {
		count[lineForm(line)]++
	}
	renames, wrong := Renames{}, map[string]bool{}
	for _, line := range gone {
		form := lineForm(line)
		if len(forms[form]) != count[form] {
			continue
		}
		other := forms[form][0]
		forms[form], count[form] = forms[form][1:], count[form]-1
		was, now := namesIn(line), namesIn(other)
		for i := range min(len(was), len(now)) {
			to, had := renames[was[i]]
			wrong[was[i]] = wrong[was[i]] || had && to != now[i]
			renames[was[i]] = now[i]
		}
	}
	for name, to := range renames {
		if wrong[name] || name == to {
			delete(renames, name)
		}
	}
	return renames
}

// lineDiff returns the lines that only one of two texts has, or has more often.
func lineDiff(before, after string) (lost, gained []string) {
	left := map[string]int{}
	for line := range strings.Lines(before) {
		left[strings.TrimSpace(line)]++
	}
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); left[line] > 0 {
			left[line]--
		} else if line != "" {
			gained = append(gained, line)
		}
	}
	for line := range strings.Lines(before) {
		if line = strings.TrimSpace(line); left[line] > 0 && line != "" {
			left[line]--
			lost = append(lost, line)
		}
	}
	return lost, gained
}

func lineForm(line string) string {
	if imports(line) != "" {
		return "import"
	}
	return formOf(line, false)
}

// namesIn are the names of a line, or the path that it imports.
func namesIn(line string) (names []string) {
	if of := imports(line); of != "" {
		return []string{of}
	}
	scan(line, func(tok token.Token, lit string) {
		if tok == token.IDENT {
			names = append(names, lit)
		}
	})
	return names
}

// In returns source with the new names.
func (r Renames) In(source []byte) []byte {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, func(token.Position, string) {}, 0)
	var out strings.Builder
	last := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if to := r[lit]; to != "" && (tok == token.IDENT || tok == token.STRING) {
			out.Write(source[last:file.Offset(pos)])
			out.WriteString(to)
			last = file.Offset(pos) + len(lit)
		}
	}
	out.Write(source[last:])
	return []byte(out.String())
}
