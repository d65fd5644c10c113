package calls

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// packageScript follows a script of a package.json, or a program that a package manager runs.
func (f *follower) packageScript(s scope, name string, rest []string) {
	explicit := false
	if slices.Contains([]string{"run", "run-script", "exec", "dlx", "x", "--"}, rest[0]) {
		explicit = rest[0] == "run" || rest[0] == "run-script"
		if rest = rest[1:]; !explicit {
			s.prefix = []string{name, "exec"}
		}
	}
	if len(rest) == 0 {
		f.lost()
		return
	}
	scripts, dir := f.scripts(s.dir)
	script := rest[0]
	if script == "t" {
		script = "test"
	}
	if scripts[script] == "" || s.prefix != nil {
		if explicit || name == "npm" && s.prefix == nil {
			f.lost()
			return
		}
		f.run(s, rest)
		return
	}
	s.dir = dir
	f.ran(path.Join(dir, "package.json"))
	for _, part := range []string{"pre" + script, script, "post" + script} {
		if text := scripts[part]; text != "" && f.once("script "+path.Join(dir, "package.json")+" "+part) {
			if part == script {
				more := slices.DeleteFunc(rest[1:], func(w string) bool { return w == "--" })
				text = strings.Join(append([]string{text}, more...), " ")
			}
			f.shell(s, text)
		}
	}
}

// scripts are those of the nearest package.json, and the directory of it.
func (f *follower) scripts(dir string) (scripts map[string]string, at string) {
	for ; ; dir = path.Dir(dir) {
		if text, ok := f.read(path.Join(dir, "package.json")); ok {
			var manifest struct {
				Scripts map[string]string `json:"scripts"`
			}
			if json.Unmarshal([]byte(text), &manifest) != nil {
				return nil, dir
			}
			return manifest.Scripts, dir
		}
		if dir == "." {
			return nil, dir
		}
	}
}
