// Package round groups the findings of a checker into the tasks of a round. It is pure: its input are findings and what a rule
// says, its output groups of them with the files that each may change, and the briefs.
package round

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// The bounds of a group: how many findings it has where it has several files, and how many files.
const (
	MaxFindings = 60
	maxFiles    = 50
)

// The parts of the findings that one task gets.
const (
	ByFile    = "file"
	ByPackage = "package"
	BySymbol  = "symbol"
	ByCode    = "code"
	ByOwner   = "owner"
)

// Group is the part of the findings that one task gets. Key is what they have in common, Files are sorted and in no other group.
type Group struct {
	Key      string
	Files    []string
	Findings []spec.Finding
}

// Form groups findings by a part of them; owner returns the owners of a file, for ByOwner. A file with findings of several
// symbols or codes is in the group of the one that most of its findings have. most bounds the files of a group; 0 is the
// default. Findings without a file are the rest.
func Form(all []spec.Finding, by string, most int, owner func(file string) string) (groups []Group, rest []spec.Finding) {
	files := map[string][]spec.Finding{}
	for _, f := range all {
		if f.File == "" {
			rest = append(rest, f)
			continue
		}
		files[f.File] = append(files[f.File], f)
	}
	totals := totalsOf(all, by)
	keys := map[string][]string{}
	for file, in := range files {
		key := keyOf(file, in, by, totals, owner)
		keys[key] = append(keys[key], file)
	}
	for key, in := range keys {
		slices.Sort(in)
		groups = append(groups, split(key, in, files, cmp.Or(most, maxFiles))...)
	}
	slices.SortFunc(groups, func(a, b Group) int { // those of the most findings first: a round lasts as long as its longest task
		return cmp.Or(cmp.Compare(len(b.Findings), len(a.Findings)), cmp.Compare(a.Files[0], b.Files[0]))
	})
	return groups, rest
}

// split bounds a group: a file alone has all of its findings.
func split(key string, files []string, of map[string][]spec.Finding, most int) (groups []Group) {
	g := Group{Key: key}
	for _, file := range files {
		if n := len(g.Findings); n > 0 && (n+len(of[file]) > MaxFindings || len(g.Files) == most) {
			groups, g = append(groups, g), Group{Key: key}
		}
		g.Files, g.Findings = append(g.Files, file), append(g.Findings, of[file]...)
	}
	return append(groups, g)
}

// part is what a finding is grouped by where that is no matter of its file.
func part(f spec.Finding, by string) string {
	switch by {
	case BySymbol:
		return f.Symbol
	case ByCode:
		return f.Code
	default:
		return ""
	}
}

// totalsOf counts the findings of each symbol or code.
func totalsOf(all []spec.Finding, by string) map[string]int {
	totals := map[string]int{}
	for _, f := range all {
		totals[part(f, by)]++
	}
	return totals
}

func keyOf(file string, in []spec.Finding, by string, totals map[string]int, owner func(file string) string) string {
	switch by {
	case ByPackage:
		return path.Dir(file)
	case ByOwner:
		return owner(file)
	case BySymbol, ByCode:
		here := totalsOf(in, by)
		delete(here, "")
		best := ""
		for key, n := range here {
			order := cmp.Or(cmp.Compare(n, here[best]), cmp.Compare(totals[key], totals[best]), cmp.Compare(best, key))
			if best == "" || order > 0 {
				best = key
			}
		}
		return cmp.Or(best, file)
	default:
		return file
	}
}

// leastCommon is how many findings a symbol has at least before its definition is fixed first.
const leastCommon = 6

// Common returns the symbol that more than a third of the findings are about, with these; "" for none. Its definition is fixed
// before its uses are.
func Common(all []spec.Finding) (symbol string, about []spec.Finding) {
	totals := totalsOf(all, BySymbol)
	for _, f := range all {
		if n := totals[f.Symbol]; f.Symbol != "" && n >= leastCommon && 3*n > len(all) {
			if symbol == "" || n > totals[symbol] {
				symbol = f.Symbol
			}
		}
	}
	for _, f := range all {
		if symbol != "" && f.Symbol == symbol {
			about = append(about, f)
		}
	}
	return symbol, about
}

// Definition is an expression of the lines that can define a symbol, in the languages that compilers of Divisi's gates report on.
func Definition(symbol string) *regexp.Regexp {
	name := regexp.QuoteMeta(symbol[strings.LastIndexAny(symbol, ".:")+1:])
	return regexp.MustCompile(`(?m)^[ \t]*(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|` +
		`async|pub(?:\([^)]*\))?|unsafe|extern|open|override)\s+)*(?:func\s+(?:\([^)]*\)\s*)?|` +
		`(?:function|class|interface|type|enum|struct|trait|record|def|fn|fun|const|let|var|val|module|object|` +
		`macro_rules!)\s+(?:mut\s+)?)` + name + `\b`)
}
