// Package services proposes the programs that the gates of a repository need beside them, such as a database, from its compose
// files and the services of its CI, out of the programs that are installed. Its input is data of others: what cannot be
// understood proposes nothing, and a value that is no literal is not taken.
package services

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

const (
	// maxNamed is how many names a note has.
	maxNamed = 6
	// maxServices and maxNotes bound a proposal.
	maxServices = 10
	maxNotes    = 30
)

// Installed is a program of the machine.
type Installed struct {
	// Dir has the program; "" for PATH.
	Dir string
	// Version is what it prints for --version.
	Version string
}

// Proposal holds the services that files name.
type Proposal struct {
	Services []spec.Service
	// Files are those that name them. Notes tell what is missing, what is unlike the files, and what is left out.
	Files, Notes []string
}

// Of makes the proposal for tracked files. find finds the installed programs of a name, the preferred one first.
func Of(files []string, read func(string) ([]byte, error), find func(program string) []Installed) Proposal {
	p := &proposer{find: find, kinds: map[string]bool{}, ports: map[int]string{}, vars: map[string]bool{}}
	for _, f := range sources(files) {
		content, err := read(f.name)
		if err != nil {
			continue
		}
		groups, err := parse(content, f)
		if err != nil {
			p.notef("%s is not valid YAML: no service of it is proposed", f.name)
		}
		for _, g := range groups {
			p.group(g)
		}
	}
	return p.Proposal
}

type proposer struct {
	Proposal
	find func(string) []Installed
	// kinds are those that an earlier group has, ports the services that have one, and vars the variables that are set.
	kinds map[string]bool
	ports map[int]string
	vars  map[string]bool
}

func (p *proposer) notef(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); len(p.Notes) < maxNotes && !slices.Contains(p.Notes, n) {
		p.Notes = append(p.Notes, n)
	}
}

// group proposes the services of one job, or of one compose file. The first group that names a kind counts: other jobs and
// files name the same program again.
func (p *proposer) group(g group) {
	var unknown []string
	had := maps.Clone(p.kinds)
	for _, a := range g.asked {
		k := kindOf(&a)
		switch {
		case k == nil:
			unknown = append(unknown, a.image)
		case k != nil && !had[k.name] && len(p.Services) < maxServices:
			p.kinds[k.name] = true
			p.one(g, a, k)
		}
	}
	if len(unknown) > 0 {
		p.notef("%s: no service is proposed for %s; write one where a gate needs it", g.file, text.Some(unknown, maxNamed))
	}
}

// one proposes a service that can be run.
func (p *proposer) one(g group, a asked, k *kind) {
	if a.port = a.port.or(k.port); p.ports[a.port.outer] != "" {
		p.notef("%s (%s) is not proposed: service %s has its port %d", a.name, g.file, p.ports[a.port.outer], a.port.outer)
		return
	}
	with, ok := p.program(g, a, k)
	if !ok {
		return
	}
	s, err := k.service(with)
	if err != nil {
		p.notef("%s (%s) is not proposed: %v", a.name, g.file, err)
		return
	}
	name := p.name(a.name, k.name)
	env, left := p.env(g, a, k)
	s.Name, s.Env = name, env
	p.Services, p.ports[a.port.outer] = append(p.Services, s), name
	if !slices.Contains(p.Files, g.file) {
		p.Files = append(p.Files, g.file)
	}
	for v := range env {
		p.vars[v] = true
	}
	if len(left) > 0 {
		slices.Sort(left)
		p.notef("%s: not taken, as secrets or expressions: %s%s", name, text.Some(slices.Compact(left), maxNamed), k.passwords)
	}
	if len(with.flags) > 0 {
		p.notef("%s: its command in %s is left out: %s", name, g.file, text.Head(strings.Join(with.flags, " "), maxName))
	}
}

// program chooses the installed program of a service: that of the image's own name, and of the version that is asked for, if
// there is one.
func (p *proposer) program(g group, a asked, k *kind) (*server, bool) {
	own := slices.IndexFunc(k.programs, func(c candidate) bool { return c.brand == a.brand() })
	for _, c := range slices.Concat(k.programs[own:], k.programs[:own]) {
		found := p.find(c.program)
		if len(found) == 0 {
			continue
		}
		at := slices.IndexFunc(found, func(i Installed) bool { return major(number.FindString(i.Version)) == major(a.tag) })
		s := &server{a, c.program, found[max(at, 0)]}
		for _, other := range c.others(s) {
			if len(p.find(other)) == 0 {
				p.notef("%s (%s) is not proposed: %s is not installed: apt install %s", a.name, g.file, other, c.debian)
				return nil, false
			}
		}
		version, is := number.FindString(s.Version), c.brand
		if s.maria() {
			is = "mariadb"
		}
		if asks := tag.FindString(a.tag); is != a.brand() || asks != "" && major(version) != "" && major(asks) != major(version) {
			p.notef("%s: %s asks for %s, and %s is installed", a.name, g.file, strings.TrimSpace(a.brand()+" "+asks),
				strings.TrimSpace(is+" "+version))
		}
		return s, true
	}
	p.notef("%s (%s) is not proposed: %s is not installed: apt install %s", a.name, g.file, k.programs[own].program,
		k.programs[own].debian)
	return nil, false
}

var (
	serviceName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`)
	number      = lazyregexp.New(`\d+(\.\d+)+`)
	tag         = lazyregexp.New(`^\d+(\.\d+)*`)
)

// name is the service's own name where a project file takes it, or that of its kind.
func (p *proposer) name(own, kind string) string {
	if !serviceName.MatchString(own) {
		own = kind
	}
	name := own
	for n := 2; slices.ContainsFunc(p.Services, func(s spec.Service) bool { return s.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", own, n)
	}
	return name
}

// major is the first number of a version; "" for none.
func major(version string) string {
	first, _, _ := strings.Cut(tag.FindString(version), ".")
	return first
}

// File writes the proposal for a project file, as comments unless it is taken.
func (p *Proposal) File(taken bool) string {
	var b strings.Builder
	if len(p.Services) > 0 {
		mark, why := "# ", "; take the marks away to have them"
		if taken {
			mark, why = "", ""
		}
		fmt.Fprintf(&b, "\n# Programs that the gates may need beside them (%s)%s.\n%sservices:\n",
			text.OneLine(text.Some(p.Files, maxNamed)), why, mark)
		for _, s := range p.Services {
			fmt.Fprintf(&b, "  %s- name: %s\n", mark, text.Scalar(s.Name))
			for _, c := range []struct {
				key  string
				argv []string
			}{{"prepare", s.Prepare}, {"command", s.Command}, {"ready", s.Ready}} {
				if len(c.argv) > 0 {
					fmt.Fprintf(&b, "    %s%s: %s\n", mark, c.key, text.Flow(c.argv))
				}
			}
			if len(s.Env) > 0 {
				fmt.Fprintf(&b, "    %senv:\n", mark)
			}
			for _, name := range slices.Sorted(maps.Keys(s.Env)) {
				fmt.Fprintf(&b, "      %s%s: %s\n", mark, text.Scalar(name), text.Scalar(s.Env[name]))
			}
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "# %s\n", text.OneLine(n))
	}
	return b.String()
}
