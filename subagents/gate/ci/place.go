package ci

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// place is where commands are, and how they run.
type place struct {
	file, job string
	dir       string
	env       map[string]string
	step      map[string]string // variables for the commands of one step alone
	versions  map[string][]string
	why       string
	paths     []string
	services  []service
	scripts   string // of all steps of the job, where a command may write what another one reads
}

// service is a server that CI starts beside a job: its name there, and its image.
type service struct{ name, image string }

// meets reports whether a service of the project is that one: by its name, or by the program that the image is named after.
func (s service) meets(of *spec.Service) bool {
	brand, _, _ := strings.Cut(path.Base(s.image), ":")
	return s.name == of.Name || brand != "." && strings.Contains(text.CommandLine(of.Command), brand)
}

// in returns the place with another directory, where there is one.
func (p place) in(dir string) place {
	p.dir = cmp.Or(dir, p.dir)
	return p
}

// with returns the place with more variables.
func (p place) with(env map[string]string) place {
	all := map[string]string{}
	maps.Copy(all, p.env)
	maps.Copy(all, env)
	p.env = all
	return p
}

// but returns the place with a reason why its commands do not run here, unless it has one.
func (p place) but(why string) place {
	p.why = cmp.Or(p.why, why)
	return p
}

// on returns the place with the system that a runner's name tells, where it is another one.
func (p place) on(runner string) place {
	if system := systemOf(runner); system != "" {
		return p.but("it runs on " + system)
	}
	return p
}

func systemOf(runner string) string {
	for _, system := range []string{"windows", "macos"} {
		if strings.Contains(strings.ToLower(runner), system) {
			return system
		}
	}
	return ""
}

var (
	secret     = lazyregexp.New(`\$\{\{[^}]*\bsecrets\.(\w+)`)
	expression = lazyregexp.New(`\$\{\{.*?\}\}|<<\s*\w[\w.]*\s*>>|\$\(\w+\.[\w.]+\)`)
	piped      = lazyregexp.New(`\s*(?:2>&1\s*)?\|\s*tee\b(?:\s+-a)?\s*(\S*).*$`)
	exits      = lazyregexp.New(`\bexit\s+[1-9$]`)
)

// settings gives a command the variables of the place that matter to it.
func (p place) settings(c *Command) {
	for _, name := range slices.Sorted(maps.Keys(p.env)) {
		value := p.env[name]
		_, own := p.step[name]
		used := strings.Contains(c.Text, "$"+name) || strings.Contains(c.Text, "${"+name)
		unknown := expression.FindString(value)
		switch m := secret.FindStringSubmatch(value); {
		case m != nil && m[1] != "GITHUB_TOKEN":
			c.Why = cmp.Or(c.Why, "it needs the secret "+m[1])
		case used && unknown != "":
			c.Why = cmp.Or(c.Why, "what "+unknown+" is, its CI alone knows")
		case used || (own || matters.MatchString(name) && !cosmetic.MatchString(name) && value != "") && unknown == "":
			c.Env = append(c.Env, name+"="+value)
		}
	}
}

// maxScript bounds, in bytes, a script that is read, and what replaces variables in a text.
const maxScript = 64 << 10

// replaced replaces what matches, until that is too much.
func replaced(of *lazyregexp.Regexp, text string, by func(string) string) string {
	room := maxScript
	return of.ReplaceAllStringFunc(text, func(use string) string {
		value := by(use)
		if room -= len(value); room < 0 {
			return use
		}
		return value
	})
}

// script adds the commands of a script.
func (f *Found) script(p place, s *script) {
	if s.text.Len() > maxScript {
		f.add(p.but("it is too long to be read"), s.line(0), text.Head(strings.TrimSpace(s.text.String()), text.MaxLine), check)
		return
	}
	parts, whole := split(s.text.String())
	if whole || slices.ContainsFunc(parts, func(p part) bool { return p.words[0] == "cd" && strings.Contains(p.text, "$") }) {
		f.block(p, s, parts)
		return
	}
	for _, part := range parts {
		switch list := part.words; {
		case list[0] == "cd" || list[0] == "pushd":
			if len(list) == 2 {
				p.dir = path.Join(p.dir, list[1])
			}
		case list[0] == "export" || len(list) == 1 && assignment.MatchString(list[0]):
			for _, w := range list {
				if m := assignment.FindStringSubmatch(w); m != nil {
					p = p.with(map[string]string{m[1]: m[2]})
				}
			}
		default:
			command := piped.ReplaceAllLiteralString(part.text, "")
			if m := piped.FindStringSubmatch(part.text); m != nil && m[1] != "" && strings.Count(p.scripts, m[1]) > 1 {
				command = part.text
			}
			f.add(p, s.line(part.line), command, kindOf(list))
		}
	}
}

// block adds a script as one command, where a shell decides what it runs.
func (f *Found) block(p place, s *script, parts []part) {
	is := setup
	for _, part := range parts {
		list := part.words
		for len(list) > 0 && list[0] != "exit" && slices.Contains(keywords, list[0]) {
			if slices.Contains([]string{"[", "[[", "for", "case"}, list[0]) {
				list = nil // words, and no command
				break
			}
			list = list[1:]
		}
		is = max(is, kindOf(list))
	}
	if told := len(parts) == 2 && parts[0].words[0] == "echo"; is == setup && !told && exits.MatchString(s.text.String()) {
		is = check
	}
	if len(parts) > 0 {
		f.add(p, s.line(parts[0].line), strings.TrimSpace(s.text.String()), is)
	}
}
