package doctor

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	beside "divisi/subagents/gate/detect/services"
)

// serverDirs are where systems keep programs of servers that they do not put on PATH.
var serverDirs = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/sbin", "/usr/libexec",
}

// askTime bounds how long a program takes to tell its version.
const askTime = 5 * time.Second

// servers finds the installed programs of a name, those on PATH first. Servers are asked for their version, but for those of the
// checkout: nothing of it runs before it is trusted.
func servers(ctx context.Context, top string) func(name string) []beside.Installed {
	return func(name string) (found []beside.Installed) {
		add := func(dir, program string) {
			one := beside.Installed{Dir: dir}
			if beside.Server(name) && !strings.HasPrefix(program, top+string(filepath.Separator)) {
				one.Version = versionOf(ctx, program)
			}
			found = append(found, one)
		}
		if program, err := exec.LookPath(name); err == nil {
			add("", program)
		}
		for _, dir := range serverDirs {
			programs, _ := filepath.Glob(filepath.Join(dir, name)) // the patterns are right
			slices.Reverse(programs)                               // the newest first
			for _, program := range programs {
				add(filepath.Dir(program), program)
			}
		}
		return found
	}
}

// versionOf is the output of a program for --version; "" for none.
func versionOf(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Dir, cmd.WaitDelay = filepath.Dir(program), time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(out)
}
