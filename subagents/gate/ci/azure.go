package ci

import (
	"cmp"
	"maps"
	"strings"

	"divisi/internal/lazyregexp"
)

// azure reads a file of Azure Pipelines.
func (f *Found) azure(file string, data []byte) {
	for _, doc := range f.yaml(file, data) {
		if doc.get("trigger").text() == "none" && doc.get("pr").text() == "none" {
			continue
		}
		f.azureJobs(doc, place{file: file})
		for _, stage := range doc.get("stages").items() {
			f.azureJobs(stage, place{file: file}.with(doc.get("variables").settings()).in(""))
			f.azureTemplate(stage, place{file: file})
		}
	}
}

func (f *Found) azureJobs(doc node, p place) {
	p = p.with(doc.get("variables").settings())
	p = p.on(doc.get("pool", "vmImage").text())
	for _, job := range doc.get("jobs").items() {
		p := p.with(job.get("variables").settings())
		p.job = cmp.Or(job.get("job").text(), job.get("deployment").text())
		p = p.on(job.get("pool", "vmImage").text())
		if job.get("deployment").n != nil {
			p = p.but("its job deploys")
		}
		f.azureTemplate(job, p)
		f.azureSteps(job, p)
	}
	f.azureSteps(doc, p)
}

func (f *Found) azureTemplate(v node, p place) {
	if t := v.get("template"); t.n != nil {
		f.add(p.but("a template: it is not followed"), t.line(), "template: "+t.text(), check)
	}
}

func (f *Found) azureSteps(job node, p place) {
	for name, one := range job.get("strategy", "matrix").fields() {
		p.versions = map[string][]string{"matrix": append(p.versions["matrix"], name)}
		first := one.settings()
		maps.Copy(first, p.env)
		p.env = first
	}
	for _, step := range job.get("steps").items() {
		p := p.in(step.get("workingDirectory").text())
		f.azureTemplate(step, p)
		s, task := new(script), step.get("task")
		name, _, _ := strings.Cut(task.text(), "@")
		if command, is := filled("tasks", name, step.get("inputs").settings()); is {
			s.put(task.line(), command)
		} else if name == "Bash" || name == "CmdLine" {
			s.add(step.get("inputs", "script"), 0)
		}
		for _, key := range []string{"script", "bash", "pwsh", "powershell"} {
			s.add(step.get(key), 0)
			if step.get(key).n != nil && strings.HasPrefix(key, "p") {
				p = p.but("it is for the shell " + key)
			}
		}
		s.replace(replaced(azureUse, s.text.String(), func(use string) string {
			return cmp.Or(p.env[use[2:len(use)-1]], use)
		}))
		p.env = nil // they are put in
		f.script(p.with(step.get("env").settings()), s)
	}
}

var azureUse = lazyregexp.New(`\$\([A-Za-z_][\w.]*\)`)
