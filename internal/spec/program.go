package spec

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var assigns = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// ProgramOf is the program of a command: behind env and its variables, where it begins so.
func ProgramOf(command []string) string {
	if len(command) == 0 {
		return ""
	}
	after := slices.IndexFunc(command[1:], func(arg string) bool { return !assigns.MatchString(arg) })
	if command[0] == "env" && after >= 0 && !strings.HasPrefix(command[1+after], "-") {
		return command[1+after]
	}
	return command[0]
}

// shells are programs that start others.
var shells = []string{"sh", "bash", "dash", "zsh"}

// Program is the program of a command of the role. Where a shell starts the role's coding agent it is the agent.
func (r *Role) Program(command []string) string {
	program := ProgramOf(command)
	if r.Usage == "" || !slices.Contains(shells, path.Base(program)) {
		return program
	}
	starts := regexp.MustCompile(`(?:^|[;&|({\n]|\bexec\b)\s*` + regexp.QuoteMeta(r.Usage) + `(?:\s|$)`)
	if slices.ContainsFunc(command[1:], starts.MatchString) {
		return r.Usage
	}
	return program
}
