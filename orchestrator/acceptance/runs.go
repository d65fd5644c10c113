package acceptance

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// Root is a file of the base commit that gates begin with.
type Root struct {
	Path    string
	Content []byte
}

// RootNames are the names of such files, in the top directory and in those that gates name.
var RootNames = []string{"Makefile", "makefile", "GNUmakefile", "package.json"}

// ran lists the programs and files of one command of the project, or of one file that gates begin with.
type ran struct {
	of string
	// files are arguments of their own and what is included, scripts the words in the lines of a shell; below are directories and
	// patterns of scripts.
	files, scripts paths
	below          []string
}

// paths are names of files, and patterns where a part is not known.
type paths struct {
	names map[string]bool
	globs []string
}

func (p *paths) add(dir, word string) {
	switch name := path.Join(dir, word); {
	case !letter.MatchString(word):
	case strings.ContainsAny(word, "*?[{"):
		p.globs = append(p.globs, name)
	default:
		p.names[name] = true
	}
}

func (p *paths) has(name string) bool {
	return p.names[name] || slices.ContainsFunc(p.globs, func(glob string) bool {
		return doublestar.MatchUnvalidated(glob, name)
	})
}

var (
	// interpreted is the path of what an interpreter runs.
	interpreted = re(`(?:^|/)[^./]+$|\.(?:sh|bash|zsh|py|pl|rb|[cm]?js|ts|t|php|awk|lua|mk)$`)
	// ofShell is the path of a script that prints what it found.
	ofShell = re(`(?:^|/)[^./]+$|\.(?:t|sh|bash|pl)$`)
	// unknown is a part of a command that is known when it runs.
	unknown = re(`\$\([^)]*\)|\$\{[^}]*\}|\$\w`)
	letter  = re(`\w`)
)

// ofLine cuts the line of a shell into words.
func ofLine(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()'\"`=<>", r) }

// runners are the commands of the project: gates, setup, services, and what the files run that gates begin with.
func (p *Patch) runners() (out []*ran) {
	command := func(of string, args []string) *ran {
		r := newRan(of)
		for _, arg := range args {
			r.files.names[path.Clean(arg)] = true
			r.line(".", arg)
		}
		out = append(out, r)
		return r
	}
	for _, c := range p.Beside {
		command(c.Of, c.Args)
	}
	for _, g := range p.Gates {
		if r := command("the gate "+g.Name, g.Command); g.Format == formatTAP {
			r.below = g.Command
		}
	}
	for _, root := range p.Roots {
		r := newRan(root.Path)
		if path.Base(root.Path) == "package.json" {
			r.scriptsOf(p, root)
		} else {
			r.makefile(p, root)
		}
		out = append(out, r)
	}
	return out
}

// formatTAP is the format of a gate whose tests are scripts that print what they find.
const formatTAP = "tap"

func newRan(of string) *ran {
	return &ran{of: of, files: paths{names: map[string]bool{}}, scripts: paths{names: map[string]bool{}}}
}

// line notes the words of a shell's line that can be scripts. A pattern of the shell names files to work on.
func (r *ran) line(dir, text string) {
	const open = "\x00"
	for _, word := range strings.FieldsFunc(unknown.ReplaceAllLiteralString(text, open), ofLine) {
		if !strings.ContainsAny(word, "*?[{") {
			r.scripts.add(dir, strings.ReplaceAll(word, open, "*"))
		}
	}
}

// scriptsOf notes what the scripts of a package.json call that gates run.
func (r *ran) scriptsOf(p *Patch, root Root) {
	values, err := nodePackage(p, root.Content)
	if err != nil { // npm cannot read it either
		return
	}
	for name, text := range values {
		if strings.HasPrefix(name, scriptField) {
			r.line(path.Dir(root.Path), text)
		}
	}
}

var (
	makes = re(`\bg?make\b`)
	// ruleHead begins a rule of a Makefile: its targets, and what they are made of.
	ruleHead = re(`^([^\s#:=][^#:=]*)::?(?:[^=]|$)`)
)

// makefile notes what a Makefile includes, and what the rules call that gates reach.
func (r *ran) makefile(p *Patch, root Root) {
	dir := path.Dir(root.Path)
	rules, words := map[string]string{}, p.gateWords(makes)
	var targets []string
	chosen := false
	for line := range strings.Lines(strings.ReplaceAll(string(root.Content), "\\\n", " ")) {
		fields := strings.Fields(unknown.ReplaceAllString(line, "*"))
		head := ruleHead.FindStringSubmatch(line)
		switch {
		case len(fields) > 1 && strings.TrimLeft(fields[0], "-s") == "include":
			for _, word := range fields[1:] {
				r.files.add(dir, word)
			}
			continue
		case head != nil && !strings.HasPrefix(line, "\t"):
			targets, line = strings.Fields(head[1]), line[len(head[0])-1:]
			if !chosen && targets[0][0] != '.' { // it is made where no target is named
				chosen = true
				add(words, targets)
			}
		}
		for _, target := range targets {
			rules[target] += line
		}
	}
	for more := true; more; {
		more = false
		for target, lines := range rules {
			if words[target] || strings.Contains(target, "%") {
				more = true
				add(words, strings.FieldsFunc(lines, ofLine))
				r.line(dir, lines)
				delete(rules, target)
			}
		}
	}
}

// gateWords are the words of the commands of gates that start a program.
func (p *Patch) gateWords(program *lazyregexp.Regexp) map[string]bool {
	words := map[string]bool{}
	for _, g := range p.Gates {
		if command := strings.Join(g.Command, " "); program.MatchString(command) {
			add(words, word.FindAllString(command, -1))
		}
	}
	return words
}

// runs reports whether a file is run or read. Tests are compared by what they hold.
func (r *ran) runs(f *file) bool {
	if f.language >= 0 {
		return false
	}
	return r.files.has(f.Path) || interpreted.MatchString(f.Path) && r.scripts.has(f.Path) ||
		ofShell.MatchString(f.Path) && spec.MatchAny(r.below, f.Path)
}
