package acceptance

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

var (
	guarded = re(`^\.(?:github|gitlab|circleci|buildkite|divisi)/|(?:^|/)(?:\.gitlab-ci\.yml|\.travis\.yml|` +
		`azure-pipelines\.ya?ml|Jenkinsfile|` +
		`\.pre-commit-config\.yaml|(?:GNU)?[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|codecov\.yml|\.codecov\.yml|\.coveragerc|` +
		`\.golangci\.\w+|\.eslintrc.*|eslint\.config\.\w+|biome\.jsonc?|\.stylelintrc.*|\.?ruff\.toml|\.flake8|\.pylintrc|` +
		`\.?mypy\.ini|` +
		`\.?clippy\.toml|\.rubocop\.yml|\.clang-tidy|pytest\.ini|tox\.ini|noxfile\.py|sonar-project\.properties|` +
		`(?:jest|vitest|playwright|cypress|karma)\.config\.\w+)$`)
	// mixed are files that have gates in some of their lines.
	mixed    = re(`(?:^|/)(?:package\.json|pyproject\.toml|setup\.cfg|Cargo\.toml|build\.gradle(?:\.kts)?|pom\.xml|deno\.json)$`)
	gateLine = re(`"(?:pre|post)?(?:test|lint|check|build|coverage|typecheck|verify)[\w:-]*"\s*:|(?i:fail[_-]under|` +
		`threshold|addopts|jacoco|skipTests|filterwarnings)`)
	// installs are scripts that run where the package, or what depends on it, is installed.
	installs = re(`"((?:pre|post)?(?:install|prepare)|prepublish)"\s*:`)
	golden   = re(`(?:^|/)(?:testdata|__snapshots__|golden|snapshots)/|\.(?:golden|snap|approved\.\w+)$`)
	// lenient lines let failures through, runs are lines that run something.
	lenient = re(`\|\|\s*(?:true|:|exit 0|echo)|(?:continue-on-error|allow_failure):\s*true|^-(?:go|npm|cargo|` +
		`pytest|make|mvn)\b|\bexit 0\b|` +
		`\bif:\s*(?:false|\$\{\{\s*false)|--passWithNoTests|--no-verify|--exit-zero|\bset \+e\b|\s-(?:short|run|skip)\b|` +
		`disable-all|\bxfail\b`)
	runs      = re(`(?i)\b(?:run|script|command|test|vet|lint|check|cover|audit)\b`)
	threshold = re(`(?i)cover|threshold|fail[_-]under|-min\b|minimum|(?:lines|branches|functions|statements)["']?\s*:`)
	number    = re(`\d+(?:\.\d+)?`)
	removal   = re(`(?i)\b(?:remov|delet|drop|retir)\w*`)
)

const goldenFile = "what a test compares with"

// gates asks about changes of what the gates, CI and linters run, and of what tests compare with, where the task does not name
// the file itself. It asks about a named file where it becomes more lenient.
func gates(p *Patch) (found []Finding) {
	for _, f := range p.files {
		switch {
		case f.gate == "" || !f.changed() || p.renamed(f):
		case !p.outright(f.Path):
			found = append(found, at(f.Path, f.first, "%s changes, and the task does not name the file", f.gate))
		case f.gate != goldenFile:
			found = append(found, p.lenient(f)...)
		}
	}
	return found
}

// gateOf is what a file is for gates; "" for nothing.
func (p *Patch) gateOf(f *file) string {
	commands := slices.Clone(p.Beside)
	for _, g := range p.Gates {
		commands = append(commands, Command{"the gate " + g.Name, g.Command})
	}
	for _, c := range commands {
		if slices.ContainsFunc(c.Args, func(arg string) bool { return path.Clean(arg) == f.Path }) {
			return "what " + c.Of + " runs"
		}
	}
	matches := func(l line) bool { return gateLine.MatchString(l.text) || installs.MatchString(l.text) }
	switch {
	case guarded.MatchString(f.Path):
		return "a file of gates, CI or linters"
	case mixed.MatchString(f.Path) && slices.ContainsFunc(slices.Concat(f.added, f.removed), matches):
		return "a command or threshold of the project"
	case f.Before != nil && f.After != nil && golden.MatchString(f.Path):
		return goldenFile
	}
	return ""
}

// lenient returns what lets more through in a file of gates that the task names.
func (p *Patch) lenient(f *file) (found []Finding) {
	for _, l := range f.added {
		script := installs.FindStringSubmatch(l.text)
		switch {
		case script != nil && path.Base(f.Path) == "package.json" && !strings.Contains(p.Task.Brief, script[1]):
			found = append(found, at(f.Path, l.number, "%s runs on every machine that installs the package, and the brief "+
				"does not name it", script[1]))
		case lenient.MatchString(l.text):
			found = append(found, at(f.Path, l.number, "the command lets failures through or runs less"))
		case threshold.MatchString(l.text) && p.renumbered(f, l.text):
			found = append(found, at(f.Path, l.number, "a threshold changes"))
		}
	}
	running := func(lines []line) (n int) {
		for _, l := range lines {
			n += len(runs.FindAllString(l.text, 1))
		}
		return n
	}
	if running(f.added) < running(f.removed) && !removal.MatchString(p.Task.Brief) {
		found = append(found, at(f.Path, 0, "the file runs less than before"))
	}
	return found
}

// renumbered reports whether a line is a removed one with other numbers, which the brief does not ask for.
func (p *Patch) renumbered(f *file, now string) bool {
	return slices.ContainsFunc(f.removed, func(was line) bool {
		return number.ReplaceAllString(was.text, "") == number.ReplaceAllString(now, "") && !p.explained(was.text, now)
	})
}

var (
	generatedMark = re(`(?m)^// Code generated .*DO NOT EDIT\.?\s*$|@generated\b|(?i:^(?://|#|/\*|` +
		`<!--).{0,80}\b(?:auto-?)?generated\b.{0,80}\bdo not (?:edit|modify))`)
	generatedName = re(`\.pb(?:\.gw)?\.go$|_pb2(?:_grpc)?\.py$|\.min\.(?:js|css)$|(?:^|/)zz_generated|\.g\.dart$|` +
		`_generated\.\w+$`)
	typeFlag   = re(`-type[= ](\w+)`)
	generating = re(`(?i)\b(?:re)?gen(?:erat\w*)?\b|protoc|\bbuf\b|mockgen|stringer|sqlc|codegen`)
)

// header is where a file says that it is generated.
const header = 2 << 10

// generated asks about generated files that change without what they are made of.
func generated(p *Patch) (found []Finding) {
	if generating.MatchString(p.Task.Brief + " " + strings.Join(slices.Concat(p.Task.Command, p.Role.Command), " ")) {
		return nil
	}
	for _, f := range p.files {
		if f.Before == nil || f.After == nil || p.outright(f.Path) || !f.changed() {
			continue
		}
		head := f.Before[:min(len(f.Before), header)]
		marked := bytes.Contains(bytes.ToLower(head), []byte("generated")) && generatedMark.Match(head)
		if (marked || generatedName.MatchString(f.Path)) && !p.hasSource(f.Path, head) && !p.renamed(f) {
			found = append(found, at(f.Path, f.first, "a generated file changes without its source"))
		}
	}
	return found
}

// hasSource reports whether the patch changes a file that the head of a generated file names, or the type that it is made of.
func (p *Patch) hasSource(name string, head []byte) bool {
	flag := typeFlag.FindSubmatch(head)
	return slices.ContainsFunc(p.Changes, func(c Change) bool {
		return c.Path != name && (bytes.Contains(head, []byte(path.Base(c.Path))) ||
			flag != nil && path.Dir(c.Path) == path.Dir(name) && bytes.Contains(c.After, flag[1]))
	})
}

var silencers = patterns{
	{strings.Fields("// # @ disable ignore NOSONAR cover"), re(`//\s*nolint|#\s*(?:noqa|type:\s*ignore|pylint:\s*disable|nosec)` +
		`|eslint-disable|@ts-(?:ignore|nocheck|expect-error)|biome-ignore|@SuppressWarnings|#!?\[allow\(|//\s*#nosec|NOSONAR|` +
		`rubocop:disable|istanbul ignore|pragma:\s*no cover|c8 ignore`), Ask, "a warning is silenced", ofProject},
}

func ofProject(f *file, _ string) bool { return !f.prose && !f.data }

var swallowed = re(`(?m)^\s*except\b[^\n]*:\s*(?:#[^\n]*)?\n?\s*pass\b|\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}`)

// silenced asks about warnings that are switched off and errors that are dropped.
func silenced(p *Patch) []Finding {
	found := silencers.find(p)
	for _, f := range p.files {
		catches := func(l line) bool { return strings.Contains(l.text, "except") || strings.Contains(l.text, "catch") }
		if slices.ContainsFunc(f.added, catches) && len(swallowed.FindAll(f.After, -1)) > len(swallowed.FindAll(f.Before, -1)) {
			found = append(found, at(f.Path, f.first, "an error is swallowed"))
		}
		for _, l := range f.added {
			if path.Ext(f.Path) == ".go" && f.dropped(l.text) {
				found = append(found, at(f.Path, l.number, "an error that was handled is dropped"))
			}
		}
	}
	return found
}

var discard = re(`_ :?= ([^(]*\()`)

// dropped reports whether a line drops the result of a call whose error was handled before.
func (f *file) dropped(now string) bool {
	if !strings.Contains(now, "_ ") {
		return false
	}
	m := discard.FindStringSubmatch(now)
	return m != nil && slices.ContainsFunc(f.removed, func(l line) bool {
		return strings.Contains(l.text, "err") && strings.Contains(l.text, m[1])
	})
}
