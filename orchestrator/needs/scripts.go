package needs

import (
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var (
	// interpreters run the file that their first argument names.
	interpreters = lazyregexp.New(`^(?:python|node|ruby|perl|sh|bash|dash|zsh)[0-9.]*$`)
	// scripts are the ends of names that no argument but a script has.
	scripts = lazyregexp.New(`\.(?:py|js|cjs|mjs|ts|rb|pl|sh|bash)$`)
)

// Script is the file of the repository that a command needs to begin, as git names it: its program, where that is a relative
// path, or the script that an interpreter is given as its first argument; "" where there is none, or where that is not certain.
func Script(command []string) string {
	name := spec.ProgramOf(command)
	if !strings.Contains(name, "/") || filepath.IsAbs(name) {
		name = scriptOf(path.Base(name), command[slices.Index(command, name)+1:])
	}
	if name == "" || !filepath.IsLocal(name) || strings.ContainsAny(name, "{}") {
		return ""
	}
	return path.Clean(filepath.ToSlash(name))
}

// scriptOf is the script that an interpreter is given; "" for another program. Node takes a name without its end, and a shell
// looks for a name without a slash in PATH too.
func scriptOf(program string, args []string) string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || !interpreters.MatchString(program) {
		return ""
	}
	name, ends := args[0], scripts.MatchString(args[0])
	if strings.Contains(name, "/") {
		if ends || !strings.HasPrefix(program, "node") {
			return name
		}
		return ""
	}
	if _, err := exec.LookPath(name); err == nil || !ends {
		return ""
	}
	return name
}
