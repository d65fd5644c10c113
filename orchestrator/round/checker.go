package round

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// Checker is a known tool, as a command has it.
type Checker struct {
	Name string
	// Gate is the command with an output whose findings can be read. Fix is the command that makes the tool's own fixes, nil
	// for a tool without any: of the files of a task, where ByFile is set, else of the whole tree. Baseline is the one that
	// writes what is left into the tool's own file, nil for a tool without one.
	Gate, Fix, Baseline []string
	ByFile              bool
}

// checker describes a tool. Its arguments go behind its verb, or behind its name where it has none.
type checker struct {
	// verbs are those that check, with the words that fix in their place.
	verbs map[string]string
	// fix are the arguments for the tool's fixes, "" for none; without is an argument that keeps it from them. left is the exit
	// code for findings that these do not remove.
	fix, without string
	left         int
	// byFile reports that it takes single files, each by itself.
	byFile bool
	// shape are arguments of the gate, where none of the command begins with a word of unless. baseline are those for the file.
	shape, unless, baseline string
}

var checkers = map[string]checker{
	"ruff":   {byFile: true, verbs: map[string]string{"check": "check"}, fix: "--fix", without: "--no-fix", left: 1},
	"eslint": {byFile: true, fix: "--fix", left: 1, baseline: "--suppress-all"},
	"biome": {
		verbs: map[string]string{"check": "check", "lint": "lint", "ci": "check"}, fix: "--write", left: 1, byFile: true,
		shape: "--reporter=sarif", unless: "--reporter",
	},
	"golangci-lint": {verbs: map[string]string{"run": "run"}, fix: "--fix", left: 1},
	"stylelint":     {byFile: true, fix: "--fix", left: 2, shape: "--formatter=unix", unless: "-f --formatter"},
	"oxlint":        {byFile: true, fix: "--fix", left: 1, shape: "--format=unix", unless: "-f --format"},
	"standard":      {byFile: true, fix: "--fix", left: 1},
	"xo":            {byFile: true, fix: "--fix", left: 1},
	"rubocop":       {byFile: true, fix: "-A", left: 1, baseline: "--auto-gen-config"},
	"phpstan": {
		verbs: map[string]string{"analyse": "analyse", "analyze": "analyze"},
		shape: "--error-format=raw", unless: "--error-format",
		baseline: "--generate-baseline",
	},
	"cargo": {
		verbs: map[string]string{"clippy": "clippy --fix", "check": "fix", "build": "fix"},
		fix:   "--allow-dirty --allow-staged", left: 101,
	},
	"go": {verbs: map[string]string{"vet": "vet"}, fix: "-fix", left: 1},
}

// CheckerOf is the checker that a command runs; its name is "" for one that is not known. isPath reports whether an argument is
// a file or a directory; nil where none asks for fixes.
func CheckerOf(command []string, isPath func(arg string) bool) Checker {
	for at, arg := range command {
		name := strings.TrimSuffix(path.Base(arg), ".js")
		tool, known := checkers[name]
		fixing := command[at : at+1]
		if tool.verbs != nil {
			verb := slices.IndexFunc(command[at:], func(arg string) bool { return tool.verbs[arg] != "" })
			known, at = verb > 0, at+max(0, verb)
			fixing = strings.Fields(tool.verbs[command[at]])
		}
		if known {
			return tool.of(name, command, at, fixing, isPath)
		}
	}
	return Checker{}
}

// of is the tool in a command that ends its own words at an index; fixing are these for its fixes.
func (tool *checker) of(name string, command []string, at int, fixing []string, isPath func(arg string) bool) Checker {
	c := Checker{Name: name, Gate: command}
	with := func(words []string, args string) []string {
		return slices.Concat(command[:at], words, strings.Fields(args), command[at+1:])
	}
	given := func(arg string) bool {
		return slices.ContainsFunc(strings.Fields(tool.unless), func(flag string) bool { return strings.HasPrefix(arg, flag) })
	}
	if !slices.ContainsFunc(command, given) {
		c.Gate = with(command[at:at+1], tool.shape)
	}
	if tool.baseline != "" {
		c.Baseline = with(command[at:at+1], tool.baseline)
	}
	if tool.fix != "" {
		line := fmt.Sprintf(`"$@" || test $? -eq %d`, tool.left)
		fix := slices.DeleteFunc(with(fixing, tool.fix), func(arg string) bool { return arg != "" && arg == tool.without })
		if c.ByFile = tool.byFile && isPath != nil; c.ByFile {
			fix = append(withoutPaths(fix, isPath), spec.ArgFiles)
		}
		c.Fix = append([]string{"sh", "-c", line, "sh"}, fix...)
	}
	return c
}

// withoutPaths are words without the paths that are checked; a file behind a flag is the value of that.
func withoutPaths(words []string, isPath func(arg string) bool) (out []string) {
	for i, word := range words {
		value := i > 0 && strings.HasPrefix(words[i-1], "-") && path.Ext(word) != "" && word != "."
		if value || !isPath(word) {
			out = append(out, word)
		}
	}
	return out
}

// FixerWords names a fixer for people.
func FixerWords(f spec.Fixer) string {
	command := f.Command
	if len(command) > 4 && command[0] == "sh" && strings.HasPrefix(command[2], `"$@" || `) { // see of
		command = command[4:]
	} else if len(command) > 2 && command[0] == "sh" && command[1] == "-c" {
		return strings.ReplaceAll(text.OneLine(command[2]), `"$@"`, spec.ArgFiles)
	}
	if len(command) == 0 {
		return "role " + f.Role
	}
	return text.OneLine(text.CommandLine(command))
}
