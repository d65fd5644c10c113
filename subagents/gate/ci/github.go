package ci

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// triggers start a workflow for a change that is to be merged.
var triggers = []string{"push", "pull_request", "pull_request_target", "merge_group"}

// github reads a workflow of GitHub Actions.
func (f *Found) github(file string, data []byte) {
	for _, doc := range f.yaml(file, data) {
		on := doc.get("on")
		names := on.texts()
		starts := slices.DeleteFunc(slices.Clone(triggers), func(name string) bool { return !slices.Contains(names, name) })
		if len(starts) == 0 {
			continue
		}
		push := on.get("push")
		if len(starts) == 1 && push.get("tags").n != nil && push.get("branches").n == nil && push.get("paths").n == nil {
			f.add(place{file: file}.but("a workflow for tags alone, which checks no change"), push.line(), "uses: ./"+file, check)
			continue
		}
		paths := on.get("pull_request", "paths").texts()
		paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasPrefix(p, "!") })
		f.workflow(file, doc, place{paths: paths}, nil, maxDepth)
	}
}

// workflow reads the jobs of a workflow, called with inputs.
func (f *Found) workflow(file string, doc node, p place, inputs map[string]string, depth int) {
	p.file = file
	p = p.with(doc.get("env").settings()).in(doc.get("defaults", "run", "working-directory").text())
	for name, job := range doc.get("jobs").fields() {
		p := p.with(job.get("env").settings()).in(job.get("defaults", "run", "working-directory").text())
		p.job = name
		if job.get("environment").n != nil {
			p = p.but("its job deploys")
		}
		for name, one := range job.get("services").fields() {
			p.services = append(p.services, service{name, cmp.Or(one.get("image").text(), one.text())})
		}
		for _, combo := range combinations(job.get("strategy", "matrix")) {
			v := values{env: p.env, inputs: inputs, combo: combo}
			v.env = v.all(maps.Clone(p.env))
			on := append(job.get("runs-on").texts(), job.get("runs-on", "labels").texts()...)
			runsOn := use.ReplaceAllLiteralString(v.put(strings.Join(on, " ")), "")
			v.system = systemOf(runsOn)
			p := p.with(v.env)
			container := cmp.Or(job.get("container", "image").text(), job.get("container").text())
			if image := v.put(container); image != "" {
				p = p.but("it runs in the container " + image)
			}
			if machine := processor.FindString(runsOn); machine != "" && v.system == "" {
				p = p.but("it runs on " + machine)
			}
			f.job(job, p, v, depth)
		}
	}
}

// job reads a job with one combination of its matrix.
func (f *Found) job(job node, p place, v values, depth int) {
	if !v.holds(job.get("if").text()) {
		return
	}
	p.versions = map[string][]string{}
	for name, value := range v.combo {
		if version := value.text(); version != "" && language.MatchString(name) {
			p.versions[name] = []string{version}
		}
	}
	if v.system != "" {
		p = p.but("it runs on " + v.system)
	}
	if uses := job.get("uses"); uses.n != nil {
		if depth > 0 {
			f.call(uses, job.get("with"), p, v, depth-1)
		}
		return
	}
	f.steps(job.get("steps"), p, v, depth)
}

// call reads a reusable workflow of this repository; one of another is named.
func (f *Found) call(uses, with node, p place, v values, depth int) {
	local, is := strings.CutPrefix(uses.text(), "./")
	if !is {
		f.add(p.but("a workflow of another repository: it is not followed"), uses.line(), "uses: "+uses.text(), check)
		return
	}
	data, err := f.read(path.Clean(local))
	if err != nil {
		f.Errors = append(f.Errors, &FileError{File: p.file, Line: uses.line(), Message: uses.text() + " cannot be read"})
		return
	}
	for _, doc := range f.yaml(path.Clean(local), data) {
		inputs := map[string]string{}
		for name, input := range doc.get("on", "workflow_call", "inputs").fields() {
			inputs[name] = input.get("default").text()
		}
		maps.Copy(inputs, v.all(with.settings()))
		f.workflow(path.Clean(local), doc, place{paths: p.paths, why: p.why}, inputs, depth)
	}
}

// steps reads the steps of a job or of a composite action.
func (f *Found) steps(steps node, p place, v values, depth int) {
	for _, step := range steps.items() {
		p.scripts += step.get("run").text() + "\n"
	}
	for _, step := range steps.items() {
		for _, one := range foreign {
			if strings.Contains(step.get("run").text()+step.get("uses").text(), one.word) && v.holds(step.get("if").text()) {
				p = p.but(one.why)
			}
		}
		env := step.get("env")
		if m := use.FindStringSubmatch(env.text()); m != nil { // a mapping of the matrix
			env = v.node(strings.TrimPrefix(m[1], "matrix."))
		}
		own := v.all(env.settings())
		p := p.with(own)
		p.step = own
		v := v
		v.env = p.env
		if !v.holds(step.get("if").text()) {
			continue
		}
		if step.get("continue-on-error").text() == "true" {
			p = p.but("CI goes on when it fails")
		}
		p = p.in(v.put(step.get("working-directory").text()))
		switch run, uses := step.get("run"), step.get("uses"); {
		case run.n != nil:
			s := new(script)
			s.add(run, 0)
			s.replace(v.put(s.text.String()))
			shell := cmp.Or(v.put(step.get("shell").text()), map[string]string{"windows": "pwsh"}[v.system])
			if shell == "cmd" || strings.HasPrefix(shell, "p") { // powershell, python
				p = p.but("it is for the shell " + shell)
				s.replace(strings.ReplaceAll(s.text.String(), "`\n", "\\\n"))
			}
			f.script(p, s)
		case uses.n != nil:
			f.uses(uses, step.get("with"), p, v, depth)
		}
	}
}

// uses adds what an action runs.
func (f *Found) uses(uses, with node, p place, v values, depth int) {
	name, _, _ := strings.Cut(uses.text(), "@")
	if local, is := strings.CutPrefix(name, "./"); is {
		for _, file := range []string{"action.yml", "action.yaml"} {
			file = path.Join(local, file)
			data, err := f.read(file)
			if err != nil || depth == 0 {
				continue
			}
			for _, doc := range f.yaml(file, data) {
				v.inputs = map[string]string{}
				for name, input := range doc.get("inputs").fields() {
					v.inputs[name] = input.get("default").text()
				}
				maps.Copy(v.inputs, v.all(with.settings()))
				p := p
				p.file = file
				f.steps(doc.get("runs", "steps"), p, v, depth-1)
			}
		}
		return
	}
	inputs := v.all(with.settings())
	for section, why := range map[string]string{
		"actions": "", "actions network": "it needs the network", "actions github": "it runs at GitHub alone",
	} {
		if command, is := filled(section, name, inputs); is {
			f.add(p.in(inputs["working-directory"]).but(why), uses.line(), cmp.Or(command, "uses: "+uses.text()), check)
			return
		}
	}
	if checks.MatchString(path.Base(name)) && !reports.MatchString(name) {
		command := "uses: " + uses.text()
		for _, input := range slices.Sorted(maps.Keys(inputs)) {
			command += " " + input + "=" + inputs[input]
		}
		f.add(p.but("an action whose command is not known"), uses.line(), command, check)
	}
}

// foreign are words of a step that makes what comes after it need what is not here.
var foreign = []struct{ word, why string }{
	{"setup-qemu-action", "it emulates another processor"},
	{"sdkmanager", "it needs the SDK of Android"},
	{"setup-android", "it needs the SDK of Android"},
	{"setup-ndk", "it needs the SDK of Android"},
}

var (
	// processor is one of another kind than that of most machines, in the label of a machine.
	processor = lazyregexp.New(`(?i)\b(?:arm(?:64|v\d)?|aarch64|ppc64le|s390x|riscv\d*)\b`)
	// language is the name of an axis of a matrix that is one of versions.
	language = lazyregexp.New(`(?i)^(go|node|python|py|java|jdk|rust|toolchain|ruby|php)[-_.]?(versions?)?$`)
	reports  = lazyregexp.New(`(?i)report|publish|result|upload|comment|setup|label|codeql-action`)
	checks   = lazyregexp.New(`(?i)lint|format|audit|analy[sz]e|typos|clippy|(?:\b|_)(?:check(?:s|er)?|scan|tests?)(?:\b|_)`)
)
