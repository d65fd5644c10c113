package sandbox

import (
	"path/filepath"
	"slices"

	"divisi/internal/sandbox/stage"
)

// Hides returns where a program of the machine leads to, which is named by its absolute path, where that is a place that
// commands with the PATH of an environment do not see; "" else.
func Hides(program string, env []string) string {
	target, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	dirs, _ := whatIsHidden()
	list := system()
	list = list[:len(list):len(list)]
	tools := toolchains(env)
	if dir := rustup(env); dir != "" {
		tools = append(tools, dir)
	}
	for _, path := range tools {
		list = append(list, stage.Mount{From: path, To: path})
	}
	if covered(target, list, dirs) || shows(program, target, list) || !Probe().Confined() {
		return ""
	}
	return target
}

// shows reports whether a part that lies below a link of the machine, as a home does in some systems, shows a program.
func shows(program, target string, list []stage.Mount) bool {
	return slices.ContainsFunc(list, func(m stage.Mount) bool {
		if m.Link != "" || !within(filepath.Clean(program), m.To) {
			return false
		}
		from, err := filepath.EvalSymlinks(m.From)
		return err == nil && within(target, from)
	})
}
