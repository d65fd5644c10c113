package sandbox

import (
	"path/filepath"

	"divisi/internal/sandbox/stage"
)

// Hides returns where a program of an environment's PATH leads to, where that is a place which commands do not see; "" else.
func Hides(program string, env []string) string {
	target, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	dirs, _ := whatIsHidden()
	list := system()
	list = list[:len(list):len(list)]
	for _, path := range toolchains(env) {
		list = append(list, stage.Mount{From: path, To: path})
	}
	if covered(target, list, dirs) || !Probe().Confined() {
		return ""
	}
	return target
}
