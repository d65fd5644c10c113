package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a plan, a role, a project file or a result.
type Problem struct {
	// Path leads to the faulty value, e.g. tasks[2].files[0]; empty means the whole.
	Path string `json:"path,omitempty"`
	// Message reports what is wrong, in one sentence without a full stop.
	Message string `json:"message"`
	// Suggest is the nearest valid value or what to write instead; empty where there is none.
	Suggest string `json:"suggest,omitempty"`
	// Done reports that the fault is perhaps no mistake: match found nothing, as it does once the work is done.
	Done bool `json:"-"`
}

// String writes the problem in one line: path, message, suggestion.
func (p Problem) String() string {
	var b strings.Builder
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Suggest != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", p.Suggest)
	}
	return b.String()
}

// PlanError is an invalid plan, with every error found.
type PlanError struct{ Problems []Problem }

// Error lists the problems, one a line.
func (e *PlanError) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Env is the context in which a plan or a role is checked.
type Env struct {
	// Roles are the known roles by name.
	Roles map[string]Role
	// Gates are the names of the project's gates; nil means that they are not known yet, and nothing is checked.
	Gates []string
	// Tasks are those that the run has already; a plan that grows may depend on them.
	Tasks []Task
}

// problems collects faults while a value is walked.
type problems struct{ list []Problem }

func (p *problems) addf(path, suggest, format string, args ...any) {
	p.list = append(p.list, Problem{Path: path, Suggest: suggest, Message: fmt.Sprintf(format, args...)})
}

// atLeast faults a number below its least value.
func (p *problems) atLeast(path string, value, least int) {
	if value < least {
		p.addf(path, "", "%d is below %d", value, least)
	}
}

// oneOf faults a value outside a closed set; the empty value passes.
func (p *problems) oneOf(path, what, value string, set ...string) {
	if value == "" || slices.Contains(set, value) {
		return
	}
	if gone := Removed(what, value); gone != "" {
		p.addf(path, "", "%s", gone)
		return
	}
	p.addf(path, Nearest(value, set), "%s %q is not one of %s", what, value, strings.Join(set, ", "))
}

// known faults a name that is not in the set, and reports which names there are.
func (p *problems) known(path, what, name string, set []string) {
	if slices.Contains(set, name) {
		return
	}
	if gone := Removed(what, name); gone != "" {
		p.addf(path, "", "%s", gone)
		return
	}
	p.addf(path, Nearest(name, set), "there is no %s %q; there %s", what, name, listNames(set))
}

// text faults control characters that no readable text has.
func (p *problems) text(path, value string) {
	if strings.ContainsRune(value, 0) {
		p.addf(path, "", "the text contains a NUL character")
	}
}

// argv faults a command whose program is missing or that cannot be executed as written.
func (p *problems) argv(path string, command []string) {
	for i, arg := range command {
		if i == 0 && strings.TrimSpace(arg) == "" {
			p.addf(fmt.Sprintf("%s[0]", path), "", "the program's name is empty")
		}
		p.text(fmt.Sprintf("%s[%d]", path, i), arg)
	}
}

// The arguments of a role's command that stand for files of the task.
const (
	ArgFiles = "{files}"
	ArgFile  = "{file}"
)

// placeholders faults arguments that hold a placeholder for files where it is not replaced.
func (p *problems) placeholders(path string, command []string, each bool) {
	for i, arg := range command {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i > 0 && (arg == ArgFiles || arg == ArgFile && each):
		case i > 0 && arg == ArgFile:
			p.addf(at, ArgFiles, "%s is the file of one run, and the role does not have each: true", ArgFile)
		case strings.Contains(arg, ArgFiles) || strings.Contains(arg, ArgFile):
			p.addf(at, "", "%s and %s must be arguments of their own, after the program: a shell gets them as \"$@\", with "+
				"command: [sh, -c, 'sed -i s/a/b/ \"$@\"', sh, %s]", ArgFiles, ArgFile, ArgFiles)
		}
	}
}

func listNames(set []string) string {
	switch len(set) {
	case 0:
		return "are none"
	case 1:
		return "is only " + set[0]
	}
	const most = 24
	if len(set) > most {
		return fmt.Sprintf("are %s and %d more", strings.Join(set[:most], ", "), len(set)-most)
	}
	return "are " + strings.Join(set, ", ")
}

// Nearest returns the candidate that a mistyped name most likely meant, by edit distance; empty when none is near.
// Case and the difference of - and _ cost nothing. Equal distances are settled by the alphabet.
func Nearest(name string, candidates []string) string {
	near := NearestAll(name, candidates, 1)
	if len(near) == 0 {
		return ""
	}
	return near[0]
}

// NearestAll returns up to most near candidates, the nearest first.
func NearestAll(name string, candidates []string, most int) []string {
	type scored struct {
		name string
		cost int
	}
	const longest = 128 // a longer name is no typing mistake, and the table below is quadratic
	if name == "" || len(name) > longest {
		return nil
	}
	var near []scored
	want := fold(name)
	for _, c := range candidates {
		have := fold(c)
		if len(have) > longest {
			continue
		}
		cost := editDistance(want, have)
		if len(want) >= 3 && (strings.HasPrefix(have, want) || strings.HasPrefix(want, have) && len(have) >= 3) {
			cost = min(cost, 2)
		}
		if cost <= 1+max(len(want), len(have))/4 && cost < max(len(want), len(have)) {
			near = append(near, scored{c, cost})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), strings.Compare(a.name, b.name))
	})
	names := make([]string, 0, most)
	for _, s := range near[:min(most, len(near))] {
		names = append(names, s.name)
	}
	return names
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			differ := 1
			if x[i-1] == y[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// removed are fields, values and tools that files of an older version of Divisi could name, with what to write instead. A key is
// "field NAME", "tool NAME", or the name of a field and its value.
var removed = map[string]string{
	"tier flex":            "use standard or priority, or leave it out",
	"tool apply_patch":     "list edit_file, which takes several edits in several files",
	"tool report_progress": "list update_plan",
	"field include_protected": "remove it, shards have the tests that the rule matches; a file that is still protected " +
		"(CI, linters, gates) is written into files of a task without a shard rule",
	"model embedding": "remove the alias, notes are found by their words and tags",
}

// Removed explains what an older version accepted; empty for everything else.
func Removed(what, name string) string {
	instead, ok := removed[what+" "+name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %q was removed: %s", what, name, instead)
}
