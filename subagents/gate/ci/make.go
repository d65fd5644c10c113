package ci

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"divisi/subagents/grade/calls"
)

// make is the recipe of targets, behind that of those that they need.
func (x *expander) make(dir string, args []string) (lines []string) {
	text := ""
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		text = cmp.Or(x.text(path.Join(dir, name)), text)
	}
	m := calls.ReadMakefile(text)
	targets := slices.DeleteFunc(slices.Clone(args), func(w string) bool {
		return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
	})
	if len(targets) == 0 {
		targets = []string{m.First}
	}
	seen := map[string]bool{}
	var visit func(target string)
	visit = func(target string) {
		if seen[target] || len(lines) > maxLeaves {
			return
		}
		seen[target] = true
		needs, recipe := m.Rule(target)
		for _, need := range needs {
			visit(need)
		}
		for _, line := range recipe {
			lines = append(lines, strings.TrimLeft(strings.ReplaceAll(m.Put(line), "$$", "$"), "@-+ \t"))
		}
	}
	for _, target := range targets {
		visit(target)
	}
	return lines
}
