package ci

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var (
	makeRule     = lazyregexp.New(`^([A-Za-z0-9_./ -]+?)\s*::?\s*([^=:;#]*)(?:#.*|;\s*(.*))?$`)
	makeVariable = lazyregexp.New(`^\s*(?:export\s+)?([A-Za-z0-9_.]+)\s*[:?]{0,2}=\s*(.*)$`)
	makeUse      = lazyregexp.New(`\$[({]([A-Za-z0-9_.]+)[)}]`)
)

// makefile is what a makefile says in plain words: no conditions, functions, or patterns.
type makefile struct {
	first          string
	rules, needs   map[string][]string
	variables      map[string]string
	seen           map[string]bool
	lines, current []string
}

// make is the recipe of targets, behind that of those that they need.
func (x *expander) make(dir string, args []string) []string {
	m := makefile{
		rules: map[string][]string{}, needs: map[string][]string{}, seen: map[string]bool{},
		variables: map[string]string{"MAKE": "make"},
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if body := x.text(path.Join(dir, name)); body != "" {
			for _, line := range strings.Split(strings.ReplaceAll(body, "\\\n", " "), "\n") {
				m.read(line)
			}
			break
		}
	}
	targets := slices.DeleteFunc(slices.Clone(args), func(w string) bool {
		return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
	})
	if len(targets) == 0 {
		targets = []string{m.first}
	}
	for _, target := range targets {
		m.visit(target)
	}
	return m.lines
}

func (m *makefile) read(line string) {
	if recipe, is := strings.CutPrefix(line, "\t"); is {
		for _, target := range m.current {
			m.rules[target] = append(m.rules[target], recipe)
		}
		return
	}
	if v := makeVariable.FindStringSubmatch(line); v != nil {
		if _, set := m.variables[v[1]]; !set {
			m.variables[v[1]] = v[2]
		}
		return
	}
	rule := makeRule.FindStringSubmatch(line)
	if rule == nil {
		return
	}
	m.current = strings.Fields(rule[1])
	for _, target := range m.current {
		if m.first == "" && target[0] != '.' {
			m.first = target
		}
		m.needs[target] = append(m.needs[target], strings.Fields(rule[2])...)
		if rule[3] != "" {
			m.rules[target] = append(m.rules[target], rule[3])
		}
	}
}

func (m *makefile) visit(target string) {
	if m.seen[target] || len(m.lines) > maxLeaves {
		return
	}
	m.seen[target] = true
	for _, need := range m.needs[target] {
		m.visit(need)
	}
	for _, line := range m.rules[target] {
		line = strings.TrimLeft(line, "@-+ ")
		for range maxDepth {
			line = replaced(makeUse, line, func(use string) string {
				if value, is := m.variables[use[2:len(use)-1]]; is && len(line) < maxLine {
					return value
				}
				return use
			})
		}
		m.lines = append(m.lines, strings.ReplaceAll(line, "$$", "$"))
	}
}

// maxLine bounds a line whose variables are replaced.
const maxLine = 10_000
