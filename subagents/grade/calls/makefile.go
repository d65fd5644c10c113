package calls

import (
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// Makefile is the relevant part of one.
type Makefile struct {
	vars    map[string]string
	rules   map[string]*rule
	pattern []*rule // rules of patterns: each may run
	// First is the target that make has for none.
	First string
	// odd reports what cannot be followed: an include, a condition, a function that makes rules.
	odd bool
	// room is what variables may still become in the whole file, in bytes.
	room int
}

type rule struct {
	needs             []string
	recipe            []string
	pattern, followed bool
}

var (
	makeVar  = lazyregexp.New(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*(?:::?:?|\?|\+|!)?=\s*(.*)$`)
	makeRule = lazyregexp.New(`^([^\s:#=][^:#=]*?)\s*::?(?:[^=]|$)`)
	makeCall = lazyregexp.New(`\$\((shell|wildcard|patsubst|subst|filter|filter-out|sort|strip|notdir|dir|basename|suffix|` +
		`addprefix|addsuffix|word|words|firstword|lastword|abspath|realpath|if|or|and|foreach|error|warning|info|` +
		`[A-Za-z_]+:)[ :.%)]`)
	makeWord = lazyregexp.New(`\$[({]([A-Za-z_][A-Za-z0-9_.]*)[)}]`)
)

// builtin are variables of make that no Makefile sets.
var builtin = map[string]string{
	"CC": "cc", "CXX": "c++", "CPP": "cc", "AR": "ar", "LD": "ld", "AS": "as", "RM": "rm -f", "MAKE": "make", "FC": "gfortran",
	"INSTALL": "install", "GO": "go", "PYTHON": "python3", "SHELL": "/bin/sh", "NODE": "node", "NPM": "npm", "CARGO": "cargo",
}

// maxExpanded and maxRoom bound, in bytes, what the variables of one line become, and those of a file.
const (
	maxExpanded = 64 << 10
	maxRoom     = 8 << 20
)

// make follows the targets of a call of make.
func (f *follower) make(s scope, args []string) {
	s.errexit = false
	s = inDir(f, s, args)
	name, targets := "", []string{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case (arg == "-f" || arg == "-C") && i+1 < len(args):
			if i++; arg == "-f" {
				name = f.file(s, "./"+args[i])
			}
		case strings.HasPrefix(arg, "-"), arg == "":
			s.sure = s.sure && !strings.Contains(arg, "i")
		case strings.Contains(arg, "="):
			s.env = append(slices.Clone(s.env), arg)
		case isVar(arg):
			f.lost()
		default:
			targets = append(targets, arg)
		}
	}
	for _, usual := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if name == "" {
			name = f.file(s, "./"+usual)
		}
	}
	text, ok := f.read(name)
	if name == "" || !ok {
		f.lost()
		return
	}
	f.ran(name)
	m := ReadMakefile(text)
	if m.odd {
		f.lost()
		s.sure = false
	}
	if len(targets) == 0 {
		targets = []string{m.First}
	}
	for _, value := range s.env {
		if key, value, ok := strings.Cut(value, "="); ok {
			m.vars[key] = value
		}
	}
	s.vars = m.vars
	for _, target := range targets {
		f.target(s, m, name, target)
	}
}

// target follows what makes a target, and what it needs. What no rule makes is a file, or the rules of a pattern make it, or
// those that make has by itself, which compile.
func (f *follower) target(s scope, m *Makefile, name, target string) {
	if !f.once("make " + name + " " + target) {
		return
	}
	f.depth++
	defer func() { f.depth-- }()
	if strings.ContainsAny(target, "$%") { // of files that are not known
		for _, other := range slices.Sorted(maps.Keys(m.rules)) {
			if strings.ContainsAny(other, "./%") {
				f.target(s, m, name, other)
			}
		}
	}
	r := m.rules[target]
	if r != nil {
		for _, need := range r.needs {
			f.target(s, m, name, need)
		}
		f.recipe(s, m, r)
	}
	if (r == nil || len(r.recipe) == 0) && path.Ext(target) != "" && f.file(s, "./"+target) == "" {
		for _, p := range m.pattern {
			f.recipe(s, m, p)
		}
		if f.once("make by itself") {
			f.run(s, []string{"cc"})
		}
	}
}

func (f *follower) recipe(s scope, m *Makefile, r *rule) {
	if r.followed {
		return
	}
	r.followed = true
	for _, line := range r.recipe {
		at, text := s, m.expand(line)
		line = strings.TrimLeft(text, "@-+ \t")
		at.sure = s.sure && !strings.Contains(strings.TrimSuffix(text, line), "-")
		f.shell(at, line)
	}
}

// Put replaces the variables that are known.
func (m *Makefile) Put(text string) string {
	left := min(maxExpanded, m.room)
	for range 4 {
		text = makeWord.ReplaceAllStringFunc(text, func(v string) string {
			value, ok := m.value(v)
			if left -= len(value); !ok || left < 0 {
				return v
			}
			m.room -= len(value)
			return value
		})
	}
	return text
}

// value is that of a variable, by its use.
func (m *Makefile) value(use string) (string, bool) {
	name := use[2 : len(use)-1]
	value, ok := m.vars[name]
	if !ok {
		value, ok = builtin[name]
	}
	return value, ok
}

// expand is Put; other variables are empty, and what functions of make return is not known. $$ is the shell's $.
func (m *Makefile) expand(text string) string {
	text = makeWord.ReplaceAllStringFunc(m.Put(text), func(v string) string {
		if _, ok := m.value(v); ok {
			return v
		}
		return ""
	})
	var b strings.Builder
	for {
		at := makeCall.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		end := at[0] + 1 + closing(text[at[0]+1:], '(', ')')
		b.WriteString(text[:at[0]])
		if text[at[2]:at[3]] == "shell" {
			b.WriteString("$$" + text[at[0]+1:at[2]] + text[at[3]:end])
		} else {
			b.WriteString("%")
		}
		text = text[end:]
	}
	b.WriteString(text)
	return strings.ReplaceAll(b.String(), "$$", "$")
}

// Rule has the targets that a target needs, and what makes it.
func (m *Makefile) Rule(target string) (needs, recipe []string) {
	if r := m.rules[target]; r != nil {
		return r.needs, r.recipe
	}
	return nil, nil
}

// ReadMakefile reads the text of one.
func ReadMakefile(text string) *Makefile {
	m := &Makefile{vars: map[string]string{}, rules: map[string]*rule{}, room: maxRoom}
	var now []*rule
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "\t") && now != nil {
			for _, r := range now {
				r.recipe = append(r.recipe, line)
			}
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.TrimSpace(line) == "":
		case slices.Contains([]string{"ifeq", "ifneq", "ifdef", "ifndef", "define", "include"}, word),
			strings.HasPrefix(line, "$("):
			m.odd = true
		case slices.Contains([]string{"else", "endif", "endef", "-include", "sinclude", "export", "unexport", "vpath"}, word) &&
			!makeVar.MatchString(line):
		default:
			now = m.line(line, now)
		}
	}
	return m
}

// line reads the assignment of a variable or the head of a rule, and returns the rules that are open.
func (m *Makefile) line(line string, now []*rule) []*rule {
	if v := makeVar.FindStringSubmatch(line); v != nil {
		m.vars[v[1]] = strings.TrimSpace(v[2])
		return nil
	}
	head := makeRule.FindStringSubmatch(m.expand(line))
	if head == nil {
		m.odd = true
		return now
	}
	_, needs, _ := strings.Cut(m.expand(line), ":")
	needs, recipe, inline := strings.Cut(strings.TrimLeft(needs, ":"), ";")
	now = nil
	for name := range strings.FieldsSeq(head[1]) {
		if strings.HasPrefix(name, ".") && !strings.Contains(name, "/") && name == strings.ToUpper(name) {
			m.odd = m.odd || name == ".ONESHELL" || name == ".IGNORE"
			continue // .PHONY
		}
		r := m.rules[name]
		if r == nil {
			r = &rule{pattern: strings.Contains(name, "%") || strings.HasPrefix(path.Base(name), ".")}
			m.rules[name] = r
			if r.pattern {
				m.pattern = append(m.pattern, r)
			}
		}
		if m.First == "" && !r.pattern {
			m.First = name
		}
		for need := range strings.FieldsSeq(needs) {
			if need != "|" {
				r.needs = append(r.needs, need)
			}
		}
		if inline {
			r.recipe = append(r.recipe, recipe)
		}
		now = append(now, r)
	}
	return now
}
