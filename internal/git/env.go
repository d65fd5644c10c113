package git

import "os"

// nowhere is a path that does not exist: it stands for "no repository", "no home" and "no settings".
const nowhere = "/nonexistent"

// flags come before every subcommand. They switch off what a repository could make git run or fetch, and fix what would
// otherwise depend on the machine.
var flags = []string{
	"--no-pager", "--literal-pathspecs",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.untrackedCache=false",
	"-c", "core.logAllRefUpdates=false",
	"-c", "core.symlinks=true",
	"-c", "core.protectHFS=true",
	"-c", "core.protectNTFS=true",
	"-c", "core.quotePath=false",
	"-c", "submodule.recurse=false",
	"-c", "diff.ignoreSubmodules=all",
	"-c", "diff.renames=true",
	"-c", "safe.bareRepository=explicit",
	"-c", "protocol.allow=never",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "commit.gpgsign=false",
	"-c", "log.showSignature=false",
	"-c", "credential.helper=",
}

// cleanEnv is the whole environment of every git process but for the variables that name its repository.
func cleanEnv(path string) []string {
	return []string{
		"PATH=" + path, "LC_ALL=C", "TZ=UTC",
		"HOME=" + nowhere, "XDG_CONFIG_HOME=" + nowhere,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_SSH_COMMAND=/bin/false",
		"GIT_EDITOR=/bin/false", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_ALLOW_PROTOCOL=",
	}
}

// userEnv is what git needs to find the user's own global settings file, and nothing else.
func userEnv() []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "LC_ALL=C")
}
