package ci

import (
	"cmp"
	"maps"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"divisi/internal/lazyregexp"
)

// circle reads .circleci/config.yml.
func (f *Found) circle(file string, data []byte) {
	for _, doc := range f.yaml(file, data) {
		started := map[string]node{}
		for _, flow := range doc.get("workflows").fields() {
			if len(flow.get("triggers").items()) == 0 { // else a clock starts it
				starts(started, flow)
			}
		}
		for name, job := range doc.get("jobs").fields() {
			with, is := started[name]
			if is || doc.get("workflows").n == nil {
				f.circleJob(doc, job, with, place{file: file, job: name}.in(workDir(job)).with(job.get("environment").settings()))
			}
		}
	}
}

// starts notes the jobs that a workflow starts for a change: not those for some branches or tags alone.
func starts(jobs map[string]node, flow node) {
	for _, one := range flow.get("jobs").items() {
		for _, job := range append(one.texts(), one.text()) {
			filters := one.get(job, "filters")
			tags := filters.get("tags").n != nil && filters.get("branches", "ignore").n != nil
			if !tags && filters.get("branches", "only").n == nil {
				jobs[job] = one.get(job)
			}
		}
	}
}

func workDir(v node) string {
	dir := v.get("working_directory").text()
	if strings.HasPrefix(dir, "~") || path.IsAbs(dir) {
		return "" // the checkout is put there
	}
	return dir
}

func (f *Found) circleJob(doc, job, with node, p place) {
	values := defaults(job)
	for name, value := range with.get("matrix", "parameters").fields() {
		p.versions = map[string][]string{name: value.texts()}
		values[name] = append(value.texts(), "")[0]
	}
	maps.Copy(values, with.settings())
	executor := doc.get("executors", cmp.Or(job.get("executor").text(), job.get("executor", "name").text()))
	for _, on := range []node{job, executor} {
		if on.get("macos").n != nil {
			p = p.on("macos")
		}
		if images := on.get("docker").items(); len(images) > 1 { // steps run in the first
			for _, one := range images[1:] {
				image := one.get("image").text()
				p.services = append(p.services, service{image, image})
			}
		}
	}
	f.circleSteps(doc, job.get("steps"), p, values, maxDepth)
}

// defaults are those of the parameters of a job or a command.
func defaults(v node) map[string]string {
	values := map[string]string{}
	for name, parameter := range v.get("parameters").fields() {
		values[name] = parameter.get("default").text()
	}
	return values
}

var parameter = lazyregexp.New(`<<\s*parameters\.([\w-]+)\s*>>`)

func (f *Found) circleSteps(doc, steps node, p place, values map[string]string, depth int) {
	for _, step := range steps.items() {
		name := append(append(step.texts(), step.text()), "")[0]
		own := doc.get("commands", name)
		switch run := step.get("run"); {
		case depth == 0 || name == "":
		case run.is(yaml.MappingNode):
			if run.get("when").text() != "on_fail" {
				f.circleRun(p.in(workDir(run)).with(run.get("environment").settings()), run.get("command"), values)
			}
		case run.n != nil:
			f.circleRun(p, run, values)
		case name == "when" || name == "unless":
			f.circleSteps(doc, step.get(name, "steps"), p, values, depth-1)
		case own.n != nil:
			with := defaults(own)
			maps.Copy(with, step.get(name).settings())
			f.circleSteps(doc, own.get("steps"), p, with, depth-1)
		case strings.Contains(name, "/") && checks.MatchString(path.Base(name)):
			f.add(p.but("a command of an orb: it is not followed"), step.line(), "orb: "+name, check)
		}
	}
}

func (f *Found) circleRun(p place, command node, values map[string]string) {
	s := new(script)
	s.add(command, 0)
	s.replace(replaced(parameter, s.text.String(), func(use string) string {
		return cmp.Or(values[parameter.FindStringSubmatch(use)[1]], use)
	}))
	f.script(p, s)
}
