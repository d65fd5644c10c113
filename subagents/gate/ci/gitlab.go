package ci

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"divisi/internal/lazyregexp"
)

// reserved are the fields of GitLab's file that are no jobs.
var reserved = strings.Fields("default include stages variables workflow before_script after_script image services cache spec")

// deploys are names of stages whose commands act on the world.
var deploys = lazyregexp.New(`(?i)deploy|publish|release`)

// pipeline are the jobs of GitLab's file, with those of the files that it includes.
type pipeline struct {
	*Found
	jobs  map[string]node
	in    map[string]string // their files
	order []string
}

// gitlab reads .gitlab-ci.yml with the files of the repository that it includes.
func (f *Found) gitlab(file string, data []byte) {
	p := pipeline{f, map[string]node{}, map[string]string{}, nil}
	p.load(file, data, map[string]bool{})
	for _, name := range p.order {
		if p.jobs[name].is(yaml.MappingNode) && !strings.HasPrefix(name, ".") && !slices.Contains(reserved, name) {
			p.job(name)
		}
	}
}

func (p *pipeline) load(file string, data []byte, done map[string]bool) {
	done[file] = true
	for _, doc := range p.yaml(file, data) {
		for _, one := range doc.get("include").items() {
			local := path.Clean(strings.TrimLeft(cmp.Or(one.get("local").text(), one.text()), "/"))
			more, err := p.read(local)
			if err != nil {
				elsewhere := cmp.Or(one.text(), strings.Join(slices.Collect(maps.Values(one.settings())), " "))
				p.add(place{file: file}.but("a file of elsewhere: it is not followed"), one.line(), "include: "+elsewhere, check)
			} else if !done[local] {
				p.load(local, more, done)
			}
		}
		for name, job := range doc.fields() {
			if _, had := p.jobs[name]; !had {
				p.order = append(p.order, name)
			}
			p.jobs[name], p.in[name] = job, file
		}
	}
}

func (p *pipeline) job(name string) {
	field := func(keys ...string) node { return inherited(p.jobs, p.jobs[name], maxDepth, keys...) }
	either := func(key string) node {
		for _, v := range []node{field(key), p.jobs["default"].get(key), p.jobs[key]} {
			if v.n != nil {
				return v
			}
		}
		return node{}
	}
	at := place{file: p.in[name], job: name}.with(p.jobs["variables"].settings()).with(field("variables").settings())
	hand := field("when").text() == "manual"
	for _, rule := range field("rules").items() {
		hand = hand || rule.get("when").text() == "manual" || strings.Contains(rule.get("if").text(), "$CI_COMMIT_TAG")
	}
	if only := field("only").texts(); hand || len(only) == 1 && (only[0] == "tags" || only[0] == "schedules") {
		at = at.but("CI runs it for tags or by hand")
	}
	if deploys.MatchString(field("stage").text()) || field("environment").n != nil {
		at = at.but("its job deploys")
	}
	for _, one := range either("services").items() {
		image := cmp.Or(one.text(), one.get("name").text())
		at.services = append(at.services, service{image, image})
	}
	if field("allow_failure").text() == "true" {
		at = at.but("CI goes on when it fails")
	}
	at = at.on(strings.Join(field("tags").texts(), " "))
	at.versions = map[string][]string{}
	for _, axis := range field("parallel", "matrix").items() {
		for name, list := range axis.fields() {
			at.versions[name] = append(at.versions[name], list.texts()...)
		}
	}
	s := &script{jobs: p.jobs}
	s.add(either("before_script"), 0)
	s.add(field("script"), 0)
	p.script(at, s)
}

// inherited is a field of a job, or of those that it extends: the last one wins.
func inherited(all map[string]node, job node, depth int, keys ...string) node {
	if found := job.get(keys...); found.n != nil || depth == 0 {
		return found
	}
	extends := job.get("extends").texts()
	slices.Reverse(extends)
	for _, name := range extends {
		if found := inherited(all, all[name], depth-1, keys...); found.n != nil {
			return found
		}
	}
	return node{}
}
