// Package missing names missing packages, modules and programs from the gate output on the base commit. Its input are receipts
// and the setup that is proposed, its output one lack for each kind, whatever the number of gates that met it. It reads no file
// and runs nothing.
package missing

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// Need is a thing that gates did not find.
type Need struct {
	// What is missing, in words that begin a sentence; Gates are those that met it, in their order, and Line is what the first of
	// them printed.
	What  string
	Gates []string
	Line  string
	// Setup is the command that would bring it, nil where none is known; Ran reports that the project's own setup did not.
	Setup []string
	Ran   bool
	// Advice is what to do where no setup brings it.
	Advice string
}

// kind is one kind of lack: the line that shows it, and the words for it. A line is the gate's own only where its command, or the
// line itself, belongs to the tools.
type kind struct {
	line  *lazyregexp.Regexp
	tools []string
	what  string // %s is the first group of line
	setup []string
	// advice takes the place of a setup.
	advice string
}

var node = strings.Fields(`npm npx pnpm yarn bun node mocha jest vitest`)

// install is what to do where no setup of a repository brings what is missing.
const install = "install it on the machine"

var kinds = []kind{
	{
		line: lazyregexp.New(`module lookup disabled by GOPROXY=off|/@v/[^ "]+": dial tcp|` +
			`: reading file://\S+: no such file|cannot query module due to -mod=`),
		what: "the Go modules that the repository needs are not downloaded", setup: []string{"go", "mod", "download"},
	},
	{
		line: lazyregexp.New(`\bENOTCACHED\b|node_modules missing|node_modules state file|` +
			`doesn't seem to have been installed|Cannot find (?:module|package) '[^'./][^']*'|\bERR_MODULE_NOT_FOUND\b`),
		tools: node, what: "node_modules is not installed", setup: []string{"npm", "install"},
	},
	{
		line: lazyregexp.New(`(?:^|: )\S+: (?:command )?not found\s*$`),
		// A test script finds its programs in node_modules.
		tools: []string{"npm", "npx", "pnpm", "yarn", "bun"},
		what:  "node_modules is not installed", setup: []string{"npm", "install"},
	},
	{line: lazyregexp.New(`No module named '?pytest'?`), what: "pytest is not installed for the gate's Python"},
	{line: lazyregexp.New(`No module named '?([\w.]+)'?`), what: "the Python module %s is not installed"},
	{
		line: lazyregexp.New(`--offline was specified|you may (?:be able to )?.*without (?:the )?--offline|net\.offline|` +
			`failed to download .* (?:offline|replaced source)`),
		tools: []string{"cargo"}, what: "the crates that the repository needs are not downloaded",
		setup: []string{"cargo", "fetch"},
	},
	{
		line:  lazyregexp.New(`Cannot access .* in offline mode|has not been downloaded from it before`),
		tools: []string{"mvn", "mvnw"}, what: "Maven's artifacts are not downloaded",
	},
	{
		line:   lazyregexp.New(`LeakSanitizer has encountered a fatal error|(?i:ptrace.*Operation not permitted)`),
		what:   "the right to trace processes is missing",
		advice: "commands have it where the machine gives them namespaces and Landlock",
	},
	{line: lazyregexp.New(`\brequires rustc (\d[\w.]*)`), what: "Rust %s is not installed", advice: install},
	{line: lazyregexp.New(`\bgo\.(?:mod|work) requires go >= (\d[\w.]*)`), what: "Go %s is not installed", advice: install},
	{line: lazyregexp.New(`(?:release version|target release:) (\d+)`), what: "Java %s is not installed", advice: install},
	{
		line: lazyregexp.New(`^\s+Could NOT find (\w+)|configuration file provided by "(\w+)"|^No package '([\w.+-]+)' found|` +
			`\bfatal error: '?([\w./+-]+\.h(?:pp)?)'?(?:: No such file or directory| file not found)`),
		tools: strings.Fields(`make cmake sh cargo`), what: "the library, or its header, %s is not installed", advice: install,
	},
	{
		line: lazyregexp.New(`(?:^|: )([\w.+-]+): (?:command )?not found\s*$|^make\S*: ([\w.+-]+): No such file or directory$`),
		what: "the program %s is not installed",
	},
}

// Of names what red gates lack, each once. proposed is the setup that is proposed for the repository, nil for none; ran reports
// that the project has a setup of its own, which has run.
func Of(receipts []spec.Receipt, proposed []string, ran bool) []Need {
	var lacks []Need
	for _, r := range receipts {
		if r.Passed > 0 || r.Verdict == spec.VerdictPass {
			continue
		}
		found, ok := find(&r)
		if !ok {
			continue
		}
		i := slices.IndexFunc(lacks, func(l Need) bool { return l.What == found.What })
		if i < 0 {
			if found.Ran = ran; len(proposed) > 0 && found.Advice == "" {
				found.Setup = proposed
			}
			lacks, i = append(lacks, found), len(lacks)
		}
		lacks[i].Gates = append(lacks[i].Gates, r.Gate)
	}
	return lacks
}

// Shown reports whether a red gate shows that something is missing, whatever else passed.
func Shown(r spec.Receipt) bool {
	_, found := find(&r)
	return found && r.Verdict != spec.VerdictPass
}

// find is the first kind that a gate's signatures or the end of its output show.
func find(r *spec.Receipt) (Need, bool) {
	lines := slices.Concat(r.Signatures, strings.Split(r.Tail, "\n"))
	for _, k := range kinds {
		if len(k.tools) > 0 && !uses(r.Command, k.tools) {
			continue
		}
		for _, line := range lines {
			m := k.line.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			quoted := text.Clip(strings.Join(strings.Fields(line), " "), maxLine)
			l := Need{What: k.what, Line: quoted, Setup: k.setup, Advice: k.advice}
			if strings.Contains(k.what, "%s") {
				l.What = fmt.Sprintf(k.what, text.Clip(cmp.Or(m[1:]...), maxName))
			}
			return l, true
		}
	}
	return Need{}, false
}

// maxLine and maxName bound, in bytes, what is quoted of a gate.
const (
	maxLine = 300
	maxName = 100
)

// uses reports whether a command calls one of some tools.
func uses(command, tools []string) bool {
	return slices.ContainsFunc(command, func(arg string) bool {
		return slices.ContainsFunc(strings.Fields(arg), func(word string) bool {
			return slices.Contains(tools, filepath.Base(word))
		})
	})
}

// String is the lack in one line, with what to do.
func (l *Need) String() string {
	s := fmt.Sprintf("%s, which %s need: %s (%s); ", l.What, text.Count(len(l.Gates), "gate"), text.Some(l.Gates, 3), l.Line)
	if len(l.Gates) == 1 {
		s = strings.Replace(s, " need: ", " needs: ", 1)
	}
	return s + l.Do()
}

// Do reports what brings it.
func (l *Need) Do() string {
	if l.Advice != "" {
		return l.Advice
	}
	if l.Ran {
		return "the setup in .divisi/divisi.yaml does not bring it: extend it"
	}
	if len(l.Setup) == 0 {
		return "install it, or write a setup that does to .divisi/divisi.yaml; see docs/project.md"
	}
	line := "write to .divisi/divisi.yaml and commit it: setup: " + text.Flow(l.Setup)
	if cmp.Or(l.Setup...) == "go" {
		line = "download them with: " + strings.Join(l.Setup, " ") + "; or " + line
	}
	return line
}
