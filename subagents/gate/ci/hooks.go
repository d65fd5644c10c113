package ci

import (
	"cmp"
	"slices"
	"strings"
)

// hookFile configures pre-commit.
const hookFile = ".pre-commit-config.yaml"

// hooks lists the hooks of pre-commit where no command of CI runs them: a service of its own does.
func (f *Found) hooks() {
	data, err := f.read(hookFile)
	if err != nil || slices.ContainsFunc(f.Commands, func(c Command) bool { return strings.Contains(c.Text, "pre-commit run") }) {
		return
	}
	for _, doc := range f.yaml(hookFile, data) {
		for _, repo := range doc.get("repos").items() {
			p := place{file: hookFile, job: repo.get("repo").text()}
			if p.job != "local" && p.job != "meta" {
				p = p.but("pre-commit downloads it")
			}
			for _, hook := range repo.get("hooks").items() {
				if id := hook.get("id").text(); id != "" {
					f.add(p, hook.line(), "pre-commit run "+id+" -a", check)
				}
			}
		}
	}
}

// preCommit is what its hooks run.
func (x *expander) preCommit(args []string) (lines []string) {
	if len(args) == 0 || args[0] != "run" {
		return nil
	}
	docs, _ := parse(hookFile, []byte(x.text(hookFile))) // an error was reported where the file was read
	for _, doc := range docs {
		for _, repo := range doc.get("repos").items() {
			for _, hook := range repo.get("hooks").items() {
				id := hook.get("id").text()
				known, _ := filled("hooks", id, nil)
				command := cmp.Or(known, hook.get("entry").text())
				if names := args[1:]; command != "" && (len(names) == 0 || names[0] == id || strings.HasPrefix(names[0], "-")) {
					lines = append(lines, strings.Join(append([]string{command}, hook.get("args").texts()...), " "))
				}
			}
		}
	}
	return lines
}
