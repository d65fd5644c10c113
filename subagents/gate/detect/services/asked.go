package services

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

const (
	// maxFiles bounds the files that are read.
	maxFiles = 50
	// maxName bounds the name of a service or an image, in bytes.
	maxName = 100
)

// source is a file that may name services, and how it is read.
type source struct {
	name string
	read func(doc map[string]any) []group
}

// group is a job, or a compose file: its services are used together. env are the variables of what uses them.
type group struct {
	file  string
	asked []asked
	env   map[string]any
}

// asked is a service as a file names it. own are the variables of its container.
type asked struct {
	name, image, tag string
	hosts            []string
	own              map[string]any
	port             port
	flags            []string
}

// port is where a service is reached from outside its container, and inside.
type port struct{ outer, inner int }

// or fills in what a file leaves out.
func (p port) or(usual int) port {
	return port{cmp.Or(p.outer, p.inner, usual), cmp.Or(p.inner, usual)}
}

var (
	workflow = lazyregexp.New(`^\.github/workflows/[^/]+\.ya?ml$`)
	compose  = lazyregexp.New(`^(docker-)?compose([.-][A-Za-z0-9_.-]+)?\.ya?ml$`)
)

// sources are the files to read: those of CI first, since the gates are what CI runs, then compose files, the nearest to the root
// first, and of a directory those whose names have "test".
func sources(files []string) []source {
	var ci, composed []source
	for _, f := range slices.Sorted(slices.Values(files)) {
		switch base := path.Base(f); {
		case workflow.MatchString(f):
			ci = append(ci, source{f, github})
		case f == ".gitlab-ci.yml":
			ci = append(ci, source{f, gitlab})
		case compose.MatchString(base):
			composed = append(composed, source{f, composeFile})
		}
	}
	rank := func(s source) int {
		if strings.Contains(path.Base(s.name), "test") {
			return 2 * strings.Count(s.name, "/")
		}
		return 2*strings.Count(s.name, "/") + 1
	}
	slices.SortStableFunc(composed, func(a, b source) int { return rank(a) - rank(b) })
	all := slices.Concat(ci, composed)
	return all[:min(len(all), maxFiles)]
}

// parse reads one file.
func parse(content []byte, f source) ([]group, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, err
	}
	groups := f.read(doc)
	for i := range groups {
		groups[i].file = f.name
	}
	return groups, nil
}

// composeFile is one group. What it builds, or runs as a service of no known kind, uses the others.
func composeFile(doc map[string]any) []group {
	g := group{env: map[string]any{}}
	list := mapping(doc["services"])
	for _, name := range slices.Sorted(maps.Keys(list)) {
		m := mapping(list[name])
		a := newAsked(name, m["image"], m)
		_, built := m["build"]
		if built || kindOf(&a) == nil {
			merge(g.env, variables(m["environment"]))
		}
		if !built && a.image != "" {
			a.own = variables(m["environment"])
			if host, ok := m["container_name"].(string); ok {
				a.hosts = append(a.hosts, host)
			}
			g.asked = append(g.asked, a)
		}
	}
	return []group{g}
}

// github are the jobs of a workflow that have services.
func github(doc map[string]any) (groups []group) {
	jobs := mapping(doc["jobs"])
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		job := mapping(jobs[id])
		g := group{env: variables(job["env"])}
		steps, _ := job["steps"].([]any)
		for _, s := range steps {
			merge(g.env, variables(mapping(s)["env"]))
		}
		merge(g.env, variables(doc["env"]))
		list := mapping(job["services"])
		for _, name := range slices.Sorted(maps.Keys(list)) {
			m := mapping(list[name])
			a := newAsked(name, m["image"], m)
			a.own = variables(m["env"])
			if a.image != "" {
				g.asked = append(g.asked, a)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// gitlab are the jobs of a pipeline that have services, and what holds for all jobs.
func gitlab(doc map[string]any) (groups []group) {
	jobs := map[string]any{"": map[string]any{"services": doc["services"]}}
	merge(jobs, doc)
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		job := mapping(jobs[id])
		g := group{env: variables(job["variables"])}
		merge(g.env, variables(doc["variables"]))
		list, _ := job["services"].([]any)
		for _, s := range list {
			m := mapping(s)
			if image, is := s.(string); is {
				m = map[string]any{"name": image}
			}
			a := newAsked("", m["name"], m)
			if a.image == "" {
				continue
			}
			a.name = path.Base(a.image)
			a.hosts = []string{strings.ReplaceAll(a.image, "/", "-"), strings.ReplaceAll(a.image, "/", "__")}
			if alias, ok := m["alias"].(string); ok {
				a.name, a.hosts = alias, append(a.hosts, strings.Fields(alias)...)
			}
			a.own = variables(m["variables"])
			merge(a.own, g.env)
			g.asked = append(g.asked, a)
		}
		groups = append(groups, g)
	}
	return groups
}

// newAsked reads what all files have alike.
func newAsked(name string, image any, m map[string]any) asked {
	a := asked{name: text.Head(name, maxName), hosts: []string{name}}
	full, _ := image.(string)
	a.image, _, _ = strings.Cut(text.Head(resolve(full), maxName), "@")
	if i := strings.LastIndex(a.image, ":"); i > strings.LastIndex(a.image, "/") {
		a.image, a.tag = a.image[:i], a.image[i+1:]
	}
	switch c := m["command"].(type) {
	case string:
		a.flags = strings.Fields(c)
	case []any:
		for _, word := range c {
			a.flags = append(a.flags, fmt.Sprint(word))
		}
	}
	if len(a.flags) > 0 && Server(a.flags[0]) {
		a.flags = a.flags[1:]
	}
	if ports, _ := m["ports"].([]any); len(ports) > 0 {
		a.port = portOf(ports[0])
	}
	return a
}

// brand is the image's name where it is one of the official library, or "".
func (a *asked) brand() string {
	name := a.image
	for _, prefix := range []string{"docker.io/", "public.ecr.aws/docker/", "mirror.gcr.io/", "library/", "cimg/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	if strings.Contains(name, "/") {
		return ""
	}
	return name
}

// portOf reads OUTER:INNER, with an address before it and a protocol behind it, INNER alone, or the long form of compose files.
func portOf(v any) (p port) {
	if m := mapping(v); m != nil {
		p.outer, p.inner = whole(fmt.Sprint(m["published"])), whole(fmt.Sprint(m["target"]))
		return p
	}
	spec, _, _ := strings.Cut(resolve(fmt.Sprint(v)), "/")
	parts := strings.Split(spec, ":")
	p.inner = whole(parts[len(parts)-1])
	if len(parts) > 1 {
		p.outer = whole(parts[len(parts)-2])
	}
	return p
}

// whole is a port that a program without rights can have; 0 for none.
func whole(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 1024 && n <= 65535 {
		return n
	}
	return 0
}

// mapping is a mapping, nil for what is none.
func mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	if other, is := v.(map[any]any); is { // it has keys such as 8.0
		m = map[string]any{}
		for key, value := range other {
			m[fmt.Sprint(key)] = value
		}
	}
	return m
}

// merge adds what a map lacks.
func merge(to, from map[string]any) {
	for name, v := range from {
		if _, has := to[name]; !has {
			to[name] = v
		}
	}
}

// variables reads a mapping, or a list of NAME=value.
func variables(v any) map[string]any {
	out := map[string]any{}
	merge(out, mapping(v))
	list, _ := v.([]any)
	for _, one := range list {
		if name, value, ok := strings.Cut(fmt.Sprint(one), "="); ok {
			out[name] = value
		}
	}
	return out
}
