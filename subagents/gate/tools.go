package gate

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// tool is the program that a command runs, as its words tell, and what kind of gate that makes.
type tool struct{ name, kind string }

var (
	// wrappers run another program, which a later argument names.
	wrappers = strings.Fields(`env npx pnpm yarn npm bunx bun uv poetry pipenv pdm hatch bundle exec run dlx x -- python
		python3 node nice time tool`)
	runners = strings.Fields(`pytest py.test jest vitest mocha ava rspec phpunit bats ctest gotestsum unittest tox nox stestr
		karma tap minitest prove`)
	// linters report findings with their places, and one of them hides none in another file; where it does, a line tells.
	linters = strings.Fields(`ast-grep tsc vue-tsc eslint golangci-lint staticcheck mypy pyright ruff flake8 pylint javac
		shellcheck rubocop stylelint biome oxlint standard xo yamllint revive hadolint`)
	// verbs of programs that do several things.
	verbs = verbsOf(map[string]string{
		spec.KindFindings: `go/build go/vet go/install cargo/build cargo/check cargo/clippy`,
		spec.KindTests: `go/test cargo/test cargo/nextest mvn/test mvn/verify gradle/test gradle/check dotnet/test swift/test
			mix/test deno/test`,
	})
)

// verbsOf are the kinds of gates by programs and their verbs.
func verbsOf(kinds map[string]string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for kind, calls := range kinds {
		for call := range strings.FieldsSeq(calls) {
			name, verb, _ := strings.Cut(call, "/")
			if all[name] == nil {
				all[name] = map[string]string{}
			}
			all[name][verb] = kind
		}
	}
	return all
}

// knownTool returns what a command runs; its zero value where the words do not tell: a script may run anything.
func knownTool(command []string) tool {
	for i, arg := range command {
		name := strings.TrimSuffix(path.Base(strings.TrimSuffix(arg, ".js")), ".cmd")
		verb, several := verbs[strings.TrimPrefix(strings.TrimSuffix(name, "w"), "./")]
		switch {
		case name == "node" && slices.Contains(command[i:], "--test"),
			name == "bun" && slices.Contains(command[i:min(i+2, len(command))], "test"):
			return tool{name, spec.KindTests}
		case several && (name != "go" || !slices.Contains(command[i:], "tool")):
			for _, word := range command[i+1:] {
				if kind := verb[word]; kind != "" {
					return tool{name, kind}
				}
			}
			return tool{}
		case slices.Contains(runners, name):
			return tool{name, spec.KindTests}
		case slices.Contains(linters, name):
			return tool{name, spec.KindFindings}
		case !slices.Contains(wrappers, name) && !several && !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "="):
			return tool{}
		}
	}
	return tool{}
}

// judge is what a tool is told to judge all and to change nothing, whatever the repository's configuration says: add goes behind
// verb, or to the end where it is empty, unless an argument begins with unless.
type judge struct{ verb, unless, add string }

// judges are the tools that leave findings out without a word, or may change the files that they read.
var judges = map[string][]judge{
	"golangci-lint": {{"run", "--max-same-issues", "--max-issues-per-linter=0 --max-same-issues=0"}, {
		"run", "--fix",
		"--fix=false",
	}},
	"biome": {{"", "--max-diagnostics", "--max-diagnostics=none"}},
	"ruff":  {{"check", "--fix", "--no-fix"}},
}

// judging returns a command as it only judges, and finds all: another finding of a kind would not be seen, and a change would be
// in the tree that is proven.
func judging(args []string) []string {
	for _, j := range judges[knownTool(args).name] {
		if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, j.unless) }) {
			continue
		}
		at := slices.Index(args, j.verb) + 1
		if j.verb == "" {
			at = len(args)
		}
		if at > 0 {
			args = slices.Insert(slices.Clone(args), at, strings.Fields(j.add)...)
		}
	}
	return args
}

// FailsToo reports whether a gate of Go fails on what an earlier one, in the same directory, could not build. A build failure of
// another tool may be none: cargo clippy could not compile what it warns of.
func FailsToo(g spec.Gate, red spec.Receipt, before *spec.Receipt) bool {
	return knownTool(red.Command) == tool{"go", spec.KindFindings} && knownTool(g.Command).name == "go" &&
		slices.Equal(beforeVerb(red.Command), beforeVerb(g.Command)) &&
		red.Build && red.Verdict == spec.VerdictFail && len(NewHidden(red, before)) > 0
}

// beforeVerb matches the words before build, vet or test in a command of go: its directory, also one of such a name.
func beforeVerb(command []string) []string {
	for i, word := range command {
		if verbs["go"][word] != "" && command[max(0, i-1)] != "-C" {
			return command[:i]
		}
	}
	return nil
}

// Uncached returns gates that run tests though their outcome is known: those of go test say so.
func Uncached(gates []spec.Gate) []spec.Gate {
	gates = slices.Clone(gates)
	for i := range gates {
		args, known := gates[i].Command, knownTool(gates[i].Command)
		if known.name != "go" || known.kind != spec.KindTests {
			continue
		}
		at := slices.Index(args, "test") + 1
		gates[i].Command = slices.Insert(slices.Clone(args), at, "-count=1")
	}
	return gates
}

var (
	tscError = lazyregexp.New(`(\(\d+,\d+\): |:\d+:\d+ - )?error TS(\d+): `)
	// A file that could not be read: its other findings are hidden.
	unreadFile = lazyregexp.New(`^(\S[^:]*\.\w+):\d+:\d+:? (?:E999|E0001|invalid-syntax|SyntaxError)\b|` +
		`^\s+\d+:\d+\s+error\s+Parsing error`)
	// What could not be checked because of another finding is not told.
	stopped = lazyregexp.New(`\(errors prevented further checking\)|\(typecheck\)$|\(compile\)$|` +
		`^error: could not compile|compilation terminated|` +
		`^fatal error: too many errors|^only showing the first \d+ errors|` +
		`: fatal error:|^go: |^\S.*\.java:\d+: error: (?:.* expected|illegal start of .*|` +
		`reached end of file .*|unclosed .*|not a statement|.* without .*)$`)
	vetHeading = lazyregexp.New(`^# \[(\S+)\]$`)
)

// findingsParser reads the lines of a compiler or linter: as text, and which of them hide others.
type findingsParser struct {
	*textParser
	tool tool
	// analysed reports whether the findings of go below a heading are those of vet: its package compiled.
	analysed bool
	// headed is the last heading of go. semantic reports whether tsc got beyond the syntax, refused whether it reported
	// anything.
	headed            string
	semantic, refused bool
}

// more takes what a line tells beside its finding.
func (p *findingsParser) more(text string) {
	text = plain(text)
	if m := unreadFile.FindStringSubmatch(text); m != nil {
		if m[1] == "" {
			m[1] = p.heading
		}
		p.found.hide(p.names.rooted(m[1]))
	}
	if stopped.MatchString(text) {
		p.found.hide(spec.HiddenAll)
	}
	if m := tscError.FindStringSubmatch(text); m != nil {
		p.refused = true
		code, err := strconv.Atoi(m[2])
		p.semantic = p.semantic || err == nil && m[1] != "" && code >= 2000 && (code < 5000 || code >= 7000 && code < 17000)
	}
	if p.tool.name == "go" {
		p.goLine(text)
	}
}

// goLine finds the packages that did not compile: the errors below their headings. Without a heading go has loaded nothing.
func (p *findingsParser) goLine(text string) {
	if m := goHeading.FindStringSubmatch(text); m != nil {
		p.headed, p.analysed = m[1], false
		return
	}
	if vetHeading.MatchString(text) {
		p.analysed = true
		return
	}
	if !goPlace.MatchString(text) || p.analysed && !strings.HasPrefix(text, "vet: ") {
		return
	}
	p.found.build = true
	if p.headed == "" {
		p.found.hide(spec.HiddenAll)
		return
	}
	p.found.hide("package: " + p.headed)
}

func (p *findingsParser) end() *findings {
	found := p.textParser.end()
	if p.refused && !p.semantic {
		found.hide(spec.HiddenAll) // with an error of syntax tsc checks no types
	}
	found.runner = false
	return found
}
