package ci

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// kind is what a command is for.
type kind int

const (
	setup kind = iota
	check
	publish
)

var (
	// asks are commands that only print something of a program.
	asks = lazyregexp.New(`^\S+(?: (?:--version|-version|-V+|version|--help))+$`)
	// compares matches commands that compare a tree with its commit.
	compares = lazyregexp.New(`^git (?:--no-pager )?(?:diff\b.*--(?:exit-code|quiet|check)|diff-(?:index|files)|status -)`)
	// containers matches commands that start a container engine, which commands in the sandbox do not reach.
	containers = lazyregexp.New(`(?m)(?:^|[;&|(]|\bsudo|\btime)\s*(?:docker(?:-compose)?|podman|buildah)\s`)
	// installs are commands of package managers whose flags or scripts come before the word.
	installs = lazyregexp.New(`^(pnpm|yarn)( .*)? install\b|^(yarn|pnpm)( --\S+)*$|(/activate|install(\.sh|-packages)|/get-\S+)`)
)

// kindOf reports what a command is for: one that neither prepares nor publishes is a check.
func kindOf(list []string) kind {
	list = launched(list)
	if !slices.ContainsFunc(list, func(w string) bool { return !assignment.MatchString(w) }) {
		return setup
	}
	for assignment.MatchString(list[0]) {
		list = list[1:]
	}
	line := strings.Join(list, " ")
	dry := slices.ContainsFunc(list, func(w string) bool { return slices.Contains(phrases()["dry"], w) })
	switch {
	case compares.MatchString(line):
		return check
	case !dry && (begins(line, "publish") || slices.Contains(list, "publish") || slices.Contains(list, "deploy")):
		return publish
	case list[0] == "cmake" && !slices.ContainsFunc(list, func(w string) bool { return slices.Contains(phrases()["cmake"], w) }):
		return setup // it configures
	case begins(line, "setup"), asks.MatchString(line), installs.MatchString(line):
		return setup
	}
	return check
}

var (
	assignment = lazyregexp.New(`(?s)^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)
	// cosmetic are variables in front of a command that do not change what it finds; matters matches those of a job that do.
	cosmetic = lazyregexp.New(`^(CI|.*COLOR.*|.*CACHE.*|PYTHON(PATH|UNBUFFERED)|RUST_BACKTRACE|` +
		`NODE_OPTIONS|TERM|LANG|LC_.*|HUSKY|CTEST_(OUTPUT_ON_FAILURE|PARALLEL_LEVEL))$`)
	matters = lazyregexp.New(`^(GO(OS|ARCH|EXPERIMENT)|CGO_ENABLED|.*FLAGS|CC|CXX|.*_ENV|.*TAGS|.*TEST.*|TZ)$`)
	// valued are flags of launchers that have a value of their own.
	valued = strings.Fields("--group --extra --with --python -p --package -c --source -u --only-group")
)

// launched is a command without what only starts it: variables stay in front, where they matter.
func launched(list []string) []string {
	var env []string
	for len(list) > 0 {
		if m := assignment.FindStringSubmatch(list[0]); m != nil {
			if !cosmetic.MatchString(m[1]) {
				env = append(env, list[0])
			}
			list = list[1:]
			continue
		}
		list = slices.Clone(list)
		switch first := list[0]; {
		case strings.Contains(first, "bin/"):
			list[0] = path.Base(first)
		case first == "python3":
			list[0] = "python"
		}
		behind := unlaunched(list)
		if len(behind) == len(list) {
			break
		}
		list = behind
	}
	slices.Sort(env)
	return append(env, list...)
}

// unlaunched is what a launcher starts; the command itself where it is none.
func unlaunched(list []string) []string {
	for _, l := range phrases()["launch"] {
		w := strings.Fields(l)
		if len(list) <= len(w) || list[len(w)] == "|" || !slices.Equal(list[:len(w)], w) {
			continue
		}
		list = list[len(w):]
		for len(list) > 1 && strings.HasPrefix(list[0], "-") {
			if slices.Contains(valued, list[0]) && len(list) > 2 {
				list = list[1:]
			}
			list = list[1:]
		}
		return list
	}
	return list
}
